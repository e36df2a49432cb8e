//! Hooks of an unmodified PicoClaw `config.json`.

use std::iter;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::file::{ConfigError, MAX_FILE, kind_of, read_text};
use crate::hooks::{HookTimeouts, ProcessHook};
use crate::keys::{ConfigKey, HookDefaults, HookProcess, Hooks, ToolNames, ValueKind};
use crate::origin::{Owner, SettingOrigin};

/// The hooks of a PicoClaw `config.json`. The rest of the file is ignored.
#[derive(Debug, Clone, PartialEq)]
pub struct HooksFile {
    path: PathBuf,
    content: Hooks,
    hooks: Vec<ProcessHook>,
    unknown_keys: Vec<String>,
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
    /// [`ConfigError`] when the text has no `hooks`, or a mistake in them. A misspelled key is a mistake, because it
    /// could turn off a gate.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let wrong = |detail: String| ConfigError::Parse { path: path.into(), detail };
        let all = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| wrong(format!("not JSON: {error}")))?;
        let hooks = keep_known_fields(all, &["hooks"], &mut |_, _| ());
        let hooks = hooks.get("hooks").ok_or_else(|| wrong("the object `hooks` is missing".to_owned()))?;
        let mistake = |key: String, detail| ConfigError::Hook { path: path.into(), line: None, key, detail };
        let (hooks, unknown) = normalize_keys(hooks);
        if let Some((key, meant)) = unknown.iter().find_map(UnknownKey::intended_key) {
            return Err(mistake(key.to_owned(), format!("unknown key; did you mean `{meant}`?")));
        }
        let mut content: Hooks = serde_path_to_error::deserialize(hooks).map_err(|error| {
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
        let mut unknown_keys: Vec<String> = unknown.into_iter().map(|unknown| unknown.key).collect();
        unknown_keys.sort();
        Ok(Self { path: path.into(), content, hooks, unknown_keys })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of `hooks`.
    pub fn content(&self) -> &Hooks {
        &self.content
    }

    /// The keys inside `hooks` that neither PicoClaw nor haft has; haft ignores them.
    pub fn unknown_keys(&self) -> &[String] {
        &self.unknown_keys
    }

    /// The enabled hooks.
    pub fn hooks(&self) -> &[ProcessHook] {
        &self.hooks
    }
}

/// The maximum number of typing mistakes in a key that counts as misspelled.
const MAX_TYPOS: usize = 2;

/// A key inside `hooks` that is not known.
struct UnknownKey {
    /// The key, including its tables.
    key: String,
    /// The known key that was probably meant.
    meant: Option<&'static str>,
}

impl UnknownKey {
    /// Creates a key beside these written keys. A key in another case, or with few typing mistakes and in place of the
    /// known key, is misspelled.
    fn new(table: &str, name: &str, known: &[&'static str], written: &Map<String, Value>) -> Self {
        let folded = name.to_ascii_lowercase();
        let typos = |known: &&'static str| (*known, strsim::osa_distance(&folded, known));
        let nearest = known.iter().map(typos).min_by_key(|(_, typos)| *typos);
        let is_meant = |(known, typos): &(&str, usize)| {
            *typos == 0 || *typos <= MAX_TYPOS && !written.contains_key(*known)
        };
        Self { key: format!("{table}.{name}"), meant: nearest.filter(is_meant).map(|(known, _)| known) }
    }

    /// Returns the key and the known key that was meant.
    fn intended_key(&self) -> Option<(&str, &'static str)> {
        self.meant.map(|meant| (&*self.key, meant))
    }
}

/// Removes unknown keys, which it returns, and changes known ones to haft's spelling, ignoring case.
fn normalize_keys(hooks: &Value) -> (Value, Vec<UnknownKey>) {
    let mut unknown = Vec::new();
    let mut keep = |value: Value, table: &str, names: &[&'static str]| {
        keep_known_fields(value, names, &mut |name, written| {
            unknown.push(UnknownKey::new(table, name, names, written));
        })
    };
    let mut hooks = keep(hooks.clone(), "hooks", &key_names(Hooks::KEYS, 1));
    let Value::Object(tables) = &mut hooks else { return (hooks, unknown) };
    for (table, value) in tables.iter_mut() {
        match (table.as_str(), value) {
            ("defaults", value) => {
                *value = keep(value.take(), "hooks.defaults", &key_names(HookDefaults::KEYS, 2));
            }
            ("builtins", Value::Object(all)) => all.values_mut().for_each(|fields| {
                *fields = keep_known_fields(fields.take(), &["enabled"], &mut |_, _| ());
            }),
            ("processes", Value::Object(all)) => {
                let names = key_names(HookProcess::KEYS, 3);
                for (name, fields) in all.iter_mut() {
                    *fields = keep(fields.take(), &format!("hooks.processes.{name}"), &names);
                }
            }
            _ => {}
        }
    }
    (hooks, unknown)
}

fn key_names(keys: &'static [ConfigKey], depth: usize) -> Vec<&'static str> {
    keys.iter().filter_map(|key| key.path.split('.').nth(depth)).collect()
}

/// Keeps the fields of an object that have one of these names and are not null. Calls `report` with the name of each
/// other field and the kept ones. Values that are not objects are unchanged.
fn keep_known_fields(
    value: Value,
    names: &[&str],
    report: &mut dyn FnMut(&str, &Map<String, Value>),
) -> Value {
    let Value::Object(mut fields) = value else { return value };
    let mut known = Map::new();
    for name in names {
        let written = fields.contains_key(*name).then(|| (*name).to_owned());
        let written = written.or_else(|| fields.keys().find(|key| key.eq_ignore_ascii_case(name)).cloned());
        let value = written.and_then(|key| fields.remove(&key)).filter(|value| !value.is_null());
        known.extend(value.map(|value| ((*name).to_owned(), value)));
    }
    fields.keys().for_each(|name| report(name, &known));
    known.into()
}
