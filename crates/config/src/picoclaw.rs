//! Hooks of an unmodified PicoClaw `config.json`.

use std::iter;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::file::{ConfigError, MAX_FILE, kind_of, read_text};
use crate::hooks::{HookTimeouts, ProcessHook};
use crate::keys::{ConfigKey, HookDefaults, HookProcess, Hooks, ToolNames, ValueKind};
use crate::origin::{Owner, SettingOrigin};

/// The hooks of a PicoClaw `config.json`. The rest of the file, and keys unknown to PicoClaw and haft, are ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct HooksFile {
    path: PathBuf,
    content: Hooks,
    hooks: Vec<ProcessHook>,
}

impl HooksFile {
    /// Reads the file.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read, has no `hooks`, or has a mistake in them.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path, MAX_FILE);
        Self::parse(path, &text.map_err(|source| ConfigError::Read { path: path.into(), source })?)
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// [`ConfigError`] when the text has no `hooks`, or a mistake in them.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let wrong = |detail: String| ConfigError::Parse { path: path.into(), detail };
        let all = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| wrong(format!("not JSON: {error}")))?;
        let hooks = keep_known_fields(all, &["hooks"]);
        let hooks = hooks.get("hooks").ok_or_else(|| wrong("the object `hooks` is missing".to_owned()))?;
        let mistake = |key: String, detail| ConfigError::Hook { path: path.into(), line: None, key, detail };
        let mut content: Hooks =
            serde_path_to_error::deserialize(normalize_keys(hooks)).map_err(|error| {
                let names = error.path().iter().map_while(|segment| match segment {
                    Segment::Map { key } => Some(key.as_str()),
                    // An element of a list is not a key.
                    Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => None,
                });
                let path: Vec<&str> = iter::once("hooks").chain(names).collect();
                let takes = kind_of(&path).map_or_else(|| "a table".to_owned(), ValueKind::expected_text);
                mistake(path.join("."), format!("must be {takes}"))
            })?;
        for process in content.processes.values_mut() {
            process.tool_names.get_or_insert(ToolNames::PicoClaw);
        }
        let origin = |_: &str| SettingOrigin::Flag("--hooks-config");
        let hooks = content.process_hooks(Owner::User, HookTimeouts::default(), origin);
        let hooks = hooks.map_err(|wrong| mistake(wrong.key, wrong.detail))?;
        Ok(Self { path: path.into(), content, hooks })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of `hooks`.
    pub fn content(&self) -> &Hooks {
        &self.content
    }

    /// The enabled hooks.
    pub fn hooks(&self) -> &[ProcessHook] {
        &self.hooks
    }
}

/// Removes unknown keys and changes known ones to haft's spelling, ignoring case.
fn normalize_keys(hooks: &Value) -> Value {
    let mut hooks = keep_known_fields(hooks.clone(), &key_names(Hooks::KEYS, 1));
    let Value::Object(tables) = &mut hooks else { return hooks };
    for (table, value) in tables.iter_mut() {
        let inner = |value: &mut Value, names: &[&str]| *value = keep_known_fields(value.take(), names);
        match (table.as_str(), value) {
            ("defaults", value) => inner(value, &key_names(HookDefaults::KEYS, 2)),
            ("builtins", Value::Object(all)) => {
                all.values_mut().for_each(|fields| inner(fields, &["enabled"]))
            }
            ("processes", Value::Object(all)) => {
                let names = key_names(HookProcess::KEYS, 3);
                all.values_mut().for_each(|fields| inner(fields, &names));
            }
            _ => {}
        }
    }
    hooks
}

fn key_names(keys: &'static [ConfigKey], depth: usize) -> Vec<&'static str> {
    keys.iter().filter_map(|key| key.path.split('.').nth(depth)).collect()
}

/// Keeps the fields of an object that have one of these names and are not null. Other values are unchanged.
fn keep_known_fields(value: Value, names: &[&str]) -> Value {
    let Value::Object(mut fields) = value else { return value };
    let mut known = Map::new();
    for name in names {
        let written = fields.contains_key(*name).then(|| (*name).to_owned());
        let written = written.or_else(|| fields.keys().find(|key| key.eq_ignore_ascii_case(name)).cloned());
        let value = written.and_then(|key| fields.remove(&key)).filter(|value| !value.is_null());
        known.extend(value.map(|value| ((*name).to_owned(), value)));
    }
    known.into()
}
