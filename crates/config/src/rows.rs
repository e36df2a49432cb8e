//! The settings as a table, for `haft config show`.

use serde_json::Value;

use crate::keys::{ConfigFile, ConfigKey, ConfigRow, HIDDEN, quoted_key};
use crate::layers::{Config, toml_to_json};
use crate::origin::SourcedValue;

/// Parts of the names of settings whose values are hidden.
const SECRETS: &[&str] = &[
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "auth",
    "cookie",
    "webhook",
    "bearer",
];

/// Words of such names that also occur inside harmless words.
const SECRET_WORDS: &[&str] = &["pat", "pwd", "pass", "dsn", "private"];

impl Config {
    /// Returns every key with its value in effect, in the order of the documentation. Extension settings whose name
    /// suggests a secret are hidden, and so are user names and passwords in addresses.
    pub fn rows(&self) -> Vec<ConfigRow> {
        let mut rows = self.settings.rows();
        rows.extend(ConfigFile::KEYS.iter().flat_map(|key| self.table_rows(key)));
        rows.into_iter().map(|row| ConfigRow { value: row.value.map(without_secrets), ..row }).collect()
    }

    /// Returns the rows of a table, or of a list that combines the user's and the project's items.
    fn table_rows(&self, key: &ConfigKey) -> Vec<ConfigRow> {
        match key.path {
            "compaction" => self.compaction.rows(),
            "extensions" => self.extension_places(key),
            "extension.NAME" => self.extension_settings(key),
            "hooks" => self.hook_rows.clone(),
            "tools" => self.tools.rows(),
            "tui" => self.tui.rows(),
            "grant.NAME" => self.grant_rows(),
            // Other settings already have a row.
            _ => Vec::new(),
        }
    }

    fn extension_places(&self, key: &ConfigKey) -> Vec<ConfigRow> {
        let value =
            |place: &crate::ExtensionPlace| (place.path.display().to_string().into(), place.origin.clone());
        match self.extensions.is_empty() {
            true => vec![ConfigRow::new(key, key.path, None)],
            false => self
                .extensions
                .iter()
                .map(|place| ConfigRow::new(key, key.path, Some(value(place))))
                .collect(),
        }
    }

    fn extension_settings(&self, key: &ConfigKey) -> Vec<ConfigRow> {
        let row = |name: &str, own: &str, value: &SourcedValue<toml::Value>, only_projects: bool| {
            let shown = if is_secret(own) { HIDDEN.into() } else { toml_to_json(&value.value) };
            let path = format!("extension.{}.{}", quoted_key(name), quoted_key(own));
            ConfigRow { only_projects, ..ConfigRow::new(key, path, Some((shown, value.origin.clone()))) }
        };
        let tables = self.extension.iter().flat_map(|(name, settings)| {
            let users = settings.user.iter().map(move |(own, value)| row(name, own, value, false));
            users.chain(settings.project_only().map(move |(own, value)| row(name, own, value, true)))
        });
        tables.collect()
    }

    fn grant_rows(&self) -> Vec<ConfigRow> {
        let rows = self.grant.iter().flat_map(|(name, granted)| {
            let set = granted.rows().into_iter().filter(|row| row.value.is_some());
            set.map(|row| ConfigRow { key: row.key.replacen("NAME", &quoted_key(name), 1), ..row })
        });
        rows.collect()
    }
}

/// Replaces values under names that suggest a secret, and passwords in addresses.
fn without_secrets(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let shown = map.into_iter().map(|(key, value)| {
                let value = if is_secret(&key) { HIDDEN.into() } else { without_secrets(value) };
                (key, value)
            });
            shown.collect()
        }
        Value::Array(values) => values.into_iter().map(without_secrets).collect(),
        Value::String(text) => without_credentials(&text).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn is_secret(name: &str) -> bool {
    let mut words = String::new();
    for char in name.chars() {
        // Splits `dbPass` into two words.
        if char.is_ascii_uppercase() {
            words.push('_');
        }
        words.push(char.to_ascii_lowercase());
    }
    let lower = name.to_ascii_lowercase();
    SECRETS.iter().any(|secret| lower.contains(secret))
        || SECRET_WORDS.contains(&lower.as_str())
        || words.split(|char: char| !char.is_ascii_alphanumeric()).any(|word| SECRET_WORDS.contains(&word))
}

