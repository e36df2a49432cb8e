//! The user's settings, themes and API keys.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use haft_config::{
    AuthFile, Config, ConfigKey, ConfigLayer, ConfigRow, ExposeSecret as _, Home, LayerSource,
    MachineWithKeys, SecretString, SettingOrigin, all_keys, read_text, value_text,
};
use haft_packages::LaunchPlan;
use haft_packages::discovery::Discovery;
use haft_providers::{
    KeyLocation, LocalServer, ModelsFile, PRESETS, default_model, key_location, local_servers,
};
use haft_tui::app::{LoginProvider, SavedKey, SettingRow};

use super::UiContext;
use crate::caller::require_person;
use crate::tool_sandbox::{ToolPathReader, check_path_list};
use crate::{login, setup};

/// Returns all settings. If a file has a mistake, the settings of the other files are returned.
pub(super) fn setting_rows(context: &UiContext) -> Vec<SettingRow> {
    let rows = effective_config(context).map(|config| config.rows());
    let rows = rows.inspect_err(|error| tracing::warn!(%error, "cannot read the settings"));
    rows.unwrap_or_default().iter().map(setting_row).collect()
}

pub(super) fn set(context: &UiContext, name: &str, value: &str) -> anyhow::Result<SettingRow> {
    require_person("a change of config.toml")?;
    if matches!(name, "tools.hide" | "tools.write") {
        check_path_list(&ToolPathReader::new(&context.home, &context.cwd), &context.tools, name, value)?;
    }
    haft_config::set_key(&context.home.config_file(), name, value)?;
    let rows = effective_config(context)?.rows();
    let row = rows.iter().find(|row| row.key == name);
    let row = row.context("the setting was written, but cannot be read back")?;
    let mut shown = setting_row(row);
    if overrides_file(&row.origin, &context.home.config_file()) {
        shown.origin.push_str(" overrides the saved value");
    }
    Ok(shown)
}

/// True if a flag, a variable or the project's file has a stronger value than the user's file.
fn overrides_file(origin: &SettingOrigin, file: &Path) -> bool {
    match origin {
        SettingOrigin::Flag(_) | SettingOrigin::Env(_) => true,
        SettingOrigin::File { path, .. } => path != file,
        SettingOrigin::Default => false,
    }
}

pub(super) fn effective_config(context: &UiContext) -> anyhow::Result<Config> {
    let project = context.trust_decision()?.project;
    let env = ConfigLayer::from_env(|name| std::env::var(name).ok())
        .unwrap_or_else(|_| ConfigLayer::empty(LayerSource::Env));
    let flags = context.args.model.layer(&context.args.agent);
    Ok(setup::read_leniently(&context.home, &project, flags, env).0)
}

