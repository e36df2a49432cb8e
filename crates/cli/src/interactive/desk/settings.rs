//! The settings, each with where it comes from.

use anyhow::Context as _;
use haft_config::{Config, Files, Key, Layer, Place, Row, all_keys, value_text};
use haft_providers::{Models, take_apart};
use haft_tui::app::SettingRow;

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
    let choices = key.map(|key| key.kind.choices()).unwrap_or_default();
    SettingRow {
        name: row.key.clone(),
        value: row.value.as_ref().map_or_else(|| row.default.clone(), value_text),
        origin: row.origin.to_string(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        about: key.map(Key::summary).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_says_what_it_is_for() {
        let unfinished = all_keys().map(Key::summary).filter(|about| !about.ends_with(['.', '…']));
        assert_eq!(unfinished.collect::<Vec<_>>(), Vec::<String>::new());
    }
}
