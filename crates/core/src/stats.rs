//! The usage of a session and of its context.

use std::sync::Arc;

use haft_protocol::content::ContentBlock;
use haft_protocol::message::{AssistantBlock, Message, TokenUsage};

use crate::session::Session;
use crate::session::entry::{EntryBody, SessionEntry};

/// The usage of a session and of its context; see [`Agent::stats`](crate::Agent::stats).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionStats {
    /// Tokens and cost of everything since the session began, earlier processes included, branches that were left not.
    pub usage: TokenUsage,
    /// The use of the context.
    pub context: ContextUsage,
}

/// The use of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextUsage {
    /// Tokens of the transcript and all that is sent along with it. What the provider counted with its last answer, and
    /// an estimate of what came since.
    pub tokens: u64,
    /// The number of them that are estimated. All of them before the first answer, and then without the system prompt
    /// and the tools.
    pub estimated: u64,
    /// The number of tokens that the model can read and write in one request, where known.
    pub window: Option<u64>,
}

/// Roughly how many tokens a message takes: a token for four bytes of text, and what a picture takes at most. Meant for
/// the few messages that no provider has counted yet.
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

/// The tokens of a large picture, which a provider shrinks.
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

/// A token for four bytes.
pub(crate) fn text_tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// The known token counts while a transcript grows.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UsageTally {
    pub(crate) usage: TokenUsage,
    /// The tokens of the context when the provider last counted them, and how many messages those were.
    counted: Option<(u64, usize)>,
}

impl UsageTally {
    /// Counts a branch that sends the model this many messages.
    pub(crate) fn from_branch(session: &Session, branch: &[Arc<SessionEntry>], messages: usize) -> Self {
        let mut tally = Self { usage: usage_before(session, branch), counted: None };
        let mut behind = 0;
        for entry in branch {
            tally.usage += body_usage(&entry.body);
            match &entry.body {
                EntryBody::Said(said) => {
                    behind += 1;
                    let counted = said.answer.as_ref().and_then(|answer| provider_count(answer.usage, 0));
                    if counted.is_some() {
                        (tally.counted, behind) = (counted, 0);
                    }
                }
                EntryBody::CustomMessage(_) | EntryBody::BranchSummary(_) => behind += 1,
                EntryBody::Compaction(compaction) => {
                    // What was counted before is not what is sent now.
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

    /// An answer came, and is the last of this many messages.
    pub(crate) fn add_response(&mut self, usage: TokenUsage, messages: usize) {
        self.usage += usage;
        self.counted = provider_count(usage, messages).or(self.counted);
    }

    /// Everything used so far is this; the context is another one, which no provider has counted yet.
    pub(crate) fn after_compaction(used: TokenUsage) -> Self {
        Self { usage: used, counted: None }
    }

    /// True if a provider has counted the context and all that is sent along with it.
    pub(crate) fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    pub(crate) fn context_usage(&self, messages: &[Message], window: Option<u64>) -> ContextUsage {
        let (counted, known) = self.counted.unwrap_or_default();
        let estimated = messages.iter().skip(known).map(estimated_tokens).sum();
        ContextUsage { tokens: counted + estimated, estimated, window }
    }
}

/// Returns the usage before a branch that begins at what a compaction kept.
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

/// Returns the count of the provider, unless it counted nothing: an aborted answer has no count.
fn provider_count(usage: TokenUsage, messages: usize) -> Option<(u64, usize)> {
    let tokens = usage.input + usage.cache_read + usage.cache_write + usage.output;
    (tokens > 0).then_some((tokens, messages))
}
