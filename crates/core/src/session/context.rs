//! The context for the model: a branch of entries to messages, without any IO.
//!
//! Whatever a crash, an abort or a damaged line left, every tool call of the result has exactly one answer, and it
//! stands directly behind the message that asked: servers refuse anything else.

use std::collections::HashSet;
use std::sync::Arc;

use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantMessage, Message, Rfc3339Time, ToolMessage};

use super::entry::{Compaction, EntryBody, Said, SessionEntry, SessionSettings};

/// The text of a result when the tool was started and its end is not known.
pub const INTERRUPTED: &str = "interrupted: the tool was started; some or all of its work may be done, or it may still \
                               be running; check before you call it again";

/// The text of a result when the call was never carried out.
pub const NOT_RUN: &str = "not run: the turn ended before this call was carried out";

/// The context for the model, and the settings in effect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionContext {
    /// The transcript, oldest first.
    pub messages: Vec<Message>,
    /// Model, thinking and tools, as far as the session says.
    pub settings: SessionSettings,
    /// The calls that had no result and were given one that says so.
    pub closed: Vec<ToolCallId>,
    /// Those results that the last answer's calls were given: the session goes on behind them, so they can still be
    /// written. In the place of earlier ones stands what was said since; they are made up each time.
    pub(crate) unwritten: Vec<ToolMessage>,
}

/// The context of a branch, oldest entry first: from the root, or from what the last compaction kept.
pub fn build_context(branch: &[Arc<SessionEntry>]) -> SessionContext {
    let mut made = ContextBuilder::default();
    let compacted = branch.iter().rposition(|entry| matches!(entry.body, EntryBody::Compaction(_)));
    if let Some(EntryBody::Compaction(compaction)) =
        compacted.and_then(|at| branch.get(at)).map(|entry| &entry.body)
    {
        let time = compacted
            .and_then(|at| branch.get(at))
            .map_or(Rfc3339Time(String::new()), |entry| entry.time.clone());
        made.add_user_message(vec![ContentBlock::text(compaction_text(compaction))], time);
    }
    branch.iter().for_each(|entry| made.add(entry));
    made.close_calls();
    made.context
}

/// The messages with one answer to every tool call, as [`context`] gives them.
pub(crate) fn complete_tool_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut made = ContextBuilder::default();
    messages.into_iter().for_each(|message| made.add_message(message));
    made.close_calls();
    made.context.messages
}

/// The number of files of a kind that are named to the model, the last one touched first to stay.
const NAMED: usize = 60;

/// Returns the text for the model in place of what was summarized.
fn compaction_text(compaction: &Compaction) -> String {
    let mut text = summary_text("The conversation so far", &compaction.summary);
    let lists = [("files_read", &compaction.files_read), ("files_modified", &compaction.files_modified)];
    for (name, files) in lists.into_iter().filter(|(_, files)| !files.is_empty()) {
        let left_out = files.len().saturating_sub(NAMED);
        let named = files.get(left_out..).unwrap_or_default().join("\n");
        let earlier = if left_out > 0 { format!("and {left_out} earlier ones\n") } else { String::new() };
        text.push_str(&format!("\n\n<{name}>\n{named}\n{earlier}</{name}>"));
    }
    text
}

fn summary_text(what: &str, summary: &str) -> String {
    format!("{what} was summed up as follows:\n\n<summary>\n{summary}\n</summary>")
}

#[derive(Default)]
struct ContextBuilder {
    context: SessionContext,
    open: Option<OpenToolCalls>,
}

/// The last message of the model, while its calls are answered.
struct OpenToolCalls {
    calls: Vec<ToolCall>,
    time: Rfc3339Time,
    started: HashSet<ToolCallId>,
    results: Vec<ToolMessage>,
    /// Messages that came meanwhile: it comes behind the results.
    behind: Vec<Message>,
}

impl ContextBuilder {
    fn add(&mut self, SessionEntry { time, body, .. }: &SessionEntry) {
        match body {
            EntryBody::Said(Said { message, .. }) => self.add_message(message.clone()),
            EntryBody::ModelChange(change) => self.context.settings.model = Some(change.clone()),
            EntryBody::ThinkingChange(change) => self.context.settings.thinking = Some(change.level.clone()),
            EntryBody::ToolsChange(change) => self.context.settings.tools = change.active.clone(),
            EntryBody::ToolStart(start) => {
                if let Some(open) = &mut self.open {
                    open.started.insert(start.call_id.clone());
                }
            }
            EntryBody::Compaction(compaction) => self.context.settings = compaction.settings.clone(),
            EntryBody::BranchSummary(branch) => {
                let text = summary_text("Another attempt, which was left,", &branch.summary);
                self.add_user_message(vec![ContentBlock::text(text)], time.clone());
            }
            EntryBody::CustomMessage(custom) => self.add_user_message(custom.content.clone(), time.clone()),
            EntryBody::Custom(_)
            | EntryBody::Label(_)
            | EntryBody::Tags(_)
            | EntryBody::Name(_)
            | EntryBody::Unknown(_) => {}
        }
    }

    fn add_user_message(&mut self, content: Vec<ContentBlock>, time: Rfc3339Time) {
        self.add_message(Message::User { content, time });
    }

    fn add_message(&mut self, message: Message) {
        match (message, &mut self.open) {
            (Message::Assistant(said), _) => {
                self.close_calls();
                self.context.unwritten.clear();
                self.open = OpenToolCalls::new(&said);
                self.context.messages.push(Message::Assistant(said));
            }
            (Message::Tool(result), Some(open)) => open.results.push(result),
            // It answers nothing that the model would still see.
            (Message::Tool(_), None) => {}
            (said @ Message::User { .. }, Some(open)) => open.behind.push(said),
            (said @ Message::User { .. }, None) => self.context.messages.push(said),
        }
    }

    /// Answers every call of the last message once, in the order of the calls.
    fn close_calls(&mut self) {
        let Some(OpenToolCalls { calls, time, started, mut results, behind }) = self.open.take() else {
            return;
        };
        for call in calls {
            let found = results.iter().position(|result| result.call_id == call.id);
            let result = found.map(|at| results.remove(at)).unwrap_or_else(|| {
                self.context.closed.push(call.id.clone());
                let begun = started.contains(&call.id);
                let result = missing_result(call, begun, time.clone());
                self.context.unwritten.push(result.clone());
                result
            });
            self.context.messages.push(Message::Tool(result));
        }
        self.context.messages.extend(behind);
    }
}

impl OpenToolCalls {
    fn new(said: &AssistantMessage) -> Option<Self> {
        let calls: Vec<ToolCall> = said.tool_calls().cloned().collect();
        (!calls.is_empty()).then(|| Self {
            calls,
            time: said.time.clone(),
            started: HashSet::new(),
            results: Vec::new(),
            behind: Vec::new(),
        })
    }
}

/// The result of a call that has none. With the time of the call it is the same each time the session is read, so that a
/// provider's cache still fits.
pub(crate) fn missing_result(call: ToolCall, begun: bool, time: Rfc3339Time) -> ToolMessage {
    let text = if begun { INTERRUPTED } else { NOT_RUN };
    ToolMessage {
        call_id: call.id,
        name: call.name,
        content: vec![ContentBlock::text(text)],
        is_error: true,
        extension: None,
        details: None,
        time,
    }
}
