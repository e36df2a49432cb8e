//! The output of a run: the answer only, events as JSON, or progress for people.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use haft_core::sanitize::{sanitize, sanitize_line};
use haft_core::session::Session;
use haft_protocol::content::joined_text;
use haft_protocol::event::{AgentEvent, ExtensionFault, NoteLevel};
use haft_protocol::ext::HostMode;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use haft_protocol::message::{TokenUsage, text_of};
use haft_rpc::{EventWriter, WriteError, line};

use crate::advice::{error_advice, with_hint};
use crate::console::{note, prefixed_rows, print, terminal_width, write};
use crate::exit::{Exit, OrExit as _};
use crate::session::{cost_text, usage_text};

/// The destination of events.
pub(crate) enum RunOutput {
    /// `-p` and `-v`: the answer on standard output; with progress, events on standard error.
    Answer {
        /// The latest message of the model that is visible to the user.
        answer: Option<String>,
        progress: bool,
        calls: PendingToolCalls,
        used: [TokenUsage; 2],
    },
    /// `--json`: one event per line.
    Json(EventWriter<tokio::io::Stdout>),
}

impl RunOutput {
    /// Returns the mode that extensions are told.
    pub(crate) fn host_mode(&self) -> HostMode {
        match self {
            Self::Answer { .. } => HostMode::Print,
            Self::Json(_) => HostMode::Json,
        }
    }

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

    /// Reports a failed start or end of a run to readers of events; [`report`](crate::report) prints it for people.
    pub(crate) fn report_failure(json: bool, error: &anyhow::Error) {
        let (message, advice) = (format!("{error:#}"), error_advice(error));
        let event = AgentEvent::Error { message, stage: None, advice };
        if json && let Ok(line) = line(&event) {
            // If the reader is gone, the exit code remains.
            let _ = write(format!("{line}\n").as_bytes());
        }
    }

    /// Reports repairs of a session file that no run reported.
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
                // Standard error shows these events too.
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
                    // A message of an earlier step is not the answer if the last step was suppressed, failed or
                    // discarded.
                    *answer = None;
                } else if let AgentEvent::Usage { usage, cumulative } = event {
                    let [run, session] = used;
                    *run += *usage;
                    *session = *cumulative;
                }
                if let AgentEvent::ToolBlocked { id, by, reason } = event {
                    let text = calls.refusal_text(id, by, reason);
                    note(&if *progress { format!("  {text}") } else { format!("haft: {text}") });
                    return Ok(());
                }
                calls.update(event);
                match event_text(event, terminal_width) {
                    EventText::Output(text) => print(&text)?,
                    EventText::Notice(line) => note(&line),
                    EventText::Progress(line) if *progress => note(&line),
                    EventText::Progress(_) | EventText::Nothing => {}
                }
            }
        }
        Ok(())
    }

    /// Prints the answer of a run that has ended.
    pub(crate) fn print_answer(&mut self) -> anyhow::Result<()> {
        let Self::Answer { answer, .. } = self else { return Ok(()) };
        match answer.take().filter(|text| !text.is_empty()) {
            Some(text) => print(&text),
            None => Ok(()),
        }
    }

    /// Prints the usage of all runs.
    pub(crate) fn finish(&self) {
        let Self::Answer { progress, used, .. } = self else { return };
        if let Some(bill) = usage_summary(used).filter(|_| *progress) {
            note(&bill);
        }
    }
}

/// Returns the usage of a run, and the cost of its session if it is higher. `None` if no model was asked.
fn usage_summary([run, session]: &[TokenUsage; 2]) -> Option<String> {
    let asked = *run != TokenUsage::default();
    let more =
        (session.cost_usd > run.cost_usd).then(|| format!("; the session: {}", cost_text(session.cost_usd)));
    asked.then(|| format!("-- {}{}", usage_text(run), more.unwrap_or_default()))
}

/// Fails without a message if the reader is gone, as without `--json`.
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

/// The text of an event for people.
#[derive(Debug)]
enum EventText {
    /// The output of an extension's command, on standard output.
    Output(String),
    Notice(String),
    /// Progress, shown on request.
    Progress(String),
    Nothing,
}

/// Returns a note about a compaction: its result, or why it failed.
fn compaction_text(
    before: u64,
    after: Option<u64>,
    error: Option<&str>,
    width: impl FnOnce() -> Option<usize>,
) -> EventText {
    match (error, after) {
        (Some(error), _) => {
            EventText::Notice(haft_message(&format!("the conversation was not compacted: {error}"), width()))
        }
        (None, Some(after)) => {
            EventText::Progress(format!("… compacted: {before} tokens before, {after} now"))
        }
        (None, None) => EventText::Nothing,
    }
}