/// Removes user name and password from an address. Other texts are unchanged.
fn without_credentials(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A `/` in a password would end the host too early; the apparent port is then not a number.
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let is_cut = port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit()));
    let searched = if is_cut { rest } else { authority };
    match searched.rfind('@') {
        Some(at) => format!("{scheme}://{HIDDEN}{}", rest.get(at..).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::ParsedConfigFile;
    use crate::keys::{ConfigLayer, LayerSource};
    use crate::layers::ConfigFiles;
    use crate::{Home, Project, ProjectTrust};

    fn rows(text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), text).unwrap();
        let project = Project { dir: dir.path().join("w"), trust: ProjectTrust::Untrusted };
        let files = ConfigFiles::read(&Home::at(dir.path()), &project).unwrap();
        let flags = ConfigFile { model: Some("f".into()), ..ConfigFile::default() };
        let flags = ConfigLayer::new(LayerSource::Flags, flags);
        let env = ConfigLayer::from_env(|name| (name == "HAFT_MAX_STEPS").then(|| "3".into())).unwrap();
        let config = files.merge_unchecked(flags, env, &|_, _| None);
        let root = dir.path().display().to_string();
        let shown = |row: ConfigRow| {
            let value = row.value.map_or_else(|| "-".into(), |value| value.to_string());
            format!("{} = {value} # {}", row.key, row.origin).replace(&root, "")
        };
        config.rows().into_iter().map(shown).collect()
    }

    #[test]
    fn rows_show_origins_and_hide_secrets() {
        let text = "extensions = ['a', 'b']\nthinking = 'high'\n[grant.x]\non_timeout = 'block'\nenv = ['A']\n\
                    sandbox = 'strict'\nnet = 'all'\nwrite = ['$DATA/x']\n\
                    [hooks.defaults]\ninterceptor_timeout_ms = 9\n\
                    [hooks.processes.gate]\nenabled = true\ncommand = ['g']\nenv = {A = 'a', MY_KEY = 'sk-1'}\n\
                    intercept = ['approve_tool']\n\
                    [extension.x]\napi_token = 'sk-1'\nplaces = [{name = 'n', password = 'p'}]\n\
                    [compaction]\nkeep = 9000\n";
        insta::assert_snapshot!(rows(text).join("\n"), @r#"
        provider = - # default
        model = "f" # --model
        base_url = - # default
        thinking = "high" # /config.toml:2
        fallback = - # default
        max_steps = 3 # HAFT_MAX_STEPS
        context_files = true # default
        compaction.auto = true # default
        compaction.reserve = - # default
        compaction.keep = 9000 # /config.toml:20
        extensions = "/a" # /config.toml:1
        extensions = "/b" # /config.toml:1
        extension.x.api_token = "(hidden)" # /config.toml:17
        extension.x.places = [{"name":"n","password":"(hidden)"}] # /config.toml:18
        hooks.defaults.interceptor_timeout_ms = 9 # /config.toml:10
        hooks.processes.gate.enabled = true # /config.toml:12
        hooks.processes.gate.command = ["g"] # /config.toml:13
        hooks.processes.gate.env = {"A":"(hidden)","MY_KEY":"(hidden)"} # /config.toml:14
        hooks.processes.gate.intercept = ["approve_tool"] # /config.toml:15
        tools.sandbox = "workspace" # default
        tools.approve = [] # default
        tools.network = false # default
        tools.write = [] # default
        tools.hide = [] # default
        tools.env = [] # default
        tui.theme = "auto" # default
        tui.screen = "alternate" # default
        tui.mouse = "on" # default
        tui.images = "auto" # default
        tui.thinking = "folded" # default
        tui.bell = "off" # default
        tui.notify = "on" # default
        grant.x.env = ["A"] # /config.toml:5
        grant.x.on_timeout = "block" # /config.toml:4
        grant.x.sandbox = "strict" # /config.toml:6
        grant.x.write = ["$DATA/x"] # /config.toml:8
        grant.x.net = "all" # /config.toml:7
        "#);
    }

    #[test]
    fn hides_passwords_in_addresses_and_other_secrets() {
        let text = "base_url = 'https://me:hunter2@llm.corp/v1'\n[extension.db]\n\
                    url = 'postgres://u:p@ss/hunter2@h/db?a=b'\nurls = ['http://hunter2@h:1']\n\
                    pat = 'hunter2'\npwd = 'hunter2'\ncookie = 'hunter2'\nwebhook = 'hunter2'\n\
                    dbPass = 'hunter2'\ndsn = 'hunter2'\nbearer = 'hunter2'\nprivate-part = 'hunter2'\n\
                    path = '/x'\npattern = 'a@b'\nat = 'http://[::1]:80/@x'\ncompass = 'n'\n";
        let rows = rows(text).join("\n");
        assert!(!rows.contains("hunter2") && !rows.contains("p@ss"), "{rows}");
        for shown in [
            r#"base_url = "https://(hidden)@llm.corp/v1""#,
            r#"extension.db.url = "postgres://(hidden)@h/db?a=b""#,
            r#"extension.db.urls = ["http://(hidden)@h:1"]"#,
            r#"extension.db.path = "/x""#,
            r#"extension.db.pattern = "a@b""#,
            r#"extension.db.at = "http://[::1]:80/@x""#,
            r#"extension.db.compass = "n""#,
        ] {
            assert!(rows.contains(shown), "{shown} is missing in {rows}");
        }
    }

    #[test]
    fn every_key_has_a_row() {
        let text = "extensions = ['a']\n[extension.x]\na = 1\n[grant.x]\non_timeout = 'allow'\n\
                    [hooks]\nenabled = true\n";
        let rows = rows(text);
        for key in ConfigFile::KEYS {
            let name = key.path.split('.').next().unwrap();
            assert!(rows.iter().any(|row| row.split(['.', ' ']).next() == Some(name)), "{name} has no row");
        }
        assert!(ParsedConfigFile::parse(Path::new("c"), text).is_ok());
    }
}
