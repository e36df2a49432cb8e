//! Selection of a session's entries.

use std::collections::HashMap;

use haft_core::session::EntryId;
use haft_core::session::entry::SessionEntry;

/// The entries to export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EntrySelection {
    /// The last entry of the branch; by default, the last entry of the file.
    pub at: Option<EntryId>,
    /// True to include all other branches.
    pub all: bool,
}

/// The session does not contain the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has no entry {0}; run `haft session tree` to list its entries")]
pub struct NoSuchEntry(pub EntryId);

impl EntrySelection {
    /// Returns the positions of the selected branch's entries, oldest first.
    ///
    /// # Errors
    /// [`NoSuchEntry`] when the selected entry does not exist.
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
            // Only earlier entries count as parents, so the loop ends.
            next = parent.and_then(|parent| places.get(&parent).copied()).filter(|parent| *parent < at);
        }
        branch.reverse();
        Ok(branch)
    }

    /// Returns the selected entries in the order of the file.
    ///
    /// # Errors
    /// [`NoSuchEntry`] when the selected entry does not exist.
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
