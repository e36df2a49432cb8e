//! A setting as a row of a table.

use serde::Serialize;
use serde_json::Value;

use super::ConfigKey;
use crate::origin::{SettingOrigin, SourcedValue};

/// The text in place of a value that may be a secret.
pub(crate) const HIDDEN: &str = "(hidden)";

/// One setting.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigRow {
    /// The key, with its tables.
    pub key: String,
    /// The value in effect, as JSON; none where haft decides itself, as [`default`](Self::default) says.
    pub value: Option<Value>,
    /// The value in effect where nothing sets it, in words.
    pub default: String,
    /// Where the value is set.
    pub origin: SettingOrigin,
    /// True if only an extension of the project is handed it, and the user's own of the same name is not.
    pub only_projects: bool,
}

impl ConfigRow {
    /// A row for a key, which is written as `path` here.
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

/// A setting in effect, as a row shows it.
pub(crate) trait RowValue {
    /// The value and its origin; none where haft decides itself.
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

/// A name as a part of a key, quoted where TOML wants that.
pub(crate) fn quoted_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}