fn setting_row(row: &ConfigRow) -> SettingRow {
    let key = all_keys().find(|key| key.path == row.key);
    let choices = key.map(|key| key.kind.choices()).unwrap_or_default();
    SettingRow {
        name: row.key.clone(),
        value: row.value.as_ref().map_or_else(|| row.default.clone(), value_text),
        origin: row.origin.to_string(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        about: key.map(ConfigKey::plain_summary).unwrap_or_default(),
    }
}

/// The maximum size of a `theme.json`, in bytes.
const LONGEST: u64 = 256 * 1024;

/// Returns the location and the text of each theme: those in `$HAFT_HOME/themes`, then those of theme-only extensions.
/// Unapproved extensions and those of an untrusted project are excluded.
pub(super) fn list_themes(context: &UiContext) -> Vec<(String, String)> {
    let mut themes = user_themes(&context.home.themes_dir());
    themes.extend(extension_themes(context).unwrap_or_default());
    themes
}

fn user_themes(dir: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"))).collect();
    files.sort();
    files
        .iter()
        .filter_map(|path| Some((path.display().to_string(), read_text(path, LONGEST).ok()?)))
        .collect()
}

fn extension_themes(context: &UiContext) -> anyhow::Result<Vec<(String, String)>> {
    let project = context.trust_decision()?.project;
    let config = effective_config(context)?;
    let search = setup::extension_search(&context.args.ext, &context.home, &config, project);
    let specs = Discovery::run(&search).specs;
    let themes = specs.iter().filter(|spec| spec.launch == LaunchPlan::ThemeOnly);
    let named = themes.filter_map(|spec| {
        let places = ["theme.json", "themes/theme.json"].map(|place| spec.dir.join(place));
        Some((
            format!("extension {}", spec.name),
            places.iter().find_map(|place| read_text(place, LONGEST).ok())?,
        ))
    });
    Ok(named.collect())
}

/// Returns the providers, the source of each key, and the servers on this machine.
pub(super) async fn list_providers(context: Arc<UiContext>) -> Vec<LoginProvider> {
    let home = &context.home;
    let models = ModelsFile::load(&home.models_file()).unwrap_or_default();
    let auth = AuthFile::load(&home.auth_file()).unwrap_or_default();
    let servers = local_servers(&models, &MachineWithKeys::new(&auth)).await;
    let local: Vec<&str> =
        PRESETS.iter().filter(|preset| preset.local_port.is_some()).map(|preset| preset.name).collect();
    let names = PRESETS.iter().map(|preset| preset.name).chain(models.custom_providers());
    let provider = |name: &str| {
        let KeyLocation { stored_as, variable, .. } = key_location(name, &models)?;
        let variable = variable.filter(|name| std::env::var_os(name).is_some_and(|key| !key.is_empty()));
        let stored = auth.key(&stored_as).is_some();
        let key = variable.or_else(|| stored.then(|| "auth.json".to_owned()));
        let server = servers.iter().find(|server| server.preset.name == name);
        let model = server.and_then(|server| server.models.first().cloned());
        let model = model.or_else(|| default_model(name, &models)).map(|model| format!("{name}/{model}"));
        let server = server.map(LocalServer::location);
        let is_local = local.contains(&name);
        Some(LoginProvider { name: name.to_owned(), key, stored, is_local, server, model })
    };
    let mut all: Vec<LoginProvider> = names.filter_map(provider).collect();
    let mut seen = std::collections::HashSet::new();
    all.retain(|provider| seen.insert(provider.name.clone()));
    all
}

/// Verifies a key with the provider and stores it.
pub(super) async fn login(
    context: Arc<UiContext>,
    provider: String,
    key: SecretString,
) -> anyhow::Result<SavedKey> {
    require_person("a change of the keys")?;
    let home = &context.home;
    let key = login::parse_key(key.expose_secret())?;
    let models = ModelsFile::load(&home.models_file())?;
    let probed = login::verify_key(home, &provider, &key, &models, |_| {}).await;
    probed.map_err(|error| error.context("the key was not saved; check the key"))?;
    let message = login::store(home, &provider, &key, &models)?.join("; ");
    let model = default_model(&provider, &models).map(|model| format!("{provider}/{model}"));
    Ok(SavedKey { message, model })
}

pub(super) fn logout(home: &Home, provider: String) -> anyhow::Result<String> {
    require_person("a change of the keys")?;
    let models = ModelsFile::load(&home.models_file())?;
    Ok(login::remove(home, provider, &models)?.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_every_setting() {
        let unfinished = all_keys().map(ConfigKey::summary).filter(|about| !about.ends_with(['.', '…']));
        assert_eq!(unfinished.collect::<Vec<_>>(), Vec::<String>::new());
    }

    #[test]
    fn lists_small_json_files_as_themes() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.JSON", "c.txt"] {
            fs::write(dir.path().join(name), "{}").unwrap();
        }
        fs::create_dir(dir.path().join("d.json")).unwrap();
        fs::write(dir.path().join("e.json"), " ".repeat(300 * 1024)).unwrap();
        let named = |name: &str| (dir.path().join(name).display().to_string(), "{}".to_owned());
        assert_eq!(user_themes(dir.path()), [named("a.JSON"), named("b.json")]);
        assert_eq!(user_themes(&dir.path().join("gone")), []);
    }
}
