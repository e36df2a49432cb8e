//! The usage of a session and of its context.

use std::sync::Arc;

use haft_protocol::content::ContentBlock;
use haft_protocol::ext::ContextData;
use haft_protocol::message::{AssistantBlock, Message, TokenUsage};
use serde::Serialize;

use crate::session::Session;
use crate::session::entry::{EntryBody, SessionEntry};

/// The usage of a session and of its context; see [`Agent::stats`](crate::Agent::stats).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SessionStats {
    /// Tokens and cost since the session began, including earlier processes, without abandoned branches.
    pub usage: TokenUsage,
    /// The usage of the context.
    pub context: ContextUsage,
}

/// The usage of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ContextUsage {
    /// Tokens of the transcript and everything that is sent with it: the provider's count of the last answer, plus an
    /// estimate of later messages.
    pub tokens: u64,
    /// The number of estimated tokens. All tokens are estimated before the first answer and after a compaction.
    pub estimated: u64,
    /// The context window of the model in tokens, if known.
    pub window: Option<u64>,
}

impl From<ContextUsage> for ContextData {
    fn from(ContextUsage { tokens, estimated, window }: ContextUsage) -> Self {
        Self { tokens, estimated, window }
    }
}

/// Estimates the tokens of a message: one token per four bytes of text, and the maximum for an image. Intended for the
/// few messages that no provider has counted yet.
pub fn estimated_tokens(message: &Message) -> u64 {
    /// The tokens around a message.
    const FRAME: u64 = 4;
    let said: u64 = match message {
        Message::User { content, .. } => content.iter().map(content_tokens).sum(),
        Message::Tool(result) => result.content.iter().map(content_tokens).sum(),
        Message::Assistant(said) => said.content.iter().map(block_tokens).sum(),
    };
    FRAME + said
}

/// The tokens of a large image after the provider resized it.
const IMAGE: u64 = 1_600;

fn content_tokens(content: &ContentBlock) -> u64 {
    match content {
        ContentBlock::Text { text } => text_tokens(text),
        ContentBlock::Image(_) => IMAGE,
    }
}

fn block_tokens(block: &AssistantBlock) -> u64 {
    match block {
        AssistantBlock::Text { text } | AssistantBlock::Thinking { text } => text_tokens(text),
        AssistantBlock::ToolCall(call) => text_tokens(&call.name) + text_tokens(call.args.as_str()),
    }
}

/// Estimates the tokens of a text: one per four bytes.
pub(crate) fn text_tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// The share of each kind of content in a context, in tokens; estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ContextShares {
    /// The prompts of the user, with attached files and images.
    pub prompts: u64,
    /// The answers of the model.
    pub answers: u64,
    /// The thinking of the model.
    pub thinking: u64,
    /// The names and arguments of tool calls.
    pub calls: u64,
    /// The results of tool calls.
    pub results: u64,
}

impl ContextShares {
    /// Counts the messages of a context.
    pub fn of_messages(messages: &[Message]) -> Self {
        let mut shares = Self::default();
        for message in messages {
            match message {
                Message::User { .. } => shares.prompts += estimated_tokens(message),
                Message::Tool(_) => shares.results += estimated_tokens(message),
                Message::Assistant(said) => said.content.iter().for_each(|block| shares.add_block(block)),
            }
        }
        shares
    }

    /// Returns the sum.
    pub fn total_tokens(&self) -> u64 {
        let Self { prompts, answers, thinking, calls, results } = self;
        prompts + answers + thinking + calls + results
    }

    fn add_block(&mut self, block: &AssistantBlock) {
        let share = match block {
            AssistantBlock::Text { .. } => &mut self.answers,
            AssistantBlock::Thinking { .. } => &mut self.thinking,
            AssistantBlock::ToolCall(_) => &mut self.calls,
        };
        *share += block_tokens(block);
    }
}

/// The known token counts while a transcript grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UsageTally {
    pub(crate) usage: TokenUsage,
    /// The provider's last count of context tokens, and the number of messages that it covers.
    counted: Option<(u64, usize)>,
}

