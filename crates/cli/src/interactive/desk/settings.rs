//! The settings, each with where it comes from.

use anyhow::Context as _;
use haft_config::{Config, Files, Layer, Place, Row, all_keys};
use haft_providers::{Models, take_apart};
use haft_tui::app::SettingRow;
use serde_json::Value;

use super::Ground;

/// All of them; those that can be made out where a file has a mistake.
pub(super) fn rows(ground: &Ground) -> Vec<SettingRow> {
    let rows = holding(ground).map(|config| config.rows());
    let rows = rows.inspect_err(|error| tracing::warn!(%error, "the settings are not shown"));
    rows.unwrap_or_default().iter().map(shown).collect()
}

/// Writes one into the user's file, and says what holds now: a flag or a variable may be stronger.
pub(super) fn set(ground: &Ground, name: &str, value: &str) -> anyhow::Result<SettingRow> {
    haft_config::set(&ground.home.config_file(), name, value)?;
    let rows = holding(ground)?.rows();
    rows.iter().find(|row| row.key == name).map(shown).context("the setting is written and not found again")
}

/// What holds.
pub(super) fn holding(ground: &Ground) -> anyhow::Result<Config> {
    let project = ground.decision()?.project;
    let (files, _) = Files::read_what_can_be(&ground.home, &project);
    let models = Models::load(&ground.home.models_file()).unwrap_or_default();
    let env = Layer::from_env(|name| std::env::var(name).ok()).unwrap_or_else(|_| Layer::empty(Place::Env));
    let apart = |model: &str, beside: Option<&str>| take_apart(model, beside, &models);
    Ok(files.below_unchecked(ground.args.model.layer(&ground.args.agent), env, &apart))
}

fn shown(row: &Row) -> SettingRow {
    let key = all_keys().find(|key| key.path == row.key);
    SettingRow {
        name: row.key.clone(),
        value: row.value.as_ref().map_or_else(|| row.default.to_owned(), text),
        origin: row.origin.to_string(),
        choices: key.map(|key| choices(key.takes)).unwrap_or_default(),
        about: key.map(|key| sentence(key.doc)).unwrap_or_default(),
    }
}

/// The first sentence of what is written about a key, without the marks of Markdown.
fn sentence(doc: &str) -> String {
    let words = doc.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
    match words.find(". ") {
        Some(end) => words.get(..=end).unwrap_or_default().to_owned(),
        None => words,
    }
}

/// A value as a person writes it: that is how [`haft_config::set`] takes it.
pub(in crate::interactive) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// What can be chosen from, where all that a key takes is named.
fn choices(takes: &str) -> Vec<String> {
    let mut parts = takes.split('`');
    let between: Vec<&str> = parts.clone().step_by(2).filter(|part| !part.is_empty()).collect();
    if !between.iter().all(|part| matches!(*part, ", " | " or ")) {
        return Vec::new();
    }
    parts.next();
    parts.step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_those_that_are_named() {
        assert_eq!(choices("`a`, `b` or `c`"), ["a", "b", "c"]);
        assert_eq!(choices("`true` or `false`"), ["true", "false"]);
        assert_eq!(choices("a table with `enabled = false`"), Vec::<String>::new());
        assert_eq!(choices("a name"), Vec::<String>::new());
    }

    #[test]
    fn every_setting_says_what_it_is_for() {
        assert_eq!(sentence("The `model`\nthat answers. More of it.\n"), "The model that answers.");
        let unfinished = all_keys().map(|key| sentence(key.doc)).filter(|about| !about.ends_with(['.', '…']));
        assert_eq!(unfinished.collect::<Vec<_>>(), Vec::<String>::new());
    }

    /// What the interface's own table says, and what the file takes.
    #[test]
    fn the_interface_and_the_file_know_the_same_settings() {
        use haft_config::{Tui, can_be_set};
        assert!(Tui::KEYS.iter().all(can_be_set));
    }
}
