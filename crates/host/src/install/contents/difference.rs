//! What is not in one tree as it is in another.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Contents, Item};

/// The most names that are shown.
const MAX_NAMES: usize = 8;

/// The most that is shown of a name, in characters.
const MAX_NAME: usize = 120;

/// What is not as it was, by path. Directories count only where nothing else tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// What was not there.
    pub added: Vec<PathBuf>,
    /// What holds, or leads to, something else, or can be executed where it could not, or the other way.
    pub changed: Vec<PathBuf>,
    /// What is gone.
    pub removed: Vec<PathBuf>,
}

impl Difference {
    /// Between what there was and what there is.
    pub fn between(before: &Contents, now: &Contents) -> Self {
        let missing_in = |other: &Contents, these: &Contents| {
            these.items.keys().filter(|path| !other.items.contains_key(*path)).cloned().collect()
        };
        let changed = now
            .items
            .iter()
            .filter(|(path, item)| before.items.get(*path).is_some_and(|was: &Item| was != *item));
        Self {
            added: missing_in(before, now),
            changed: changed.map(|(path, _)| path.clone()).collect(),
            removed: missing_in(now, before),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// At most eight names, and how many more there are. What a name holds is not safe to be shown as it is.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("changed", &self.changed), ("added", &self.added), ("removed", &self.removed)];
        let all: Vec<_> =
            kinds.iter().flat_map(|(kind, paths)| paths.iter().map(move |path| (path, kind))).collect();
        let shown = all.iter().take(MAX_NAMES).map(|(path, kind)| format!("{} ({kind})", shortened(path)));
        f.write_str(&shown.collect::<Vec<_>>().join(", "))?;
        match all.len().saturating_sub(MAX_NAMES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

fn shortened(path: &Path) -> String {
    let text = path.display().to_string();
    let mut short: String = text.chars().take(MAX_NAME).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
