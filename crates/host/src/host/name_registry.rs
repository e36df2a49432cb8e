//! Owners of tool and command names. Pure.
//!
//! At the start, the order of the extensions decides. Later, the first owner keeps a name, so that no
//! extension can take over a tool that the model already knows.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use haft_protocol::ids::ExtensionName;

/// The names of one kind. Names are case-insensitive: users type either case, and models and gates would
/// mistake `Bash` for `bash`.
#[derive(Debug, Default)]
pub(crate) struct NameRegistry {
    reserved: HashSet<String>,
    /// The maximum number of names of all extensions together; `None` for no limit.
    most: Option<usize>,
    owners: HashMap<String, ExtensionName>,
    reported: HashSet<(ExtensionName, String)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClaimOutcome {
    Granted,
    /// Another owner has the name; report it.
    Lost {
        /// The owner, for people.
        to: String,
    },
    /// The name is free, but the limit is reached.
    Full {
        most: usize,
    },
    /// The name was refused before, and that was reported.
    LostBefore,
}

impl NameRegistry {
    /// Creates a catalog in which only these names are taken, which no extension can have.
    pub(crate) fn new(reserved: &[String]) -> Self {
        Self { reserved: reserved.iter().map(|name| name.to_ascii_lowercase()).collect(), ..Self::default() }
    }

    /// Limits the number of names of all extensions together.
    pub(crate) fn with_limit(self, most: usize) -> Self {
        Self { most: Some(most), ..self }
    }

    pub(crate) fn claim(&mut self, name: &str, by: &ExtensionName) -> ClaimOutcome {
        self.claim_with(name, by, false)
    }

    /// Claims a name. `replaces` is true if the user lets this extension have the name even if it is reserved; the
    /// spelling must then be the reserved one.
    pub(crate) fn claim_with(&mut self, name: &str, by: &ExtensionName, replaces: bool) -> ClaimOutcome {
        let known = match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(name.to_ascii_lowercase()),
            false => Cow::Borrowed(name),
        };
        if self.owners.get(known.as_ref()).is_some_and(|owner| owner == by) {
            return ClaimOutcome::Granted;
        }
        let is_reserved = self.is_reserved(&known) && !(replaces && self.is_reserved(name));
        let name = known.into_owned();
        let full = self.most.filter(|most| self.owners.len() >= *most && !self.owners.contains_key(&name));
        if let Some(most) = full.filter(|_| !is_reserved) {
            let first = self.reported.insert((by.clone(), name));
            return if first { ClaimOutcome::Full { most } } else { ClaimOutcome::LostBefore };
        }
        let to = if is_reserved {
            "haft itself".to_owned()
        } else {
            let owner = self.owners.entry(name.clone()).or_insert_with(|| by.clone());
            if owner == by {
                return ClaimOutcome::Granted;
            }
            format!("extension {owner}")
        };
        if self.reported.insert((by.clone(), name)) {
            ClaimOutcome::Lost { to }
        } else {
            ClaimOutcome::LostBefore
        }
    }

    /// True if the name is reserved, in this spelling.
    pub(crate) fn is_reserved(&self, name: &str) -> bool {
        self.reserved.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_names_of_all_extensions() {
        let mut names = NameRegistry::new(&["bash".to_owned()]).with_limit(2);
        let (a, b) = (ExtensionName::new("a"), ExtensionName::new("b"));
        assert_eq!(names.claim("one", &a), ClaimOutcome::Granted);
        assert_eq!(names.claim("two", &b), ClaimOutcome::Granted);
        assert_eq!(names.claim("three", &a), ClaimOutcome::Full { most: 2 });
        assert_eq!(names.claim("three", &a), ClaimOutcome::LostBefore);
        assert_eq!(names.claim("two", &b), ClaimOutcome::Granted);
        assert_eq!(names.claim("two", &a), ClaimOutcome::Lost { to: "extension b".into() });
        assert_eq!(names.claim("bash", &a), ClaimOutcome::Lost { to: "haft itself".into() });
    }

    #[test]
    fn extension_replaces_reserved_name_only_with_consent() {
        let mut names = NameRegistry::new(&["bash".to_owned()]);
        let (a, b) = (ExtensionName::new("a"), ExtensionName::new("b"));
        assert_eq!(names.claim_with("Bash", &a, true), ClaimOutcome::Lost { to: "haft itself".into() });
        assert_eq!(names.claim_with("bash", &a, true), ClaimOutcome::Granted);
        assert_eq!(names.claim_with("bash", &b, true), ClaimOutcome::Lost { to: "extension a".into() });
        assert_eq!(
            names.claim_with("bash", &ExtensionName::new("c"), false),
            ClaimOutcome::Lost { to: "haft itself".into() }
        );
    }

    #[test]
    fn first_owner_keeps_name_and_conflict_is_reported_once() {
        let mut names = NameRegistry::new(&["bash".to_owned()]);
        let (a, b) = (ExtensionName::new("a"), ExtensionName::new("b"));
        assert_eq!(names.claim("weather", &a), ClaimOutcome::Granted);
        assert_eq!(names.claim("weather", &b), ClaimOutcome::Lost { to: "extension a".into() });
        assert_eq!(names.claim("weather", &b), ClaimOutcome::LostBefore);
        assert_eq!(names.claim("weather", &a), ClaimOutcome::Granted);
        assert_eq!(names.claim("bash", &a), ClaimOutcome::Lost { to: "haft itself".into() });
        assert_eq!(names.claim("bash", &b), ClaimOutcome::Lost { to: "haft itself".into() });
        assert_eq!(names.claim("Weather", &a), ClaimOutcome::Granted);
        assert_eq!(names.claim("Weather", &b), ClaimOutcome::LostBefore);
        let c = ExtensionName::new("c");
        assert_eq!(names.claim("Weather", &c), ClaimOutcome::Lost { to: "extension a".into() });
        assert_eq!(names.claim("Bash", &c), ClaimOutcome::Lost { to: "haft itself".into() });
    }
}
