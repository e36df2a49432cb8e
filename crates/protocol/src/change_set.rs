//! Differences from what a user approved, and their description for people.

use std::collections::BTreeMap;
use std::fmt;

/// The maximum number of names in a description.
const MAX_NAMES: usize = 8;

/// The maximum length of a name in a description, in characters.
const MAX_NAME: usize = 120;

/// The differences between two sets, as names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The names that are new.
    pub added: Vec<String>,
    /// The names whose content changed.
    pub changed: Vec<String>,
    /// The names that no longer exist.
    pub removed: Vec<String>,
}

impl ChangeSet {
    /// Compares the old and the new entries; `name` returns the text for a key.
    pub fn compare<K: Ord, V: PartialEq>(
        before: &BTreeMap<K, V>,
        now: &BTreeMap<K, V>,
        name: impl Fn(&K) -> String,
    ) -> Self {
        let missing_in = |other: &BTreeMap<K, V>, these: &BTreeMap<K, V>| {
            these.keys().filter(|key| !other.contains_key(*key)).map(&name).collect()
        };
        let changed = now.iter().filter(|(key, value)| before.get(*key).is_some_and(|was| was != *value));
        Self {
            added: missing_in(before, now),
            changed: changed.map(|(key, _)| name(key)).collect(),
            removed: missing_in(now, before),
        }
    }

    /// True if there are no differences.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// Writes at most eight names and the number of the others. The output is not escaped for a
/// terminal.
impl fmt::Display for ChangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [("changed", &self.changed), ("added", &self.added), ("removed", &self.removed)];
        let all: Vec<_> =
            kinds.iter().flat_map(|(kind, names)| names.iter().map(move |name| (name, kind))).collect();
        let shown =
            all.iter().take(MAX_NAMES).map(|(name, kind)| format!("{} ({kind})", truncate_name(name)));
        f.write_str(&shown.collect::<Vec<_>>().join(", "))?;
        match all.len().saturating_sub(MAX_NAMES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

fn truncate_name(name: &str) -> String {
    let mut short: String = name.chars().take(MAX_NAME).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[(&str, u8)], now: &[(&str, u8)], expect: &str) {
        let map = |pairs: &[(&str, u8)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect::<BTreeMap<_, _>>()
        };
        let difference = ChangeSet::compare(&map(before), &map(now), String::clone);
        assert_eq!(difference.to_string(), expect);
        assert_eq!(difference.is_empty(), expect.is_empty());
    }

    #[test]
    fn names_all_differences() {
        check(&[("a", 1)], &[("a", 1)], "");
        check(
            &[("a", 1), ("b", 1), ("c", 1)],
            &[("b", 2), ("c", 1), ("d", 1)],
            "b (changed), d (added), a (removed)",
        );
    }

    #[test]
    fn limits_the_length_of_the_description() {
        let long = "ä".repeat(MAX_NAME + 1);
        check(&[], &[(&long, 1)], &format!("{}… (added)", "ä".repeat(MAX_NAME)));
        let names: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let pairs: Vec<(&str, u8)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let shown: Vec<String> =
            names.iter().take(MAX_NAMES).map(|name| format!("{name} (removed)")).collect();
        check(&pairs, &[], &format!("{} and 2 more", shown.join(", ")));
    }
}
