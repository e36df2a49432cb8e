//! Checks of a file's keys and values against the declared keys.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{ConfigError, line_of};
use crate::keys::{ConfigKey, TableKind, ValueKind, all_keys};
use crate::nearest::nearest_name;

/// The keys of a checked file.
pub(super) struct CheckedKeys {
    /// The line of each key.
    pub(super) lines: BTreeMap<String, usize>,
    /// The former names in the file, each with the present name.
    pub(super) former: Vec<[String; 2]>,
}

/// Checks a file and returns its keys.
///
/// # Errors
/// [`ConfigError`] for the first unknown key or the first invalid value.
pub(super) fn key_lines(path: &Path, text: &str, table: &DeTable<'_>) -> Result<CheckedKeys, ConfigError> {
    let keys = CheckedKeys { lines: BTreeMap::new(), former: Vec::new() };
    let mut check = KeyChecker { path, text, keys };
    check.check_table(&[], table)?;
    Ok(check.keys)
}

struct KeyChecker<'a> {
    path: &'a Path,
    text: &'a str,
    keys: CheckedKeys,
}

impl KeyChecker<'_> {
    fn check_table(&mut self, above: &[&str], table: &DeTable<'_>) -> Result<(), ConfigError> {
        for (key, value) in table {
            let (written, line) = (key.get_ref().as_ref(), line_of(self.text, key.span().start));
            let name = current_name(above, written);
            let path = [above, &[name]].concat();
            if let (["extensions"], DeValue::Table(table)) = (path.as_slice(), value.get_ref()) {
                return Err(self.former_table(table, line));
            }
            let Some(kind) = kind_of(&path) else {
                let nearest = nearest_key(above, name).into_iter().collect();
                return Err(self.unknown_key(path.join("."), line, nearest));
            };
            if name != written && table.iter().any(|(other, _)| other.get_ref() == name) {
                let detail =
                    format!("line {line}: `{written}` is the former name of `{name}`; remove one of them");
                return Err(ConfigError::Parse { path: self.path.into(), detail });
            }
            if name != written {
                self.keys.former.push([written.to_owned(), name.to_owned()]);
            }
            self.keys.lines.insert(path.join("."), line);
            self.check_value(&path, kind, value)?;
        }
        Ok(())
    }

    fn check_value(
        &mut self,
        path: &[&str],
        kind: ValueKind,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), ConfigError> {
        if let Some(at) = mismatch_position(kind, value) {
            let (key, line) = (path.join("."), line_of(self.text, at));
            return Err(ConfigError::Value {
                path: self.path.into(),
                line,
                key,
                takes: kind.expected_text(),
            });
        }
        let DeValue::Table(table) = value.get_ref() else { return Ok(()) };
        if kind == ValueKind::Table(TableKind::Keys) {
            return self.check_table(path, table);
        }
        for key in table.keys() {
            let path = [path, &[key.get_ref()]].concat().join(".");
            self.keys.lines.insert(path, line_of(self.text, key.span().start));
        }
        Ok(())
    }

    fn unknown_key(&self, key: String, line: usize, nearest: Vec<String>) -> ConfigError {
        ConfigError::UnknownKey { path: self.path.into(), line, key, nearest }
    }

    /// Returns the error for `[extensions.NAME]`, the former name of `[grant.NAME]`; `extensions` is a list of paths now.
    fn former_table(&self, table: &DeTable<'_>, line: usize) -> ConfigError {
        let first = table.iter().next().filter(|(_, value)| value.get_ref().is_table());
        let name = first.map_or("NAME", |(name, _)| name.get_ref());
        let nearest = ["grant", "extension"].map(|table| format!("{table}.{name}")).to_vec();
        self.unknown_key(format!("extensions.{name}"), line, nearest)
    }
}

/// Returns the position of the value, or of its first part, that does not have this kind.
fn mismatch_position(kind: ValueKind, value: &Spanned<DeValue<'_>>) -> Option<usize> {
    let text = |value: &&Spanned<DeValue<'_>>| !value.get_ref().is_str();
    let wrong = match (kind, value.get_ref()) {
        (ValueKind::Bool, DeValue::Boolean(_)) | (ValueKind::Text(_), DeValue::String(_)) => None,
        (ValueKind::Table(TableKind::Keys | TableKind::Any), DeValue::Table(_)) => None,
        (ValueKind::Table(TableKind::Texts), DeValue::Table(texts)) => texts.values().find(text),
        (ValueKind::List(_), DeValue::Array(texts)) => texts.iter().find(text),
        (ValueKind::Choice(words), DeValue::String(word)) if words.contains(&word.as_ref()) => None,
        (ValueKind::Int { min, max }, DeValue::Integer(number)) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            (!number.is_ok_and(|number| (min..=max).contains(&number))).then_some(value)
        }
        _ => Some(value),
    };
    wrong.map(|value| value.span().start)
}

/// Returns the kind of a key or of the table around other keys; `None` if the key does not exist.
pub(crate) fn kind_of(path: &[&str]) -> Option<ValueKind> {
    let mut known = all_keys().filter(|known| matches_prefix(known, path)).peekable();
    known.peek()?;
    let exact = known.find(|known| known.path.split('.').count() == path.len());
    Some(exact.map_or(ValueKind::Table(TableKind::Keys), |known| known.kind))
}

fn current_name<'a>(above: &[&str], name: &'a str) -> &'a str {
    let renamed = all_keys().find(|known| above.is_empty() && known.former == Some(name));
    renamed.map_or(name, |known| known.path)
}

fn matches_prefix(known: &ConfigKey, path: &[&str]) -> bool {
    let mut segments = known.path.split('.');
    path.iter().all(|name| segments.next().is_some_and(|segment| segment == "NAME" || segment == *name))
}

/// Returns the key of the same table that is most similar to a name.
fn nearest_key(above: &[&str], name: &str) -> Option<String> {
    let siblings = all_keys().filter(|known| matches_prefix(known, above));
    let best = nearest_name(name, siblings.filter_map(|known| known.path.split('.').nth(above.len())))?;
    Some([above, &[best]].concat().join("."))
}
