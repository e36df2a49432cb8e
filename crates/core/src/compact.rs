//! Compaction: a summary takes the place of what the model need not be sent word for word any more.
//!
//! In here is what can be decided without asking anybody: when the context is full, where the kept part begins, which
//! files were touched, what a model is asked that sums up. The agent does the asking.
//!
//! * [`CompactSettings`]: when, and how much is kept;
//! * [`Compacting`]: what a [`BeforeCompact`](crate::hooks::BeforeCompact) hook is asked about;
//! * [`Compacted`], [`CompactError`]: how it ended.

mod budget;
mod cut;
mod error;
mod files;
mod prompt;
mod text;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_protocol::content::Content;
pub use haft_protocol::event::CompactReason;
use haft_protocol::message::{Message, Time};

pub(crate) use budget::Budget;
pub use budget::CompactSettings;
pub(crate) use cut::{Keep, cut};
pub use error::CompactError;
pub(crate) use files::Files;
pub(crate) use prompt::{SYSTEM, question, within};
pub use text::entry_text;

use crate::session::EntryId;
use crate::session::entry::{Answer, Compaction, Entry, EntryBody, Said};
use crate::stats::estimated_tokens;

/// What is about to be summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacting {
    /// Why.
    pub reason: CompactReason,
    /// What the user wants the summary to heed.
    pub instructions: Option<String>,
    /// Tokens of the context now, partly estimated.
    pub tokens_before: u64,
    /// How many the model can read and write in one request, where known.
    pub window: Option<u64>,
    /// The entries that the context is made of, oldest first.
    pub entries: Vec<Arc<Entry>>,
    /// The first of them that is still sent word for word; none if the summary stands for all of them.
    pub first_kept: Option<EntryId>,
    /// The summary of an earlier compaction: it stands for what was before the entries.
    pub previous_summary: Option<String>,
    /// Files that were read by what is summed up, and by what that had summed up; the last one touched is the last.
    pub files_read: Vec<String>,
    /// Files that were changed, likewise.
    pub files_modified: Vec<String>,
}

impl Compacting {
    /// The entries that the summary will stand for.
    pub fn summed_up(&self) -> &[Arc<Entry>] {
        let kept = self.entries.iter().position(|entry| Some(entry.id) == self.first_kept);
        self.entries.get(..kept.unwrap_or(self.entries.len())).unwrap_or_default()
    }

    /// The entries that the kept part may begin with: no result of a tool, and none between a call and its result.
    pub fn cut_points(&self) -> impl Iterator<Item = EntryId> + '_ {
        cut::points(&self.entries).filter_map(|at| self.entries.get(at)).map(|entry| entry.id)
    }

    /// The same, with another part kept; `None` if the kept part cannot begin there.
    pub(crate) fn keeping_from(mut self, first: EntryId) -> Option<Self> {
        if !self.cut_points().any(|id| id == first) {
            return None;
        }
        self.first_kept = Some(first);
        let files = Files::of(self.summed_up(), previous(&self.entries));
        (self.files_read, self.files_modified) = (files.read, files.modified);
        Some(self)
    }
}

/// A compaction that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacted {
    /// What the model is told from here on.
    pub summary: String,
    /// Tokens of the context before, partly estimated.
    pub tokens_before: u64,
    /// Tokens of the context now, estimated.
    pub tokens_after: u64,
    /// How many messages the summary stands for.
    pub messages_summed_up: u64,
    /// How many messages are kept beside it.
    pub messages_kept: u64,
    /// The hook that wrote the summary.
    pub by: Option<String>,
    /// The model that wrote it, and what that used; none if a hook did.
    pub answer: Option<Answer>,
}

/// The newest compaction of a branch.
pub(crate) fn previous(branch: &[Arc<Entry>]) -> Option<&Compaction> {
    branch.iter().rev().find_map(|entry| {
        if let EntryBody::Compaction(compaction) = &entry.body { Some(compaction) } else { None }
    })
}

/// What the model is sent of one entry; `None` for one that is not of the conversation.
fn message_of(entry: &Entry) -> Option<std::borrow::Cow<'_, Message>> {
    use std::borrow::Cow;
    let told = |content, time: &Time| Cow::Owned(Message::User { content, time: time.clone() });
    match &entry.body {
        EntryBody::Said(Said { message, .. }) => Some(Cow::Borrowed(message)),
        EntryBody::CustomMessage(custom) => Some(told(custom.content.clone(), &entry.time)),
        EntryBody::BranchSummary(branch) => {
            Some(told(vec![Content::text(branch.summary.clone())], &entry.time))
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

/// Roughly how many tokens of the context are an entry's.
pub(crate) fn tokens_of(entry: &Entry) -> u64 {
    message_of(entry).map_or(0, |message| estimated_tokens(&message))
}
