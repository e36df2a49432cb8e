//! Compaction: replaces the older part of the conversation with a summary.
//!
//! This module holds all decisions that need no I/O: when the context is full, where the kept part begins, which files
//! were touched, and the prompt for the summary. The agent does the I/O.
//!
//! * [`CompactSettings`]: when to compact and how much to keep;
//! * [`PendingCompaction`]: the input of a [`BeforeCompact`](crate::hooks::BeforeCompact) hook;
//! * [`CompactionOutcome`], [`CompactError`]: the outcome.

mod prompt;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
pub use haft_protocol::event::CompactReason;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{Message, Rfc3339Time};
use serde::Deserialize;

use crate::model::ModelError;
use crate::session::entry::{Compaction, EntryBody, MessageEntry, ResponseMetadata, SessionEntry};
use crate::session::{EntryId, compaction_text};
use crate::stats::{estimated_tokens, text_tokens};

pub use prompt::entry_text;
pub(crate) use prompt::{SYSTEM, SummaryMaterial, summary_prompt, truncate_summary};

/// The conversation that is about to be summarized.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingCompaction {
    /// The reason for the compaction.
    pub reason: CompactReason,
    /// The user's instructions for the summary.
    pub instructions: Option<String>,
    /// Tokens of the current context, partly estimated.
    pub tokens_before: u64,
    /// The context window of the model in tokens, if known.
    pub window: Option<u64>,
    /// The entries of the context, oldest first.
    pub entries: Vec<Arc<SessionEntry>>,
    /// The first entry that is kept unchanged; `None` if the summary replaces all entries.
    pub first_kept: Option<EntryId>,
    /// The summary of the previous compaction, which covers everything before the entries.
    pub previous_summary: Option<String>,
    /// Files that the summarized part read, and those of the previous summary. The most recently touched file is last.
    pub files_read: Vec<String>,
    /// Files that the summarized part changed, in the same order.
    pub files_modified: Vec<String>,
}

impl PendingCompaction {
    /// Creates a compaction of these entries that keeps none.
    pub fn new(reason: CompactReason, entries: Vec<Arc<SessionEntry>>) -> Self {
        Self {
            reason,
            instructions: None,
            tokens_before: 0,
            window: None,
            entries,
            first_kept: None,
            previous_summary: None,
            files_read: Vec::new(),
            files_modified: Vec::new(),
        }
    }

    /// Returns the entries that the summary will replace.
    pub fn summarized_entries(&self) -> &[Arc<SessionEntry>] {
        let kept = self.entries.iter().position(|entry| Some(entry.id) == self.first_kept);
        self.entries.get(..kept.unwrap_or(self.entries.len())).unwrap_or_default()
    }

    /// Estimates the tokens of the messages that the summary will replace.
    pub(crate) fn replaced_tokens(&self) -> u64 {
        let entries = self.summarized_entries().iter().map(|entry| entry_tokens(entry)).sum::<u64>();
        let previous = previous_compaction(&self.entries);
        entries + previous.map_or(0, |previous| text_tokens(&compaction_text(previous)))
    }

    /// Returns the entries at which the kept part can begin. A tool result, or an entry between a call and its result,
    /// is not among them.
    pub fn cut_points(&self) -> impl Iterator<Item = EntryId> + '_ {
        cut_positions(&self.entries).filter_map(|at| self.entries.get(at)).map(|entry| entry.id)
    }

    /// Returns the same compaction with another kept part; `None` if the kept part cannot begin there.
    pub(crate) fn with_first_kept(mut self, first: EntryId) -> Option<Self> {
        if !self.cut_points().any(|id| id == first) {
            return None;
        }
        self.first_kept = Some(first);
        let files = TouchedFiles::from_entries(self.summarized_entries(), previous_compaction(&self.entries));
        (self.files_read, self.files_modified) = (files.read, files.modified);
        Some(self)
    }

    /// Sets [`instructions`](Self::instructions).
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        Self { instructions: Some(instructions.into()), ..self }
    }

    /// Sets [`tokens_before`](Self::tokens_before).
    #[must_use]
    pub fn with_tokens_before(self, tokens_before: u64) -> Self {
        Self { tokens_before, ..self }
    }

    /// Sets [`window`](Self::window).
    #[must_use]
    pub fn with_window(self, window: impl Into<Option<u64>>) -> Self {
        Self { window: window.into(), ..self }
    }

    /// Sets [`previous_summary`](Self::previous_summary).
    #[must_use]
    pub fn with_previous_summary(self, previous_summary: impl Into<String>) -> Self {
        Self { previous_summary: Some(previous_summary.into()), ..self }
    }

    /// Sets [`files_read`](Self::files_read).
    #[must_use]
    pub fn with_files_read(self, files_read: Vec<String>) -> Self {
        Self { files_read, ..self }
    }

    /// Sets [`files_modified`](Self::files_modified).
    #[must_use]
    pub fn with_files_modified(self, files_modified: Vec<String>) -> Self {
        Self { files_modified, ..self }
    }
}

