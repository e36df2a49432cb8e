//! The entries in memory, and the path from an entry to the root.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::entry::{EntryBody, Label, SessionEntry};
use super::id::EntryId;

/// Entries by id, in the order in which they were read or written.
#[derive(Debug, Default)]
pub(super) struct SessionTree {
    entries: Vec<Arc<SessionEntry>>,
    known: HashMap<EntryId, usize>,
}

impl SessionTree {
    pub(super) fn push(&mut self, entry: Arc<SessionEntry>) {
        self.known.insert(entry.id, self.entries.len());
        self.entries.push(entry);
    }

    pub(super) fn get(&self, id: EntryId) -> Option<&Arc<SessionEntry>> {
        self.known.get(&id).and_then(|at| self.entries.get(*at))
    }

    pub(super) fn all(&self) -> &[Arc<SessionEntry>] {
        &self.entries
    }

    pub(super) fn parents_first(&self) -> impl Iterator<Item = &Arc<SessionEntry>> {
        // A branch that was read later may be older than the existing entries.
        let mut seen = HashSet::new();
        self.entries.iter().flat_map(move |entry| {
            let mut way = Vec::new();
            let mut next = Some(entry);
            while let Some(entry) = next.filter(|entry| seen.insert(entry.id)) {
                way.push(entry);
                next = entry.parent.and_then(|parent| self.get(parent));
            }
            way.into_iter().rev()
        })
    }

    /// Returns the path from the root to an entry, including summarized entries. The error is the id of an entry that
    /// is not in memory.
    pub(super) fn path_to(&self, leaf: EntryId) -> Result<Vec<Arc<SessionEntry>>, EntryId> {
        let (mut way, mut next) = (Vec::new(), Some(leaf));
        while let Some(id) = next {
            let entry = self.get(id).ok_or(id)?;
            next = entry.parent;
            way.push(Arc::clone(entry));
        }
        way.reverse();
        Ok(way)
    }

    /// Returns the path to an entry, oldest first: from the root, or from the first entry that the last compaction
    /// kept. The error is the id of an entry that is not in memory.
    pub(super) fn branch(&self, leaf: Option<EntryId>) -> Result<Vec<Arc<SessionEntry>>, EntryId> {
        let (mut branch, mut next) = (Vec::new(), leaf);
        let mut last: Option<Option<EntryId>> = None;
        while let Some(id) = next {
            let entry = self.get(id).ok_or(id)?;
            next = entry.parent;
            branch.push(Arc::clone(entry));
            if let (EntryBody::Compaction(compaction), None) = (&entry.body, last) {
                last = Some(compaction.first_kept);
                if compaction.first_kept.is_none() {
                    break;
                }
            }
            if last == Some(Some(id)) {
                break;
            }
        }
        branch.reverse();
        Ok(trim_to_compaction(branch, last))
    }
}

/// Returns the current labels by entry, without removed ones. `entries` must be in the order in which they were
/// written.
pub fn labels<'a>(entries: impl IntoIterator<Item = &'a SessionEntry>) -> HashMap<EntryId, String> {
    let mut labels = HashMap::new();
    for entry in entries {
        if let EntryBody::Label(Label { target, label }) = &entry.body {
            match label {
                Some(label) => drop(labels.insert(*target, label.clone())),
                None => drop(labels.remove(target)),
            }
        }
    }
    labels
}

/// Returns the entries that a session leaves when it moves from `leaf` to another entry, oldest first. `entries` are
/// those of all branches.
pub fn left_branch(
    entries: &[Arc<SessionEntry>],
    leaf: Option<EntryId>,
    to: Option<EntryId>,
) -> Vec<Arc<SessionEntry>> {
    let tree: SessionTree = entries.iter().cloned().collect();
    let path = |end: Option<EntryId>| end.and_then(|end| tree.path_to(end).ok()).unwrap_or_default();
    let kept: HashSet<EntryId> = path(to).iter().map(|entry| entry.id).collect();
    path(leaf).into_iter().filter(|entry| !kept.contains(&entry.id)).collect()
}

/// Returns the tags of a session by key. A later entry wins for each key that it names. `entries` are those of all
/// branches, in the order in which they were written.
pub fn fold_tags<'a>(entries: impl IntoIterator<Item = &'a SessionEntry>) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::new();
    for entry in entries {
        if let EntryBody::Tags(change) = &entry.body {
            change.apply_to(&mut tags);
        }
    }
    tags
}

/// A compaction whose first kept entry is not among its ancestors keeps none of them.
fn trim_to_compaction(
    mut branch: Vec<Arc<SessionEntry>>,
    last: Option<Option<EntryId>>,
) -> Vec<Arc<SessionEntry>> {
    if let Some(Some(kept)) = last
        && branch.first().is_none_or(|first| first.id != kept)
        && let Some(at) = branch.iter().rposition(|entry| matches!(entry.body, EntryBody::Compaction(_)))
    {
        branch.drain(..at);
    }
    branch
}

impl FromIterator<Arc<SessionEntry>> for SessionTree {
    fn from_iter<I: IntoIterator<Item = Arc<SessionEntry>>>(entries: I) -> Self {
        let mut tree = Self::default();
        entries.into_iter().for_each(|entry| tree.push(entry));
        tree
    }
}
