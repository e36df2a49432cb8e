//! The settings as a table: what `haft config show` prints.

use serde_json::Value;

use crate::keys::{ConfigFile, Key};
use crate::layers::{Config, json};
use crate::settings::{Origin, Sourced};

/// What stands for a value that may be a secret.
const HIDDEN: &str = "(hidden)";

/// Words in the names of settings whose values are not shown.
const SECRETS: &[&str] = &["key", "token", "secret", "password", "passphrase", "credential", "auth"];

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The key, with its tables.
    pub key: String,
    /// What holds, as JSON; none where haft decides itself, as [`default`](Self::default) says.
    pub value: Option<Value>,
    /// What holds where nobody sets it, in words.
    pub default: &'static str,
    /// Where the value is set.
    pub origin: Origin,
}

impl Config {
    /// Every key with what holds, in the order of the documentation. What an extension is handed under a name that
    /// sounds like a secret is not shown.
    pub fn rows(&self) -> Vec<Row> {
        ConfigFile::KEYS.iter().flat_map(|key| self.rows_of(key)).collect()
    }

    fn rows_of(&self, key: &'static Key) -> Vec<Row> {
        let settings = &self.settings;
        match key.path {
            "provider" => vec![optional(key, settings.provider.as_ref(), |text| text.as_str().into())],
            "model" => vec![optional(key, settings.model.as_ref(), |text| text.as_str().into())],
            "base_url" => vec![optional(key, settings.base_url.as_ref(), |text| text.as_str().into())],
            "thinking" => {
                vec![set(key.path, key, &settings.thinking, settings.thinking.value.to_string().into())]
            }
            "fallback" => vec![optional(key, settings.fallback.as_ref(), |models| models.clone().into())],
            "max_steps" => vec![optional(key, settings.max_steps.as_ref(), |steps| steps.get().into())],
            "lazy_start" => vec![set(key.path, key, &settings.lazy_start, settings.lazy_start.value.into())],
            "context_files" => {
                vec![set(key.path, key, &settings.context_files, settings.context_files.value.into())]
            }
            "extensions" => self.extension_places(key),
            "extension.NAME" => self.extension_settings(key),
            "grant.NAME" => self.grants(key),
            // A test sees to it that there is no other.
            _ => Vec::new(),
        }
    }

    fn extension_places(&self, key: &'static Key) -> Vec<Row> {
        let row = |place: &crate::ExtensionPlace| Row {
            key: key.path.into(),
            value: Some(place.path.display().to_string().into()),
            default: key.default,
            origin: place.origin.clone(),
        };
        match self.extensions.is_empty() {
            true => vec![unset(key)],
            false => self.extensions.iter().map(row).collect(),
        }
    }

    fn extension_settings(&self, key: &'static Key) -> Vec<Row> {
        let tables = self.extension.iter().flat_map(|(name, table)| {
            table.iter().map(move |(own, value)| {
                let shown = if is_secret(own) { HIDDEN.into() } else { without_secrets(json(&value.value)) };
                set(&format!("extension.{name}.{own}"), key, value, shown)
            })
        });
        tables.collect()
    }

    fn grants(&self, key: &'static Key) -> Vec<Row> {
        let mut rows = Vec::new();
        for (name, grant) in &self.grant {
            if !grant.value.env.is_empty() {
                rows.push(set(&format!("grant.{name}.env"), key, grant, grant.value.env.clone().into()));
            }
            if let Some(on_timeout) = grant.value.on_timeout {
                rows.push(set(&format!("grant.{name}.on_timeout"), key, grant, on_timeout.name().into()));
            }
        }
        rows
    }
}

fn optional<T>(key: &'static Key, set: Option<&Sourced<T>>, value: impl Fn(&T) -> Value) -> Row {
    match set {
        None => unset(key),
        Some(set) => self::set(key.path, key, set, value(&set.value)),
    }
}

fn unset(key: &'static Key) -> Row {
    Row { key: key.path.into(), value: None, default: key.default, origin: Origin::Default }
}

fn set<T>(path: &str, key: &'static Key, set: &Sourced<T>, value: Value) -> Row {
    Row { key: path.into(), value: Some(value), default: key.default, origin: set.origin.clone() }
}

/// The value without what lies under a name that sounds like a secret.
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
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|secret| name.contains(secret))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::ReadFile;
    use crate::layers::Files;
    use crate::settings::{Layer, Place};
    use crate::{Home, Project, Trust};

    fn rows(text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), text).unwrap();
        let project = Project { dir: dir.path().join("w"), trust: Trust::Untrusted };
        let files = Files::read(&Home::at(dir.path()), &project).unwrap();
        let flags = Layer { model: Some("f".into()), ..Layer::empty(Place::Flags) };
        let env = Layer::from_env(|name| (name == "HAFT_MAX_STEPS").then(|| "3".into())).unwrap();
        let config = files.below_unchecked(flags, env);
        let root = dir.path().display().to_string();
        let shown = |row: Row| {
            let value = row.value.map_or_else(|| "-".into(), |value| value.to_string());
            format!("{} = {value} # {}", row.key, row.origin).replace(&root, "")
        };
        config.rows().into_iter().map(shown).collect()
    }

    #[test]
    fn every_value_stands_beside_its_origin_and_secrets_are_not_shown() {
        let text = "extensions = ['a', 'b']\nthinking = 'high'\n[grant.x]\non_timeout = 'block'\nenv = ['A']\n\
                    [extension.x]\napi_token = 'sk-1'\nplaces = [{name = 'n', password = 'p'}]\n";
        insta::assert_snapshot!(rows(text).join("\n"), @r#"
        provider = - # default
        model = "f" # --model
        base_url = - # default
        thinking = "high" # /config.toml:2
        fallback = - # default
        max_steps = 3 # HAFT_MAX_STEPS
        lazy_start = true # default
        context_files = true # default
        extensions = "/a" # /config.toml:1
        extensions = "/b" # /config.toml:1
        extension.x.api_token = "(hidden)" # /config.toml:7
        extension.x.places = [{"name":"n","password":"(hidden)"}] # /config.toml:8
        grant.x.env = ["A"] # /config.toml:3
        grant.x.on_timeout = "block" # /config.toml:3
        "#);
    }

    #[test]
    fn every_key_has_a_row() {
        let text = "extensions = ['a']\n[extension.x]\na = 1\n[grant.x]\non_timeout = 'allow'\n";
        let rows = rows(text);
        for key in ConfigFile::KEYS {
            let name = key.path.split('.').next().unwrap();
            assert!(rows.iter().any(|row| row.split(['.', ' ']).next() == Some(name)), "{name} has no row");
        }
        assert!(ReadFile::parse(Path::new("c"), text).is_ok());
    }
}
