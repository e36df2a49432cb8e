//! Compaction: a summary takes the place of what the model need not be sent word for word any more.
//!
//! In here is what can be decided without asking anybody: when the context is full, where the kept part begins, which
//! files were touched, what a model is asked that sums up. The agent does the asking.
//!
//! * [`CompactSettings`]: when, and how much is kept;
//! * [`PendingCompaction`]: what a [`BeforeCompact`](crate::hooks::BeforeCompact) hook is asked about;
//! * [`CompactionOutcome`], [`CompactError`]: how it ended.

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
use crate::session::EntryId;
use crate::session::entry::{Compaction, EntryBody, ResponseMetadata, Said, SessionEntry};
use crate::stats::estimated_tokens;

pub use prompt::entry_text;
pub(crate) use prompt::{SYSTEM, summary_prompt, truncate_summary};

/// The conversation that is about to be summarized.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCompaction {
    /// Why.
    pub reason: CompactReason,
    /// The user's instructions for the summary.
    pub instructions: Option<String>,
    /// Tokens of the context now, partly estimated.
    pub tokens_before: u64,
    /// The number of tokens that the model can read and write in one request, where known.
    pub window: Option<u64>,
    /// The entries that the context is made of, oldest first.
    pub entries: Vec<Arc<SessionEntry>>,
    /// The first of them that is still sent word for word; none if the summary stands for all of them.
    pub first_kept: Option<EntryId>,
    /// The summary of an earlier compaction: it stands for what was before the entries.
    pub previous_summary: Option<String>,
    /// Files that were read by what is summed up, and by what that had summed up; the last one touched is the last.
    pub files_read: Vec<String>,
    /// Files that were changed, likewise.
    pub files_modified: Vec<String>,
}

impl PendingCompaction {
    /// The entries that the summary will stand for.
    pub fn summarized_entries(&self) -> &[Arc<SessionEntry>] {
        let kept = self.entries.iter().position(|entry| Some(entry.id) == self.first_kept);
        self.entries.get(..kept.unwrap_or(self.entries.len())).unwrap_or_default()
    }

    /// The entries that the kept part may begin with: no result of a tool, and none between a call and its result.
    pub fn cut_points(&self) -> impl Iterator<Item = EntryId> + '_ {
        cut_positions(&self.entries).filter_map(|at| self.entries.get(at)).map(|entry| entry.id)
    }

    /// The same, with another part kept; `None` if the kept part cannot begin there.
    pub(crate) fn with_first_kept(mut self, first: EntryId) -> Option<Self> {
        if !self.cut_points().any(|id| id == first) {
            return None;
        }
        self.first_kept = Some(first);
        let files = TouchedFiles::from_entries(self.summarized_entries(), previous_compaction(&self.entries));
        (self.files_read, self.files_modified) = (files.read, files.modified);
        Some(self)
    }
}

/// A compaction that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionOutcome {
    /// The summary for the model from here on.
    pub summary: String,
    /// Tokens of the context before, partly estimated.
    pub tokens_before: u64,
    /// Tokens of the context now, estimated.
    pub tokens_after: u64,
    /// The number of messages the summary stands for.
    pub messages_summed_up: u64,
    /// The number of messages that are kept beside it.
    pub messages_kept: u64,
    /// The hook that wrote the summary.
    pub by: Option<String>,
    /// The model that wrote it, and what that used; none if a hook did.
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
        EntryBody::Said(Said { message, .. }) => Some(Cow::Borrowed(message)),
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

/// When the context is summed up, and how much of it is kept word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactSettings {
    /// True if this happens without being asked for: when the reserve is reached, and when the provider says that a
    /// request is too long.
    pub auto: bool,
    /// Tokens of the model's window that are left for its answer. If nothing is said, 16,384 or 15 % of the window,
    /// whichever is less. Never more than half of the window.
    pub reserve: Option<u64>,
    /// Tokens at the end that are kept word for word. If nothing is said, 20,000, but no more than a third of what the
    /// system prompt and the tools leave of the window. Never more than half of that.
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