/// The outcome of a compaction.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompactionOutcome {
    /// The summary that replaces the older part.
    pub summary: String,
    /// Tokens of the context before the compaction, partly estimated.
    pub tokens_before: u64,
    /// Tokens of the context after the compaction, estimated.
    pub tokens_after: u64,
    /// The number of messages that the summary replaces.
    pub messages_summed_up: u64,
    /// The number of messages that are kept.
    pub messages_kept: u64,
    /// The hook that wrote the summary.
    pub by: Option<String>,
    /// The model that wrote the summary, and its usage; `None` if a hook wrote it.
    pub answer: Option<ResponseMetadata>,
}

pub(crate) fn previous_compaction(branch: &[Arc<SessionEntry>]) -> Option<&Compaction> {
    branch.iter().rev().find_map(|entry| {
        if let EntryBody::Compaction(compaction) = &entry.body { Some(compaction) } else { None }
    })
}

/// Returns the message of an entry for the model; `None` for an entry outside the conversation.
fn entry_message(entry: &SessionEntry) -> Option<std::borrow::Cow<'_, Message>> {
    use std::borrow::Cow;
    let told = |content, time: &Rfc3339Time| Cow::Owned(Message::User { content, time: time.clone() });
    match &entry.body {
        EntryBody::MessageEntry(MessageEntry { message, .. }) => Some(Cow::Borrowed(message)),
        EntryBody::CustomMessage(custom) => Some(told(custom.content.clone(), &entry.time)),
        EntryBody::BranchSummary(branch) => {
            Some(told(vec![ContentBlock::text(branch.summary.clone())], &entry.time))
        }
        EntryBody::ModelChange(_)
        | EntryBody::ThinkingChange(_)
        | EntryBody::ToolsChange(_)
        | EntryBody::ToolStart(_)
        | EntryBody::Compaction(_)
        | EntryBody::Custom(_)
        | EntryBody::Label(_)
        | EntryBody::Tags(_)
        | EntryBody::Name(_)
        | EntryBody::Unknown(_) => None,
    }
}

pub(crate) fn entry_tokens(entry: &SessionEntry) -> u64 {
    entry_message(entry).map_or(0, |message| estimated_tokens(&message))
}

/// The settings of compaction: when it starts and how much it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactSettings {
    /// True to compact automatically: when the reserve is reached, and when the provider rejects a request as too long.
    pub auto: bool,
    /// Tokens of the window that are reserved for the model's answer. The default is 16,384 or 15 % of the window,
    /// whichever is less. The limit is half of the window.
    pub reserve: Option<u64>,
    /// Tokens at the end that are kept unchanged. The default is 20,000, but at most a third of the window without
    /// system prompt and tools. The limit is half of that.
    pub keep: Option<u64>,
}

impl Default for CompactSettings {
    fn default() -> Self {
        Self { auto: true, reserve: None, keep: None }
    }
}

const RESERVE: u64 = 16_384;
const RESERVE_PERCENT: u64 = 15;
const KEEP: u64 = 20_000;

/// The maximum size of a summary, for any window.
const SUMMARY: u64 = 8_192;

