//! The output of a run: the answer alone, every event as JSON, or a story for people.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use haft_core::sanitize::{sanitize, sanitize_line};
use haft_core::session::Session;
use haft_protocol::content::joined_text;
use haft_protocol::event::{AgentEvent, ExtensionFault, NoteLevel};
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::message::{TokenUsage, text_of};
use haft_rpc::{EventWriter, WriteError, line};

use crate::console::{note, prefixed_rows, print, terminal_width, write};
use crate::exit::{Exit, OrExit as _};
use crate::session::{cost_text, usage_text};

/// Where events go.
pub(crate) enum RunOutput {
    /// `-p`: the answer on standard output; on a terminal, what happens meanwhile on standard error.
    Answer {
        /// The latest message of the model, as the user may see it.
        answer: Option<String>,
        progress: bool,
        calls: PendingToolCalls,
        used: [TokenUsage; 2],
    },
    /// `--json`: an event a line.
    Json(EventWriter<tokio::io::Stdout>),
}

impl RunOutput {
    pub(crate) fn answer() -> Self {
        Self::answer_with(io::stderr().is_terminal())
    }

    pub(crate) fn with_progress() -> Self {
        Self::answer_with(true)
    }

    fn answer_with(progress: bool) -> Self {
        Self::Answer { answer: None, progress, calls: PendingToolCalls::default(), used: Default::default() }
    }

    pub(crate) fn json() -> Self {
        Self::Json(EventWriter::new(tokio::io::stdout()))
    }

    /// Tells whoever reads events why there was no run, or no end of one; [`report`](crate::report) tells people.
    pub(crate) fn report_failure(json: bool, error: &anyhow::Error) {
        let event = AgentEvent::Error { message: format!("{error:#}"), stage: None };
        if json && let Ok(line) = line(&event) {
            // Where nobody reads events any more, the exit code is left.
            let _ = write(format!("{line}\n").as_bytes());
        }
    }

    /// Tells what was wrong with a session's file, has been mended, and no run has told: there was none, or it has ended.
    pub(crate) fn report_repairs(json: bool, session: &Session) {
        for event in session.take_repair_events() {
            if json && let Ok(line) = line(&event) {
                let _ = write(format!("{line}\n").as_bytes());
            }
            if let EventText::Notice(line) = event_text(&event, terminal_width) {
                note(&line);
            }
        }
    }

