//! `[hooks]` as rows of a table: what is set, each with its origin.

use serde_json::Value;

use crate::file::ReadFile;
use crate::keys::{HookDefaults, HookProcess, Hooks, Key};
use crate::rows::Row;

/// What a file sets.
pub(crate) fn rows(file: &ReadFile) -> Vec<Row> {
    let Ok(hooks) = serde_json::to_value(&file.content.hooks) else { return Vec::new() };
    let mut rows = Vec::new();
    let mut add = |keys: &'static [Key], table: &str, value: Option<&Value>| {
        for (own, value) in value.and_then(Value::as_object).into_iter().flatten() {
            let known = keys.iter().find(|key| key.path.rsplit('.').next() == Some(own));
            // A table has rows of its own.
            let known = known.filter(|known| !known.takes.ends_with(", below") && !value.is_null());
            let Some(known) = known else { continue };
            let key = format!("{table}.{own}");
            let origin = file.source.origin(&key);
            rows.push(Row {
                key,
                value: Some(value.clone()),
                default: known.default,
                origin,
                only_projects: false,
            });
        }
    };
    add(Hooks::KEYS, "hooks", Some(&hooks));
    add(HookDefaults::KEYS, "hooks.defaults", hooks.get("defaults"));
    for (name, process) in hooks.get("processes").and_then(Value::as_object).into_iter().flatten() {
        add(HookProcess::KEYS, &format!("hooks.processes.{name}"), Some(process));
    }
    rows
}