/// The tokens of the instructions around the conversation.
const QUESTION: u64 = 1_000;

/// The division of a window's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenBudget {
    pub(crate) full: u64,
    /// The tokens that are kept unchanged.
    pub(crate) keep: u64,
    /// The maximum if the last step alone is larger than `keep`.
    pub(crate) keep_at_most: u64,
    pub(crate) summary: u64,
    /// The maximum size of the conversation in the request for a summary.
    pub(crate) conversation: u64,
}

impl CompactSettings {
    /// Divides a window of which the system prompt and the tools take `fixed` tokens.
    pub(crate) fn token_budget(&self, window: u64, fixed: u64) -> TokenBudget {
        let usual = RESERVE.min(window.saturating_mul(RESERVE_PERCENT) / 100);
        let full = window - self.reserve.unwrap_or(usual).min(window / 2);
        let free = full.saturating_sub(fixed);
        let keep = self.keep.unwrap_or(KEEP.min(free / 3)).min(free / 2);
        let summary = SUMMARY.min(free / 6);
        let conversation = full.saturating_sub(2 * summary + QUESTION).max(full / 4);
        TokenBudget { full, keep, keep_at_most: free / 2, summary, conversation }
    }

    /// Sets [`auto`](Self::auto).
    #[must_use]
    pub fn with_auto(self, auto: bool) -> Self {
        Self { auto, ..self }
    }

    /// Sets [`reserve`](Self::reserve).
    #[must_use]
    pub fn with_reserve(self, reserve: impl Into<Option<u64>>) -> Self {
        Self { reserve: reserve.into(), ..self }
    }

    /// Sets [`keep`](Self::keep).
    #[must_use]
    pub fn with_keep(self, keep: impl Into<Option<u64>>) -> Self {
        Self { keep: keep.into(), ..self }
    }
}

/// The number of tokens that are kept unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetentionLimits {
    pub(crate) usual: u64,
    /// The maximum if the last step alone needs more.
    pub(crate) at_most: u64,
}

/// Returns the index of the first kept entry; the end of the branch if no entry can be kept. The kept part is as long
/// as the limits allow. The last user message is always kept, because a summary does not replace the request.
pub(crate) fn find_cut(branch: &[Arc<SessionEntry>], keep: RetentionLimits) -> usize {
    let mut behind = vec![0; branch.len() + 1];
    let mut sum = 0;
    for (at, entry) in branch.iter().enumerate().rev() {
        sum += entry_tokens(entry);
        if let Some(slot) = behind.get_mut(at) {
            *slot = sum;
        }
    }
    let tokens = |at: usize| behind.get(at).copied().unwrap_or_default();
    let points: Vec<usize> = cut_positions(branch).collect();
    if let Some(at) = points.iter().copied().find(|at| tokens(*at) <= keep.usual) {
        return at;
    }
    let last = points.last().copied().unwrap_or(branch.len());
    let by_user = branch.get(last).is_some_and(|entry| is_user(entry));
    if tokens(last) <= keep.at_most || by_user { last } else { branch.len() }
}

/// Returns the positions at which a kept part can begin, in order: messages that are not tool results, while no call
/// waits for its result. A turn can therefore be cut between its steps.
fn cut_positions(branch: &[Arc<SessionEntry>]) -> impl Iterator<Item = usize> + '_ {
    let mut open: HashSet<ToolCallId> = HashSet::new();
    branch.iter().enumerate().filter_map(move |(at, entry)| match entry_message(entry)?.as_ref() {
        Message::Tool(result) => {
            open.remove(&result.call_id);
            None
        }
        Message::User { .. } => open.is_empty().then_some(at),
        Message::Assistant(said) => {
            // The reader of the branch adds missing results for the calls of an earlier message.
            open = said.tool_calls().map(|call| call.id.clone()).collect();
            Some(at)
        }
    })
}

fn is_user(entry: &SessionEntry) -> bool {
    entry_message(entry).is_some_and(|message| matches!(*message, Message::User { .. }))
}