    pub(crate) async fn write_event(&mut self, event: &AgentEvent) -> anyhow::Result<()> {
        match self {
            Self::Json(writer) => {
                check_written(writer.write(event).await)?;
                // These are for whoever started haft, too.
                if let AgentEvent::Error { .. }
                | AgentEvent::SessionRepaired { .. }
                | AgentEvent::TurnDiscarded { .. } = event
                    && let EventText::Notice(line) = event_text(event, terminal_width)
                {
                    note(&line);
                }
            }
            Self::Answer { answer, progress, calls, used } => {
                if let AgentEvent::AssistantMessage { content, .. } = event {
                    *answer = Some(text_of(content));
                } else if let AgentEvent::TurnStart { .. } | AgentEvent::TurnDiscarded { .. } = event {
                    // What an earlier step said is no answer when the last one was suppressed, failed or discarded.
                    *answer = None;
                } else if let AgentEvent::Usage { usage, cumulative } = event {
                    let [run, session] = used;
                    *run += *usage;
                    *session = *cumulative;
                }
                match event_text(event, terminal_width) {
                    EventText::Output(text) => print(&text)?,
                    EventText::Notice(line) => note(&line),
                    EventText::Progress(line) if *progress => note(&calls.annotate(event, line)),
                    EventText::Progress(_) | EventText::Nothing => {}
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn finish(&mut self) -> anyhow::Result<()> {
        let Self::Answer { answer, progress, used, .. } = self else { return Ok(()) };
        if let Some(text) = answer.take().filter(|text| !text.is_empty()) {
            print(&text)?;
        }
        if let Some(bill) = usage_summary(used).filter(|_| *progress) {
            note(&bill);
        }
        Ok(())
    }
}

/// Returns the usage of a run; that of its session, too, where that is more and has a price. Nothing where no model was
/// asked.
fn usage_summary([run, session]: &[TokenUsage; 2]) -> Option<String> {
    let asked = *run != TokenUsage::default();
    let more =
        (session.cost_usd > run.cost_usd).then(|| format!("; the session: {}", cost_text(session.cost_usd)));
    asked.then(|| format!("-- {}{}", usage_text(run), more.unwrap_or_default()))
}

/// Ends haft without a message when the reader is gone, as without `--json`.
fn check_written(outcome: Result<(), WriteError>) -> anyhow::Result<()> {
    match &outcome {
        Err(WriteError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            outcome.or_exit(Exit::Ok)
        }
        Ok(()) | Err(_) => Ok(outcome?),
    }
}

#[cfg(test)]
pub(crate) fn rendered_event(event: &AgentEvent, width: Option<usize>) -> String {
    match event_text(event, || width) {
        EventText::Output(text) | EventText::Notice(text) | EventText::Progress(text) => {
            crate::console::terminal_line(&text)
        }
        EventText::Nothing => String::new(),
    }
}

/// The text for people about an event.
#[derive(Debug)]
enum EventText {
    /// The output of an extension's command: a result, on standard output.
    Output(String),
    Notice(String),
    /// A text for people who wait.
    Progress(String),
    Nothing,
}

/// Returns a note that the conversation is shorter from here on, or why it is not.
fn compaction_text(
    before: u64,
    after: Option<u64>,
    error: Option<&str>,
    width: impl FnOnce() -> Option<usize>,
) -> EventText {
    match (error, after) {
        (Some(error), _) => {
            EventText::Notice(haft_message(&format!("the conversation was not summed up: {error}"), width()))
        }
        (None, Some(after)) => {
            EventText::Progress(format!("… summed up: {before} tokens before, {after} now"))
        }
        (None, None) => EventText::Nothing,
    }
}

fn repair_text(id: &str, message: &str) -> String {
    // The beginning of an id is what sessions are called by.
    let id: String = id.chars().take(8).collect();
    format!("session {id}: {message}")
}

fn conflict_text(path: &str, first: &str, then: &str) -> String {
    // The keys in a path are the extension's.
    let path = sanitize_line(path);
    let what = if path.is_empty() { "the arguments" } else { path.as_str() };
    format!("{first} and {then} both changed {what}; the tool gets what {then} made of it")
}

fn fault_text(ExtensionFault { extension, message, code }: &ExtensionFault) -> String {
    format!("extension {extension}: {message} ({code})")
}

fn retry_text(attempt: u32, delay_ms: u64, message: &str) -> String {
    let seconds = Duration::from_millis(delay_ms).as_secs_f64();
    format!("{message}; attempt {attempt} in {seconds:.1} s")
}

fn gap_text(lost: u64) -> String {
    format!("{lost} events of extensions were left out here, because they came faster than they were read")
}

fn gate_off_text(extension: &ExtensionName, reason: &str) -> String {
    format!("going on without extension {extension}, which is not asked any more: {reason}")
}

/// A call or its result, behind the extension that asked for it unless the model did.
fn call_text(by: Option<&ExtensionName>, tool: &str, text: &str) -> String {
    let by = by.map(|extension| format!("[{}] ", sanitize_line(extension.as_str()))).unwrap_or_default();
    format!("{by}{} {}", short_line(tool), short_line(text))
}

fn result_mark(is_error: bool) -> &'static str {
    if is_error { "✗" } else { "←" }
}

/// Most events say nothing, so the terminal is asked for its width only for those that do.
fn event_text(event: &AgentEvent, width: impl FnOnce() -> Option<usize>) -> EventText {
    match event {
        AgentEvent::ExtDisplay { extension, text } => {
            EventText::Output(attribute_rows(extension, "", text, width()))
        }
        AgentEvent::ExtNotify { extension, level, message } => {
            EventText::Notice(attribute_rows(extension, level_prefix(*level), message, width()))
        }
        AgentEvent::GateOff { extension, reason } => {
            EventText::Notice(haft_message(&gate_off_text(extension, reason), width()))
        }
        AgentEvent::EventGap { lost } => EventText::Notice(haft_message(&gap_text(*lost), width())),
        AgentEvent::ExtensionError(fault) => EventText::Notice(haft_message(&fault_text(fault), width())),
        AgentEvent::Error { message, .. } => EventText::Notice(haft_message(message, width())),
        AgentEvent::Retry { attempt, delay_ms, message, .. } => {
            EventText::Notice(haft_message(&retry_text(*attempt, *delay_ms, message), width()))
        }
        AgentEvent::SessionRepaired { id, message } => {
            EventText::Notice(haft_message(&repair_text(id, message), width()))
        }
        AgentEvent::ModelFallback { from, to, message } => {
            EventText::Notice(haft_message(&format!("{message}; {from} gives way to {to}"), width()))
        }
        AgentEvent::CompactionStart { .. } => EventText::Progress("… summing up the conversation".to_owned()),
        AgentEvent::CompactionEnd { tokens_before, tokens_after, error, .. } => {
            compaction_text(*tokens_before, *tokens_after, error.as_deref(), width)
        }
        AgentEvent::Interrupted { .. } => EventText::Progress("… coming to an end".to_owned()),
        AgentEvent::TurnDiscarded { by, reason } => {
            EventText::Notice(haft_message(&discarded_text(by, reason), width()))
        }
        AgentEvent::ToolCall { .. }
        | AgentEvent::ToolRewritten { .. }
        | AgentEvent::ToolRewriteConflict { .. }
        | AgentEvent::ToolBlocked { .. }
        | AgentEvent::ToolSkipped { .. }
        | AgentEvent::ToolResult { .. }
        | AgentEvent::HostCallStart { .. }
        | AgentEvent::HostCallEnd { .. } => call_event_text(event, width),
        // Standard error has had a line for each before the run began.
        AgentEvent::TrustRequired { .. }
        | AgentEvent::Session { .. }
        | AgentEvent::UserMessage { .. }
        | AgentEvent::QueueUpdate { .. }
        | AgentEvent::TurnStart { .. }
        | AgentEvent::ModelRequest { .. }
        | AgentEvent::ModelResponse { .. }
        | AgentEvent::SteeringInjected { .. }
        | AgentEvent::AssistantStart
        | AgentEvent::TextDelta { .. }
        | AgentEvent::ThinkingDelta { .. }
        | AgentEvent::ToolUseStart { .. }
        | AgentEvent::ToolUseArgs { .. }
        | AgentEvent::ToolUseEnd { .. }
        | AgentEvent::Usage { .. }
        | AgentEvent::AssistantMessage { .. }
        | AgentEvent::ToolStart { .. }
        | AgentEvent::ToolProgress { .. }
        | AgentEvent::ToolEnd { .. }
        | AgentEvent::TurnEnd { .. }
        | AgentEvent::Done
        | AgentEvent::ExtClearNotes { .. } => EventText::Nothing,
    }
}

fn call_event_text(event: &AgentEvent, width: impl FnOnce() -> Option<usize>) -> EventText {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a call has these events and no other")]
    match event {
        AgentEvent::ToolCall { name, args, .. } => {
            EventText::Progress(format!("→ {}", call_text(None, name, args.as_str())))
        }
        AgentEvent::ToolRewritten { by, tool, args, .. } => {
            let what = tool.iter().map(|tool| format!("{tool} ")).collect::<String>();
            EventText::Progress(format!("  {by} changed it to {what}{}", short_line(args.as_str())))
        }
        AgentEvent::ToolRewriteConflict { path, by: [first, then], .. } => {
            EventText::Notice(haft_message(&conflict_text(path, first, then), width()))
        }
        AgentEvent::ToolBlocked { by, .. } => EventText::Progress(format!("  refused by {by}")),
        AgentEvent::ToolSkipped { name, .. } => EventText::Progress(format!("  {name} was skipped")),
        AgentEvent::ToolResult { name, is_error, content, synthetic_by, .. } => {
            let what = result_text(name, synthetic_by.as_deref(), &short_line(&joined_text(content)));
            EventText::Progress(format!("{} {what}", result_mark(*is_error)))
        }
        AgentEvent::HostCallStart { extension, name, args, .. } => {
            EventText::Progress(format!("→ {}", call_text(Some(extension), name, args.as_str())))
        }
        AgentEvent::HostCallEnd { extension, name, is_error, content, .. } => {
            let what = call_text(Some(extension), name, &joined_text(content));
            EventText::Progress(format!("{} {what}", result_mark(*is_error)))
        }
        _ => EventText::Nothing,
    }
}

/// An extension's text with its owner before every row, so that none can pose as haft's own.
fn attribute_rows(extension: &ExtensionName, lead: &str, text: &str, width: Option<usize>) -> String {
    let prefix = format!("[{}] {lead}", sanitize_line(extension.as_str()));
    prefixed_rows(&prefix, &prefix, text, width)
}

fn level_prefix(level: NoteLevel) -> &'static str {
    match level {
        NoteLevel::Info => "",
        NoteLevel::Success => "done: ",
        NoteLevel::Warn => "warning: ",
        NoteLevel::Error => "error: ",
    }
}

/// Returns a note that a turn was discarded, and by whom.
fn discarded_text(by: &str, reason: &str) -> String {
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("{by} discarded this turn, and the conversation is as it was before{why}")
}

/// A message of haft's own. It may quote others, so only its first row says that it is haft's.
fn haft_message(message: &str, width: Option<usize>) -> String {
    prefixed_rows("haft: ", "  | ", message, width)
}

/// The first line, cut to what fits beside the rest on 80 columns.
fn short_line(text: &str) -> String {
    const ROOM: usize = 60;
    let text = sanitize(text);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let cut: String = line.chars().take(ROOM).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}

/// The calls without a result, each as it is told.
#[derive(Debug, Default)]
pub(crate) struct PendingToolCalls(BTreeMap<ToolCallId, String>);

impl PendingToolCalls {
    /// A line about an event, with the call that it is about where others were told in between.
    fn annotate(&mut self, event: &AgentEvent, line: String) -> String {
        if let AgentEvent::ToolCall { id, name, args } = event {
            self.0.insert(id.clone(), call_text(None, name, args.as_str()));
        } else if let AgentEvent::ToolResult { id, .. } = event {
            self.0.remove(id);
        } else if let AgentEvent::ToolBlocked { id, .. } = event
            && let Some(call) = self.0.get(id)
        {
            return format!("{line}: {call}");
        }
        line
    }
}

fn result_text(name: &str, synthetic_by: Option<&str>, text: &str) -> String {
    match synthetic_by {
        None => format!("{} {text}", short_line(name)),
        Some(by) => format!("{} (not run: {} answered) {text}", short_line(name), short_line(by)),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::message::{AssistantBlock, Rfc3339Time};

    use super::*;

    fn said(text: &str) -> AgentEvent {
        let content = vec![AssistantBlock::Text { text: text.into() }];
        AgentEvent::AssistantMessage { content, time: Rfc3339Time("T".into()) }
    }

    /// The answer that is left to print after these events.
    async fn answer(events: &[AgentEvent]) -> Option<String> {
        let mut output = RunOutput::answer_with(false);
        for event in events {
            output.write_event(event).await.unwrap();
        }
        match output {
            RunOutput::Answer { answer, .. } => answer,
            RunOutput::Json(_) => None,
        }
    }

    #[tokio::test]
    async fn the_answer_is_what_the_last_step_said() {
        let step = |step| AgentEvent::TurnStart { step };
        assert_eq!(
            answer(&[step(1), said("let me see"), step(2), said("16 degrees")]).await.unwrap(),
            "16 degrees"
        );
        // The second step was suppressed.
        assert_eq!(answer(&[step(1), said("let me see"), step(2)]).await, None);
        let discarded = AgentEvent::TurnDiscarded { by: "guard".into(), reason: "leak".into() };
        assert_eq!(answer(&[step(1), said("the key is 1"), discarded]).await, None);
    }

    #[test]
    fn the_bill_names_the_session_where_it_cost_more() {
        let used = |input, cost_usd| TokenUsage { input, cost_usd, ..TokenUsage::default() };
        assert_eq!(usage_summary(&[TokenUsage::default(), used(9, 0.5)]), None);
        let tokens = "-- tokens: 7 in, 0 out";
        assert_eq!(usage_summary(&[used(7, 0.0), used(9, 0.0)]).unwrap(), tokens);
        assert_eq!(usage_summary(&[used(7, 0.25), used(7, 0.25)]).unwrap(), format!("{tokens}, $0.25"));
        assert_eq!(
            usage_summary(&[used(7, 0.25), used(9, 0.75)]).unwrap(),
            format!("{tokens}, $0.25; the session: $0.75")
        );
    }

    #[test]
    fn of_several_calls_the_refused_one_is_named() {
        let mut calls = PendingToolCalls::default();
        for (id, command) in [("1", "ls"), ("2", "rm")] {
            let args = RawJson::from(serde_json::json!({ "command": command }));
            let call = AgentEvent::ToolCall { id: ToolCallId::new(id), name: "bash".into(), args };
            assert_eq!(calls.annotate(&call, "→".to_owned()), "→");
        }
        let refused = |id: &str| AgentEvent::ToolBlocked {
            id: ToolCallId::new(id),
            by: "policy".into(),
            reason: "no".into(),
        };
        let line = || "  refused by policy".to_owned();
        assert_eq!(calls.annotate(&refused("2"), line()), r#"  refused by policy: bash {"command":"rm"}"#);
        assert_eq!(calls.annotate(&refused("3"), line()), line());
    }

    #[test]
    fn an_answer_in_a_tools_place_is_told_as_that() {
        assert_eq!(result_text("bash", None, "FAKE"), "bash FAKE");
        assert_eq!(result_text("bash", Some("aa"), "FAKE"), "bash (not run: aa answered) FAKE");
    }
}