/// The most a summary may take, however large the window is.
const SUMMARY: u64 = 8_192;

/// The tokens of the question around the conversation.
const QUESTION: u64 = 1_000;

/// The division of a window's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TokenBudget {
    pub(crate) full: u64,
    /// The tokens that are kept word for word.
    pub(crate) keep: u64,
    /// The most that a last step may take that alone is more than that.
    pub(crate) keep_at_most: u64,
    pub(crate) summary: u64,
    /// The most that the conversation may take in the request for a summary.
    pub(crate) conversation: u64,
}

impl CompactSettings {
    /// Shares out a window of which the system prompt and the tools take `fixed`.
    pub(crate) fn token_budget(&self, window: u64, fixed: u64) -> TokenBudget {
        let usual = RESERVE.min(window.saturating_mul(RESERVE_PERCENT) / 100);
        let full = window - self.reserve.unwrap_or(usual).min(window / 2);
        let free = full.saturating_sub(fixed);
        let keep = self.keep.unwrap_or(KEEP.min(free / 3)).min(free / 2);
        let summary = SUMMARY.min(free / 6);
        let conversation = full.saturating_sub(2 * summary + QUESTION).max(full / 4);
        TokenBudget { full, keep, keep_at_most: free / 2, summary, conversation }
    }
}

/// The number of tokens that are kept word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetentionLimits {
    pub(crate) usual: u64,
    /// And when the last step alone takes more, up to this.
    pub(crate) at_most: u64,
}

/// The first entry that is kept; the end of the branch if nothing can be. The kept part is as long as it may be. What
/// the user said last is kept however long it is: no summary of it would be what was asked.
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

/// Where a kept part may begin, in order: with a message that is no tool's result, while no call waits for one. So a
/// turn may be cut between its steps.
fn cut_positions(branch: &[Arc<SessionEntry>]) -> impl Iterator<Item = usize> + '_ {
    let mut open: HashSet<ToolCallId> = HashSet::new();
    branch.iter().enumerate().filter_map(move |(at, entry)| match entry_message(entry)?.as_ref() {
        Message::Tool(result) => {
            open.remove(&result.call_id);
            None
        }
        Message::User { .. } => open.is_empty().then_some(at),
        Message::Assistant(said) => {
            // What an earlier message's calls lack is made up by whoever reads the branch.
            open = said.tool_calls().map(|call| call.id.clone()).collect();
            Some(at)
        }
    })
}

fn is_user(entry: &SessionEntry) -> bool {
    entry_message(entry).is_some_and(|message| matches!(*message, Message::User { .. }))
}

/// Why a context was not summed up. It is as it was before, unless the disk failed behind the summary: then
/// [`CompactError::Session`] says that the session cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// The agent works on a prompt.
    #[error("the agent is busy with a prompt; wait for it or abort it")]
    Busy,
    /// There is nothing that a summary could stand for.
    #[error("nothing to compact: the conversation is too short; try again later")]
    Nothing,
    /// A hook did not want it.
    #[error("compaction refused by {by}: {reason}")]
    Refused {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// The model did not sum up.
    #[error("the model could not summarize the conversation: {0}")]
    Model(ModelError),
    /// The model had nothing to say.
    #[error("the model's summary is empty; try again, or choose another model")]
    Empty,
    /// The session could not be written.
    #[error("cannot save the summary: {reason}")]
    Session {
        /// The failure, and the next step.
        reason: String,
    },
    /// The user stopped it.
    #[error("aborted")]
    Aborted,
}

/// Files by how they were touched, each once; the last one touched is the last. One that was changed is not among those
/// that were read.
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
    /// The files that these entries touched, and those of the summary before.
    pub(crate) fn from_entries(entries: &[Arc<SessionEntry>], previous: Option<&Compaction>) -> Self {
        let mut files = Self::default();
        if let Some(previous) = previous {
            files.read.clone_from(&previous.files_read);
            files.modified.clone_from(&previous.files_modified);
        }
        let mut calls = ToolCallIndex::new();
        for entry in entries {
            if let EntryBody::Said(Said { message, .. }) = &entry.body {
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
