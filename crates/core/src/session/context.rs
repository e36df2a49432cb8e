//! Converts a branch of entries to the messages for the model, without I/O.
//!
//! Every tool call in the result has exactly one result, directly after the message with the call, because servers
//! reject anything else. This holds after a crash, an abort or damage.

use std::collections::HashSet;
use std::sync::Arc;

use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantMessage, Message, Rfc3339Time, ToolMessage};

use super::entry::{Compaction, EntryBody, MessageEntry, SessionEntry, SessionSettings};

/// The result text for a call whose tool was started and whose end is not known.
pub const INTERRUPTED: &str = "interrupted: the tool was started, and may have done part of its work or all of it, or \
                               still be at it; look before you call it again";

/// The result text for a call that did not run.
pub const NOT_RUN: &str = "not run: the turn ended before this call was carried out";

/// The context for the model, and the settings in effect.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SessionContext {
    /// The transcript, oldest first.
    pub messages: Vec<Message>,
    /// Model, thinking level and tools, as recorded in the session.
    pub settings: SessionSettings,
    /// The calls without a result that received a placeholder.
    pub closed: Vec<ToolCallId>,
    /// The placeholders for the calls of the last answer, which can still be written because the session continues
    /// after them. Placeholders for earlier calls cannot be written, because later messages follow them; they are
    /// created at every read.
    pub(crate) unwritten: Vec<ToolMessage>,
}

/// Builds the context of a branch, oldest entry first: from the root, or from the first entry that the last compaction
/// kept.
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

/// Returns the messages with one result for every tool call, as [`build_context`] does.
pub(crate) fn complete_tool_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut made = ContextBuilder::default();
    messages.into_iter().for_each(|message| made.add_message(message));
    made.close_calls();
    made.context.messages
}

/// The maximum number of files per list in the text for the model; the most recently touched files stay.
const NAMED: usize = 60;

/// Returns the text for the model that replaces the summarized part.
pub(crate) fn compaction_text(compaction: &Compaction) -> String {
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

/// The last message of the model while its calls receive results.
struct OpenToolCalls {
    calls: Vec<ToolCall>,
    time: Rfc3339Time,
    started: HashSet<ToolCallId>,
    results: Vec<ToolMessage>,
    /// Messages that arrived in between; they follow the results.
    behind: Vec<Message>,
}

impl ContextBuilder {
    fn add(&mut self, SessionEntry { time, body, .. }: &SessionEntry) {
        match body {
            EntryBody::MessageEntry(MessageEntry { message, .. }) => self.add_message(message.clone()),
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
            // The call of this result is not in the context.
            (Message::Tool(_), None) => {}
            (said @ Message::User { .. }, Some(open)) => open.behind.push(said),
            (said @ Message::User { .. }, None) => self.context.messages.push(said),
        }
    }

    /// Adds one result for every call of the last message, in the order of the calls.
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

/// Returns the placeholder result of a call. It has the time of the call, so that every read creates the same result
/// and the provider's cache stays valid.
pub(crate) fn missing_result(call: ToolCall, begun: bool, time: Rfc3339Time) -> ToolMessage {
    let text = if begun { INTERRUPTED } else { NOT_RUN };
    ToolMessage::new(call.id, call.name, vec![ContentBlock::text(text)], time).with_is_error(true)
}