impl UsageTally {
    /// Counts a branch that sends this many messages to the model.
    pub(crate) fn from_branch(session: &Session, branch: &[Arc<SessionEntry>], messages: usize) -> Self {
        let mut tally = Self { usage: usage_before(session, branch), counted: None };
        let mut behind = 0;
        for entry in branch {
            tally.usage += body_usage(&entry.body);
            match &entry.body {
                EntryBody::MessageEntry(said) => {
                    behind += 1;
                    let counted = said.answer.as_ref().and_then(|answer| provider_count(answer.usage, 0));
                    if counted.is_some() {
                        (tally.counted, behind) = (counted, 0);
                    }
                }
                EntryBody::CustomMessage(_) | EntryBody::BranchSummary(_) => behind += 1,
                EntryBody::Compaction(compaction) => {
                    // The earlier count does not apply to the current messages.
                    tally.counted = None;
                    match (compaction.used, &compaction.answer) {
                        (Some(used), _) => tally.usage = used,
                        (None, Some(answer)) => tally.usage += answer.usage,
                        (None, None) => {}
                    }
                }
                EntryBody::ModelChange(_)
                | EntryBody::ThinkingChange(_)
                | EntryBody::ToolsChange(_)
                | EntryBody::ToolStart(_)
                | EntryBody::Custom(_)
                | EntryBody::Label(_)
                | EntryBody::Tags(_)
                | EntryBody::Name(_)
                | EntryBody::Unknown(_) => {}
            }
        }
        tally.counted = tally.counted.map(|(tokens, _)| (tokens, messages.saturating_sub(behind)));
        tally
    }

    /// Adds the usage of an answer, which is the last of this many messages.
    pub(crate) fn add_response(&mut self, usage: TokenUsage, messages: usize) {
        self.usage += usage;
        self.counted = provider_count(usage, messages).or(self.counted);
    }

    /// Creates the tally after a compaction: the total usage so far, and a context that no provider has counted.
    pub(crate) fn after_compaction(used: TokenUsage) -> Self {
        Self { usage: used, counted: None }
    }

    /// True if a provider has counted the context and everything that is sent with it.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    pub(crate) fn context_usage(&self, messages: &[Message], window: Option<u64>) -> ContextUsage {
        let (counted, known) = self.counted.unwrap_or_default();
        let estimated = messages.iter().skip(known).map(estimated_tokens).sum();
        ContextUsage { tokens: counted + estimated, estimated, window }
    }
}

/// Returns the usage before the first entry that a compaction kept.
fn usage_before(session: &Session, branch: &[Arc<SessionEntry>]) -> TokenUsage {
    let mut usage = TokenUsage::default();
    let mut next = branch.first().and_then(|entry| entry.parent);
    while let Some(entry) = next.and_then(|id| session.entry(id)) {
        usage += body_usage(&entry.body);
        next = entry.parent;
    }
    usage
}

fn body_usage(body: &EntryBody) -> TokenUsage {
    body.answer().map(|answer| answer.usage).unwrap_or_default()
}

/// Returns the provider's count; `None` if it is zero, as for an aborted answer.
fn provider_count(usage: TokenUsage, messages: usize) -> Option<(u64, usize)> {
    let tokens = usage.input + usage.cache_read + usage.cache_write + usage.output;
    (tokens > 0).then_some((tokens, messages))
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::content::ToolCall;
    use haft_protocol::ids::ToolCallId;
    use haft_protocol::message::{AssistantMessage, Rfc3339Time};

    use super::*;

    #[test]
    fn shares_count_each_kind_of_content() {
        let call = ToolCall {
            id: ToolCallId::new("t1"),
            name: "read".into(),
            args: RawJson::parse(r#"{"path":"a.rs"}"#).unwrap(),
        };
        let content = vec![
            AssistantBlock::Thinking { text: "x".repeat(40) },
            AssistantBlock::Text { text: "y".repeat(80) },
            AssistantBlock::ToolCall(call),
        ];
        let answer = Message::Assistant(AssistantMessage::new(content, Rfc3339Time(String::new())));
        let shares = ContextShares::of_messages(&[answer]);
        let expect = ContextShares { thinking: 10, answers: 20, calls: 5, ..ContextShares::default() };
        assert_eq!((shares, shares.total_tokens()), (expect, 35));
    }
}
