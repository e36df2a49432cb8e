//! What extensions are handed as their settings: it depends on whose the extension is.

use std::collections::BTreeMap;

use crate::file::ReadFile;
use crate::origin::{Owner, Sourced};

/// What is set for the extension of one name.
///
/// A project's table counts for an extension of the project. The user's own may be a guard, and what it is told decides
/// what it refuses; so it is handed what the user set, and a trusted project's keys only where the user's
/// `grant.NAME.project_settings` lets the project add what the user did not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExtensionSettings {
    /// What an extension is handed that is the user's, by key.
    pub user: BTreeMap<String, Sourced<toml::Value>>,
    /// What an extension of the project is handed, by key: the user's table with the project's over it.
    pub project: BTreeMap<String, Sourced<toml::Value>>,
}

impl ExtensionSettings {
    /// What an extension of this owner is handed.
    pub fn of(&self, owner: Owner) -> &BTreeMap<String, Sourced<toml::Value>> {
        match owner {
            Owner::User => &self.user,
            Owner::Project => &self.project,
        }
    }

    /// What only an extension of the project is handed.
    pub fn only_projects(&self) -> impl Iterator<Item = (&str, &Sourced<toml::Value>)> {
        let only = self.project.iter().filter(|(key, set)| self.user.get(*key) != Some(set));
        only.map(|(key, set)| (key.as_str(), set))
    }
}

/// What both files say, by the extensions' names.
pub(crate) fn settings(
    user: &ReadFile,
    project: &ReadFile,
    may_add: impl Fn(&str) -> bool,
) -> BTreeMap<String, ExtensionSettings> {
    let mut all = BTreeMap::<String, ExtensionSettings>::new();
    for (name, key, set) in set_in(user) {
        let settings = all.entry(name.to_owned()).or_default();
        settings.user.insert(key.to_owned(), set.clone());
        settings.project.insert(key.to_owned(), set);
    }
    for (name, key, set) in set_in(project) {
        let settings = all.entry(name.to_owned()).or_default();
        if may_add(name) {
            settings.user.entry(key.to_owned()).or_insert_with(|| set.clone());
        }
        settings.project.insert(key.to_owned(), set);
    }
    all
}

/// Name, key and value of everything that a file sets for extensions.
fn set_in(file: &ReadFile) -> impl Iterator<Item = (&str, &str, Sourced<toml::Value>)> {
    file.content.extension.iter().flat_map(move |(name, table)| {
        table.iter().map(move |(key, value)| {
            let origin = file.source.origin(&format!("extension.{name}.{key}"));
            (name.as_str(), key.as_str(), Sourced { value: value.clone(), origin })
        })
    })
}
