//! Which entries of a session are meant.

use std::collections::HashMap;

use haft_core::session::EntryId;
use haft_core::session::entry::SessionEntry;

/// Which entries of a session are meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntrySelection {
    /// The last entry of the branch; the last one of the file without it.
    pub at: Option<EntryId>,
    /// All other branches, too.
    pub all: bool,
}

/// The session has no such entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has no entry {0}; `haft session tree` shows those it has")]
pub struct NoSuchEntry(pub EntryId);

impl EntrySelection {
    /// The places of the chosen branch's entries, oldest first.
    ///
    /// # Errors
    /// [`NoEntry`].
    pub(crate) fn branch_indices(&self, entries: &[SessionEntry]) -> Result<Vec<usize>, NoSuchEntry> {
        let places: HashMap<EntryId, usize> =
            entries.iter().enumerate().map(|(at, entry)| (entry.id, at)).collect();
        let mut next = match self.at {
            Some(id) => Some(*places.get(&id).ok_or(NoSuchEntry(id))?),
            None => entries.len().checked_sub(1),
        };
        let mut branch = Vec::new();
        while let Some(at) = next {
            branch.push(at);
            let parent = entries.get(at).and_then(|entry| entry.parent);
            // A parent stands before its child, so this ends.
            next = parent.and_then(|parent| places.get(&parent).copied()).filter(|parent| *parent < at);
        }
        branch.reverse();
        Ok(branch)
    }

    /// The entries that are meant, in the order of the file.
    ///
    /// # Errors
    /// [`NoEntry`].
    pub(crate) fn entries<'a>(
        &self,
        entries: &'a [SessionEntry],
    ) -> Result<Vec<&'a SessionEntry>, NoSuchEntry> {
        let branch = self.branch_indices(entries)?;
        match self.all {
            true => Ok(entries.iter().collect()),
            false => Ok(branch.into_iter().filter_map(|at| entries.get(at)).collect()),
        }
    }
}