/// The reasons why a context was not compacted. The context is unchanged, unless the disk failed after the summary was
/// written; then the error is [`CompactError::Session`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The agent is running a prompt.
    #[error("the agent is busy with a prompt; wait for it or abort it")]
    Busy,
    /// There is nothing to summarize.
    #[error("nothing to compact: the conversation is too short; try again later")]
    Nothing,
    /// A hook refused the compaction.
    #[error("compaction refused by {by}: {reason}")]
    Refused {
        /// The hook.
        by: String,
        /// The reason.
        reason: String,
    },
    /// The request for the summary failed.
    #[error("the model could not summarize the conversation: {0}")]
    Model(ModelError),
    /// The summary is empty.
    #[error("the summary is empty; try again, or choose another model")]
    Empty,
    /// The model reached its output limit before the end of the summary.
    #[error("the summary was cut off at the model's output limit; try again, or choose another model")]
    CutOff,
    /// The summary is not shorter than what it replaces.
    #[error(
        "the summary has {summary} tokens and would replace {replaced}; try again when the conversation is longer, \
         or choose another model"
    )]
    NotShorter {
        /// The estimated tokens of the summary.
        summary: u64,
        /// The estimated tokens of the messages that it would replace.
        replaced: u64,
    },
    /// The session could not be written.
    #[error("cannot save the summary: {reason}")]
    Session {
        /// The cause and the next step.
        reason: String,
    },
    /// The user cancelled the compaction.
    #[error("aborted")]
    Aborted,
}

impl CompactError {
    /// True if a summary was written and refused. Another attempt in the same run would cost as much, and rarely
    /// succeed.
    pub(crate) fn is_bad_summary(&self) -> bool {
        matches!(self, Self::Empty | Self::CutOff | Self::NotShorter { .. })
    }
}

/// Touched files without duplicates; the most recently touched file is last. A changed file is not listed as read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TouchedFiles {
    pub(crate) read: Vec<String>,
    pub(crate) modified: Vec<String>,
}

type ToolCallIndex = HashMap<ToolCallId, (String, RawJson)>;

#[derive(Deserialize)]
struct FileToolArgs {
    path: String,
}

impl TouchedFiles {
    /// Collects the files that these entries touched, and those of the previous summary.
    pub(crate) fn from_entries(entries: &[Arc<SessionEntry>], previous: Option<&Compaction>) -> Self {
        let mut files = Self::default();
        if let Some(previous) = previous {
            files.read.clone_from(&previous.files_read);
            files.modified.clone_from(&previous.files_modified);
        }
        let mut calls = ToolCallIndex::new();
        for entry in entries {
            if let EntryBody::MessageEntry(MessageEntry { message, .. }) = &entry.body {
                files.record_message(message, &mut calls);
            } else if let EntryBody::ToolStart(start) = &entry.body {
                // A hook may have changed the arguments.
                calls.insert(start.call_id.clone(), (start.name.clone(), start.args.clone()));
            }
        }
        files.dedup_paths();
        files
    }

    fn record_message(&mut self, message: &Message, calls: &mut ToolCallIndex) {
        match message {
            Message::Assistant(said) => {
                let said = said.tool_calls().cloned();
                calls.extend(said.map(|call| (call.id, (call.name, call.args))));
            }
            Message::Tool(result) if !result.is_error => {
                if let Some((name, args)) = calls.get(&result.call_id) {
                    self.record_file_call(name, args);
                }
            }
            Message::Tool(_) | Message::User { .. } => {}
        }
    }

    fn record_file_call(&mut self, tool: &str, args: &RawJson) {
        let list = match tool {
            "read" => &mut self.read,
            "edit" | "write" => &mut self.modified,
            _ => return,
        };
        if let Ok(FileToolArgs { path }) = serde_json::from_str(args.as_str()) {
            list.push(path);
        }
    }

    fn dedup_paths(&mut self) {
        let mut seen = HashSet::new();
        for list in [&mut self.modified, &mut self.read] {
            let mut newest: Vec<String> = std::mem::take(list);
            newest.reverse();
            newest.retain(|path| seen.insert(path.clone()));
            newest.reverse();
            *list = newest;
        }
    }
}

#[cfg(test)]
mod tests;
