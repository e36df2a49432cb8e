//! `[hooks]` as rows of a table: what is set, each with its origin.

use serde_json::Value;

use crate::file::ReadFile;
use crate::keys::{HookDefaults, HookProcess, Hooks, Key, TableKind, ValueKind};
use crate::rows::{HIDDEN, Row, written};

/// What a file sets.
pub(crate) fn rows(file: &ReadFile) -> Vec<Row> {
    let Ok(hooks) = serde_json::to_value(&file.content.hooks) else { return Vec::new() };
    let mut rows = Vec::new();
    let mut add = |keys: &'static [Key], table: &str, shown: &str, value: Option<&Value>| {
        for (own, value) in value.and_then(Value::as_object).into_iter().flatten() {
            let known = keys.iter().find(|key| key.path.rsplit('.').next() == Some(own));
            // A table has rows of its own.
            let known =
                known.filter(|known| known.kind != ValueKind::Table(TableKind::Keys) && !value.is_null());
            let Some(known) = known else { continue };
            let origin = file.source.origin(&format!("{table}.{own}"));
            // What hooks are handed this way are secrets more often than not.
            let value = if own == "env" { hidden(value) } else { value.clone() };
            rows.push(Row::new(known, format!("{shown}.{own}"), Some((value, origin))));
        }
    };
    add(Hooks::KEYS, "hooks", "hooks", Some(&hooks));
    add(HookDefaults::KEYS, "hooks.defaults", "hooks.defaults", hooks.get("defaults"));
    for (name, process) in hooks.get("processes").and_then(Value::as_object).into_iter().flatten() {
        let [table, shown] = [name.as_str(), &written(name)].map(|name| format!("hooks.processes.{name}"));
        add(HookProcess::KEYS, &table, &shown, Some(process));
    }
    rows
}

/// The names of variables, without their values.
fn hidden(env: &Value) -> Value {
    let names = env.as_object().into_iter().flat_map(|env| env.keys().cloned());
    names.map(|name| (name, Value::from(HIDDEN))).collect()
}