fn repair_text(id: &str, message: &str) -> String {
    // People refer to sessions by the beginning of the id.
    let id: String = id.chars().take(8).collect();
    format!("session {id}: {message}")
}

fn conflict_text(path: &str, first: &str, then: &str) -> String {
    // The path contains keys of the extension.
    let path = sanitize_line(path);
    let what = if path.is_empty() { "the arguments" } else { path.as_str() };
    format!("{first} and {then} both changed {what}; the tool receives the version of {then}")
}

fn fault_text(ExtensionFault { extension, message, code, .. }: &ExtensionFault) -> String {
    format!("extension {extension}: {message} ({code})")
}

fn retry_text(attempt: u32, delay_ms: u64, message: &str) -> String {
    let seconds = Duration::from_millis(delay_ms).as_secs_f64();
    format!("{message}; attempt {attempt} in {seconds:.1} s")
}

fn gap_text(lost: u64) -> String {
    format!("{lost} extension events were dropped here, because they arrived faster than they were read")
}

fn gate_off_text(extension: &ExtensionName, reason: &str) -> String {
    format!("continuing without extension {extension}, which no longer decides: {reason}")
}

/// Returns a call or its result, prefixed with the extension that requested it, if any.
fn call_text(by: Option<&ExtensionName>, tool: &str, text: &str) -> String {
    let by = by.map(|extension| format!("[{}] ", sanitize_line(extension.as_str()))).unwrap_or_default();
    format!("{by}{} {}", short_line(tool), short_line(text))
}

fn result_mark(is_error: bool) -> &'static str {
    if is_error { "✗" } else { "←" }
}

/// Returns the text of an event. `width` queries the terminal only if the event has a text.
fn event_text(event: &AgentEvent, width: impl FnOnce() -> Option<usize>) -> EventText {
    match event {
        AgentEvent::ExtDisplay { extension, text } => {
            EventText::Output(attribute_rows(extension, "", text, width()))
        }
        AgentEvent::ExtNotify { extension, level, message } => {
            EventText::Notice(attribute_rows(extension, level_prefix(*level), message, width()))
        }
        AgentEvent::GateOff { extension, reason } => to_notice(&gate_off_text(extension, reason), width),
        AgentEvent::EventGap { lost } => to_notice(&gap_text(*lost), width),
        AgentEvent::ExtensionError(fault) => to_notice(&fault_text(fault), width),
        AgentEvent::Error { message, advice, .. } => to_notice(&with_hint(message, *advice), width),
        AgentEvent::Retry { attempt, delay_ms, message, .. } => {
            to_notice(&retry_text(*attempt, *delay_ms, message), width)
        }
        AgentEvent::SessionRepaired { id, message } => to_notice(&repair_text(id, message), width),
        AgentEvent::ModelFallback { from, to, message } => to_notice(&switch_text(from, to, message), width),
        AgentEvent::CompactionStart { .. } => EventText::Progress("… compacting the conversation".to_owned()),
        AgentEvent::CompactionEnd { tokens_before, tokens_after, error, .. } => {
            compaction_text(*tokens_before, *tokens_after, error.as_deref(), width)
        }
        AgentEvent::Interrupted { .. } => EventText::Progress("… stopping".to_owned()),
        AgentEvent::TurnDiscarded { by, reason } => to_notice(&discarded_text(by, reason), width),
        AgentEvent::ToolCall { .. }
        | AgentEvent::ToolRewritten { .. }
        | AgentEvent::ToolRewriteConflict { .. }
        | AgentEvent::ToolBlocked { .. }
        | AgentEvent::ToolSkipped { .. }
        | AgentEvent::ToolResult { .. }
        | AgentEvent::HostCallStart { .. }
        | AgentEvent::HostCallEnd { .. } => call_event_text(event, width),
        // Standard error shows these before the run begins.
        AgentEvent::TrustRequired { .. }
        | AgentEvent::Session { .. }
        | AgentEvent::AgentStart
        | AgentEvent::UserMessage { .. }
        | AgentEvent::CustomMessage { .. }
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
        | AgentEvent::ModelChanged { .. }
        | AgentEvent::ThinkingChanged { .. }
        | AgentEvent::Settled
        | AgentEvent::Done
        | AgentEvent::ExtClearNotes { .. } => EventText::Nothing,
        _ => EventText::Nothing,
    }
}

/// A message of haft itself.
fn to_notice(text: &str, width: impl FnOnce() -> Option<usize>) -> EventText {
    EventText::Notice(haft_message(text, width()))
}

