//! What is not as it was when the user looked at it.

use std::collections::BTreeMap;
use std::fmt;

use super::digest::Digest;

/// The most files that are named.
const MAX_NAMES: usize = 8;

/// The most that is shown of a name, in characters.
const MAX_NAME: usize = 120;

/// The files that are not as they were, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Files that were not there.
    pub added: Vec<String>,
    /// Files whose content, mode or target is another.
    pub changed: Vec<String>,
    /// Files that are gone.
    pub removed: Vec<String>,
}

impl Difference {
    /// Between what there was and what there is.
    pub fn between(before: &BTreeMap<String, Digest>, now: &BTreeMap<String, Digest>) -> Self {
        let missing_in = |other: &BTreeMap<String, Digest>, these: &BTreeMap<String, Digest>| {
            these.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
        };
        let changed = now.iter().filter(|(name, digest)| before.get(*name).is_some_and(|was| was != *digest));
        Self {
            added: missing_in(before, now),
            changed: changed.map(|(name, _)| name.clone()).collect(),
            removed: missing_in(now, before),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// At most eight names, and how many more there are.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("changed", &self.changed), ("added", &self.added), ("removed", &self.removed)];
        let all: Vec<_> =
            kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (name, kind))).collect();
        let shown = all.iter().take(MAX_NAMES).map(|(name, kind)| {
            let mut short: String = name.chars().take(MAX_NAME).collect();
            if short.len() < name.len() {
                short.push('…');
            }
            format!("{short} ({kind})")
        });
        f.write_str(&shown.collect::<Vec<_>>().join(", "))?;
        match all.len().saturating_sub(MAX_NAMES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
