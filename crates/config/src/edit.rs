//! Writing into the user's `config.toml`, with everything else that stands there left as it is.

pub(crate) mod hooks;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::file::{ConfigError, MAX_FILE, ParsedConfigFile, read_text};
use crate::keys::{ConfigKey, ValueKind, all_keys};
use crate::write;

pub use hooks::{AddHooksError, add_hooks};

/// A `config.toml` could not be changed; it is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A setting could not be written; `config.toml` is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetKeyError {
    /// The file has a mistake, or the key does not take the value.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file cannot be read or written.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// There is no such setting, or it is more than one value.
    #[error("`{key}` cannot be set this way; edit {}, docs/config.md has all keys", path.display())]
    Key {
        /// The key as it was given.
        key: String,
        /// The file.
        path: PathBuf,
    },
    /// The value is not one that the key takes.
    #[error("`{key}` must be {takes}")]
    Value {
        /// The key.
        key: String,
        /// The values that the key takes.
        takes: String,
    },
}

/// Sets a key of a `config.toml`, which is made where there is none; comments and the order of what is there stay. The
/// words of a list are separated by commas, and `none` is an empty one.
///
/// # Errors
/// [`SetKeyError`]; nothing is written then.
pub fn set_key(path: &Path, key: &str, value: &str) -> Result<(), SetKeyError> {
    let known = all_keys().find(|known| known.path == key && can_be_set(known));
    let known = known.ok_or_else(|| SetKeyError::Key { key: key.to_owned(), path: path.into() })?;
    let value = known.kind.read(value.trim()).as_ref().and_then(toml_edit_value);
    let value =
        value.ok_or_else(|| SetKeyError::Value { key: key.to_owned(), takes: known.kind.expected_text() })?;
    edit_file(path, |_, document| Ok(set_value(path, document, known, value)?))
}

/// True if a key has one value, which a person may write in a line.
fn can_be_set(key: &ConfigKey) -> bool {
    !key.path.contains("NAME") && !key.path.starts_with("hooks.") && !matches!(key.kind, ValueKind::Table(_))
}

/// Changes a file; one writer at a time, and whole or not at all.
pub(crate) fn edit_file<E: From<EditError> + From<ConfigError>>(
    path: &Path,
    change: impl FnOnce(&ParsedConfigFile, &mut DocumentMut) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source| EditError::Write { path: path.into(), source };
    let dir = path.parent().unwrap_or(Path::new("."));
    let _lock = write::lock(dir, "config.lock").map_err(failed)?;
    let text = match read_text(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|source| EditError::Read { path: path.into(), source })?,
    };
    let text = edited_text(path, &text, change)?;
    // Who keeps the file elsewhere, behind a link, keeps the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    let permissions = fs::metadata(&target).ok().map(|metadata| metadata.permissions());
    Ok(write::replace(&target, &text, permissions).map_err(failed)?)
}

pub(crate) fn edited_text<E: From<ConfigError>>(
    path: &Path,
    text: &str,
    change: impl FnOnce(&ParsedConfigFile, &mut DocumentMut) -> Result<(), E>,
) -> Result<String, E> {
    let file = ParsedConfigFile::parse(path, text)?;
    let mut document: DocumentMut = text.parse().map_err(|error| parse_error(path, format!("{error}")))?;
    change(&file, &mut document)?;
    let text = document.to_string().trim_start_matches('\n').to_owned();
    // What haft could not read again is not written.
    ParsedConfigFile::parse(path, &text)?;
    Ok(text)
}

/// The error for what stands in the way of a change.
pub(crate) fn parse_error(path: &Path, detail: String) -> ConfigError {
    ConfigError::Parse { path: path.into(), detail }
}

fn set_value(
    path: &Path,
    document: &mut DocumentMut,
    key: &ConfigKey,
    mut value: Value,
) -> Result<(), ConfigError> {
    let (tables, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
    let mut place: &mut dyn TableLike = document.as_table_mut();
    for above in tables.split('.').filter(|above| !above.is_empty()) {
        place = table_entry(place, above)
            .ok_or_else(|| parse_error(path, format!("`{above}` must be a table")))?;
    }
    // Under the name that it has there.
    let name = key.former.filter(|former| place.contains_key(former)).unwrap_or(name);
    match place.get_mut(name).and_then(Item::as_value_mut) {
        Some(before) => {
            // What stands behind it in its line stays.
            *value.decor_mut() = before.decor().clone();
            *before = value;
        }
        None => _ = place.insert(name, Item::Value(value)),
    }
    Ok(())
}

/// A value that [`ValueKind::read`] returned, to be written.
fn toml_edit_value(value: &toml::Value) -> Option<Value> {
    Some(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Boolean(yes) => (*yes).into(),
        toml::Value::Array(values) => values.iter().map(toml_edit_value).collect::<Option<Array>>()?.into(),
        toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Table(_) => return None,
    })
}

pub(crate) fn table_entry<'a>(above: &'a mut dyn TableLike, name: &str) -> Option<&'a mut dyn TableLike> {
    let made = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    above.entry(name).or_insert_with(made).as_table_like_mut()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, key: &str, value: &str, expect: &str) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        if !text.is_empty() {
            fs::write(&path, text).unwrap();
        }
        set_key(&path, key, value).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expect);
    }

    #[test]
    fn a_key_is_set_and_the_rest_stays() {
        check("", "tui.screen", "linear", "[tui]\nscreen = \"linear\"\n");
        let text = "# mine\nmodel = 'm' # this one\n\n[tui]\nmouse = \"on\" # it scrolls\n";
        check(text, "tui.mouse", "off", &text.replace("on\"", "off\""));
        check(text, "model", "n", &text.replace("'m'", "\"n\""));
        let more = format!("{text}approve = [\"bash\", \"edit\"]\n");
        check(text, "tui.approve", "bash, edit", &more);
        check("reasoning = 'low'\n", "thinking", "high", "reasoning = \"high\"\n");
        check("context_files = true\n", "context_files", "false", "context_files = false\n");
        check("tui.bell = 'on'\n", "tui.approve", "none", "tui.bell = 'on'\ntui.approve = []\n");
        check("", "max_steps", "7", "max_steps = 7\n");
    }

    #[test]
    fn every_setting_of_the_interface_can_be_set() {
        assert!(crate::Tui::KEYS.iter().all(can_be_set));
    }

    #[test]
    fn what_cannot_be_set_is_said_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let told = |key: &str, value: &str| {
            let told = set_key(&path, key, value).unwrap_err().to_string();
            assert!(!path.exists(), "{told}");
            told.replace(&path.display().to_string(), "FILE")
        };
        assert_eq!(told("tui.screen", "big"), "`tui.screen` must be `alternate`, `inline` or `linear`");
        assert_eq!(told("max_steps", "0"), "`max_steps` must be a whole number of at least 1");
        assert_eq!(told("model", " "), "`model` must be an id");
        assert_eq!(told("tui.mouse", "yes"), "`tui.mouse` must be `on` or `off`");
        for key in ["grant.x.net", "hooks.enabled", "tui", "zzz", "grant.NAME"] {
            assert_eq!(
                told(key, "x"),
                format!("`{key}` cannot be set this way; edit FILE, docs/config.md has all keys")
            );
        }
        fs::write(&path, "modle = 1\n").unwrap();
        assert!(set_key(&path, "tui.mouse", "on").unwrap_err().to_string().contains("unknown key `modle`"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "modle = 1\n");
    }
}
