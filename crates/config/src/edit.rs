//! Edits of the user's `config.toml` that preserve all other content.

pub(crate) mod hooks;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::file::{ConfigError, MAX_FILE, ParsedConfigFile, read_text};
use crate::keys::{ConfigKey, ValueKind, all_keys};
use crate::write;

pub use hooks::{AddHooksError, add_hooks};

/// A `config.toml` could not be changed; the file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A setting could not be written; `config.toml` is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetKeyError {
    /// The file has a mistake, or the value is not valid for the key.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file cannot be read or written.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The key does not exist, or does not have a single value.
    #[error("cannot set `{key}` here; edit {} (docs/config.md lists all keys)", path.display())]
    Key {
        /// The key as given.
        key: String,
        /// The file.
        path: PathBuf,
    },
    /// The value is not valid for the key.
    #[error("`{key}` must be {takes}")]
    Value {
        /// The key.
        key: String,
        /// The valid values.
        takes: String,
    },
}

/// Sets a key of a `config.toml`, which is created if necessary. Comments and the order of the file are preserved.
/// Items of a list are separated by commas; `none` is an empty list.
///
/// # Errors
/// [`SetKeyError`]; nothing is written then.
pub fn set_key(path: &Path, key: &str, value: &str) -> Result<(), SetKeyError> {
    let is_named = |known: &&ConfigKey| (known.path == key || known.former == Some(key)) && can_be_set(known);
    let known = all_keys().find(is_named);
    let known = known.ok_or_else(|| SetKeyError::Key { key: key.to_owned(), path: path.into() })?;
    let value = known.kind.read(value.trim()).as_ref().and_then(toml_edit_value);
    let takes = || known.kind.expected_text();
    let value = value.ok_or_else(|| SetKeyError::Value { key: known.path.to_owned(), takes: takes() })?;
    edit_file(path, |_, document| Ok(set_value(path, document, known, value)?))
}

/// True if a key has a single value that fits in one line.
fn can_be_set(key: &ConfigKey) -> bool {
    !key.path.contains("NAME") && !key.path.starts_with("hooks.") && !matches!(key.kind, ValueKind::Table(_))
}

/// Changes a file atomically, with one writer at a time.
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
    // A file that is a symbolic link stays one.
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
    // A file that haft could not read again is not written.
    ParsedConfigFile::parse(path, &text)?;
    Ok(text)
}

/// Returns the error for a file that prevents the change.
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
    // Only one place of a key that moved to another table may be set.
    if let Some((table, former)) = key.former.and_then(|former| former.split_once('.'))
        && let Some(table) = document.get_mut(table).and_then(Item::as_table_like_mut)
    {
        table.remove(former);
    }
    let mut place: &mut dyn TableLike = document.as_table_mut();
    for above in tables.split('.').filter(|above| !above.is_empty()) {
        place = table_entry(place, above)
            .ok_or_else(|| parse_error(path, format!("`{above}` must be a table")))?;
    }
    // Uses the former name of the key if the file does.
    let name = key.former.filter(|former| place.contains_key(former)).unwrap_or(name);
    match place.get_mut(name).and_then(Item::as_value_mut) {
        Some(before) => {
            // Comments after the value are preserved.
            *value.decor_mut() = before.decor().clone();
            *before = value;
        }
        None => _ = place.insert(name, Item::Value(value)),
    }
    Ok(())
}

/// Converts a value returned by [`ValueKind::read`] for writing.
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
    fn set_key_preserves_other_content() {
        check("", "tui.screen", "linear", "[tui]\nscreen = \"linear\"\n");
        let text = "# mine\nmodel = 'm' # this one\n\n[tui]\nmouse = \"on\" # it scrolls\n";
        check(text, "tui.mouse", "off", &text.replace("on\"", "off\""));
        check(text, "model", "n", &text.replace("'m'", "\"n\""));
        let more = format!("{text}bell = \"on\"\n");
        check(text, "tui.bell", "on", &more);
        check("reasoning = 'low'\n", "thinking", "high", "reasoning = \"high\"\n");
        check("context_files = true\n", "context_files", "false", "context_files = false\n");
        check("tui.bell = 'on'\n", "tui.mouse", "off", "tui.bell = 'on'\ntui.mouse = \"off\"\n");
        check("", "max_steps", "7", "max_steps = 7\n");
    }

    #[test]
    fn moved_key_replaces_former_one() {
        let expect = "[tui]\nbell = 'on'\n\n[tools]\napprove = [\"bash\", \"edit\"]\n";
        for key in ["tools.approve", "tui.approve"] {
            check("[tui]\nbell = 'on'\napprove = []\n", key, "bash, edit", expect);
        }
    }

    #[test]
    fn every_tui_key_can_be_set() {
        assert!(crate::Tui::KEYS.iter().all(can_be_set));
    }

    #[test]
    fn set_key_rejects_invalid_input_without_writing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let set_error = |key: &str, value: &str| {
            let message = set_key(&path, key, value).unwrap_err().to_string();
            assert!(!path.exists(), "{message}");
            message.replace(&path.display().to_string(), "FILE")
        };
        assert_eq!(set_error("tui.screen", "big"), "`tui.screen` must be `alternate`, `inline` or `linear`");
        assert_eq!(set_error("max_steps", "0"), "`max_steps` must be a whole number of at least 1");
        assert_eq!(set_error("model", " "), "`model` must be an id");
        assert_eq!(set_error("tui.mouse", "yes"), "`tui.mouse` must be `on` or `off`");
        for key in ["grant.x.net", "hooks.enabled", "tui", "zzz", "grant.NAME"] {
            assert_eq!(
                set_error(key, "x"),
                format!("cannot set `{key}` here; edit FILE (docs/config.md lists all keys)")
            );
        }
        fs::write(&path, "modle = 1\n").unwrap();
        assert!(set_key(&path, "tui.mouse", "on").unwrap_err().to_string().contains("unknown key `modle`"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "modle = 1\n");
    }
}
