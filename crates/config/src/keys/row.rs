//! A setting as a row of a table.

use serde::Serialize;
use serde_json::Value;

use super::ConfigKey;
use crate::origin::{SettingOrigin, SourcedValue};

/// The replacement for a value that may be a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigRow {
    /// The key, including its tables.
    pub key: String,
    /// The value in effect, as JSON; `None` if haft decides by itself as described by [`default`](Self::default).
    pub value: Option<Value>,
    /// The default in words.
    pub default: String,
    /// The origin of the value.
    pub origin: SettingOrigin,
    /// True if only the project's extension receives the value, and the user's extension with the same name does not.
    pub only_projects: bool,
}

impl ConfigRow {
    /// Returns a row for a key, shown as `path`.
    pub(crate) fn new(
        key: &ConfigKey,
        path: impl Into<String>,
        value: Option<(Value, SettingOrigin)>,
    ) -> Self {
        let (value, origin) =
            value.map_or((None, SettingOrigin::Default), |(value, origin)| (Some(value), origin));
        Self { key: path.into(), value, default: key.default_text(), origin, only_projects: false }
    }
}

/// A setting in effect that can be shown as a row.
pub(crate) trait RowValue {
    /// Returns the value and its origin; `None` if haft decides by itself.
    fn row_value(&self) -> Option<(Value, SettingOrigin)>;
}

impl<T: Serialize> RowValue for SourcedValue<T> {
    fn row_value(&self) -> Option<(Value, SettingOrigin)> {
        Some((serde_json::to_value(&self.value).ok()?, self.origin.clone()))
    }
}

impl<T: Serialize> RowValue for Option<SourcedValue<T>> {
    fn row_value(&self) -> Option<(Value, SettingOrigin)> {
        self.as_ref()?.row_value()
    }
}

/// Returns a name as a part of a key, quoted if TOML requires it.
pub(crate) fn quoted_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}