fn switch_text(from: &str, to: &str, message: &str) -> String {
    format!("{message}; switching from {from} to {to}")
}

fn call_event_text(event: &AgentEvent, width: impl FnOnce() -> Option<usize>) -> EventText {
    #[expect(clippy::wildcard_enum_match_arm, reason = "a call has no other events")]
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
        AgentEvent::ToolBlocked { by, reason, .. } => {
            EventText::Notice(format!("haft: {}", refusal_text("a tool call", by, reason)))
        }
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

/// Returns an extension's text with its name before every row, so that it cannot imitate messages of haft.
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

/// Returns the line about a refused call. It is not wrapped, so that it stays one line.
fn refusal_text(call: &str, by: &str, reason: &str) -> String {
    format!("refused by {}: {call}: {}", sanitize_line(by), sanitize_line(reason))
}

/// Returns a note about a discarded turn.
fn discarded_text(by: &str, reason: &str) -> String {
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("{by} discarded this turn; the conversation is unchanged{why}")
}

/// Returns a message of haft. The message can quote other programs, so only its first row has haft's prefix.
fn haft_message(message: &str, width: Option<usize>) -> String {
    prefixed_rows("haft: ", "  | ", message, width)
}

/// Returns the first line, shortened to fit into 80 columns.
fn short_line(text: &str) -> String {
    const ROOM: usize = 60;
    let text = sanitize(text);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let cut: String = line.chars().take(ROOM).collect();
    if cut.len() < line.len() { format!("{cut}…") } else { cut }
}

/// The running calls, with the text of each.
#[derive(Debug, Default)]
pub(crate) struct PendingToolCalls(BTreeMap<ToolCallId, String>);

impl PendingToolCalls {
    fn update(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCall { id, name, args } = event {
            self.0.insert(id.clone(), call_text(None, name, args.as_str()));
        } else if let AgentEvent::ToolResult { id, .. } = event {
            self.0.remove(id);
        }
    }

    /// Returns a line about a refusal, with the call, because other calls may have been shown in between.
    fn refusal_text(&self, id: &ToolCallId, by: &str, reason: &str) -> String {
        let call = self.0.get(id).map_or("a tool call", String::as_str);
        refusal_text(call, by, reason)
    }
}

fn result_text(name: &str, synthetic_by: Option<&str>, text: &str) -> String {
    match synthetic_by {
        None => format!("{} {text}", short_line(name)),
        Some(by) => format!("{} (not run; result by {}) {text}", short_line(name), short_line(by)),
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::message::{AssistantBlock, Rfc3339Time};

    use super::*;

    fn said(text: &str) -> AgentEvent {
        let content = vec![AssistantBlock::Text { text: text.into() }];
        AgentEvent::AssistantMessage { content, time: Rfc3339Time("T".into()), entry: None }
    }

    /// Returns the answer that remains to be printed after these events.
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
    async fn answer_is_message_of_last_step() {
        let step = |step| AgentEvent::TurnStart { step };
        assert_eq!(
            answer(&[step(1), said("let me see"), step(2), said("16 degrees")]).await.unwrap(),
            "16 degrees"
        );
        // The second step is suppressed.
        assert_eq!(answer(&[step(1), said("let me see"), step(2)]).await, None);
        let discarded = AgentEvent::TurnDiscarded { by: "guard".into(), reason: "leak".into() };
        assert_eq!(answer(&[step(1), said("the key is 1"), discarded]).await, None);
    }

    #[test]
    fn usage_includes_session_if_it_cost_more() {
        let used = |input, cost_usd| TokenUsage::default().with_input(input).with_cost_usd(cost_usd);
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
    fn names_refused_call_among_several() {
        let mut calls = PendingToolCalls::default();
        for (id, command) in [("1", "ls"), ("2", "rm")] {
            let args = RawJson::from(serde_json::json!({ "command": command }));
            calls.update(&AgentEvent::ToolCall { id: ToolCallId::new(id), name: "bash".into(), args });
        }
        let refused = |id: &str| calls.refusal_text(&ToolCallId::new(id), "policy", "not\nhere");
        assert_eq!(refused("2"), r#"refused by policy: bash {"command":"rm"}: not here"#);
        assert_eq!(refused("3"), "refused by policy: a tool call: not here");
    }

    #[test]
    fn marks_result_of_extension() {
        assert_eq!(result_text("bash", None, "FAKE"), "bash FAKE");
        assert_eq!(result_text("bash", Some("aa"), "FAKE"), "bash (not run; result by aa) FAKE");
    }
}
