//! `cargo xtask catalog API_JSON`: renews the list of known models.
//!
//! `API_JSON` is models.dev's `api.json`, which the maintainer downloads. `notes` of the old list are kept, because
//! models.dev does not have these facts; so are models that it does not list any more, as deprecated ones.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use xtask::repo;

const LIST: &str = "crates/providers/src/catalog/models.txt";

/// The providers of the list, with their names at models.dev.
const PROVIDERS: [(&str, &str); 7] = [
    ("anthropic", "anthropic"),
    ("deepseek", "deepseek"),
    ("gemini", "google"),
    ("groq", "groq"),
    ("mistral", "mistral"),
    ("openai", "openai"),
    ("openrouter", "openrouter"),
];

/// The thinking levels that haft knows, by their names in the APIs.
const LEVELS: [&str; 6] = ["minimal", "low", "medium", "high", "xhigh", "max"];

/// Writes the list again, from `api`.
pub(crate) fn renew(api: &Path) -> Result<()> {
    let text = std::fs::read_to_string(api).with_context(|| format!("read {}", api.display()))?;
    let api: Value = serde_json::from_str(&text).context("models.dev's api.json is not JSON")?;
    let list = repo::root().join(LIST);
    let old = std::fs::read_to_string(&list).with_context(|| format!("read {LIST}"))?;
    let new = merge(&old, &api)?;
    println!("{} models before, {} now", old.lines().count(), new.lines().count());
    std::fs::write(&list, new).with_context(|| format!("write {LIST}"))
}

fn merge(old: &str, api: &Value) -> Result<String> {
    let mut models: BTreeMap<String, Value> = BTreeMap::new();
    for line in old.lines() {
        let (key, entry) =
            line.split_once('\t').with_context(|| format!("{LIST}: a line without a tab: {line}"))?;
        let mut entry: Value = serde_json::from_str(entry).with_context(|| format!("{LIST}: {key}"))?;
        entry["deprecated"] = json!(true);
        models.insert(key.to_owned(), entry);
    }
    for (provider, name) in PROVIDERS {
        let rows = api[name]["models"].as_object();
        for (id, row) in rows.with_context(|| format!("api.json has no provider {name}"))? {
            let key = format!("{provider}/{id}");
            let notes = models.get(&key).and_then(|old| old.get("notes")).cloned();
            models.insert(key, entry(id, row, notes));
        }
    }
    let lines = models.into_iter().map(|(key, entry)| format!("{key}\t{entry}\n"));
    Ok(lines.collect())
}

/// Returns the entry of a model, in the form of `ModelSpec`.
fn entry(id: &str, row: &Value, notes: Option<Value>) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), row.get("name").cloned().unwrap_or_else(|| json!(id)));
    for (from, to) in [("context", "window"), ("output", "output")] {
        if let Some(tokens) = row["limit"][from].as_u64().filter(|tokens| *tokens > 0) {
            entry.insert(to.into(), json!(tokens));
        }
    }
    let images = row["modalities"]["input"].as_array().is_some_and(|kinds| kinds.contains(&json!("image")));
    let flags = [
        ("images", images),
        ("tools", row["tool_call"] == true),
        ("deprecated", row["status"] == "deprecated"),
    ];
    entry.extend(flags.into_iter().filter(|(_, set)| *set).map(|(name, _)| (name.to_owned(), json!(true))));
    let prices = ["input", "output", "cache_read", "cache_write"].into_iter().filter_map(|name| {
        Some((name.to_owned(), row["cost"].get(name).filter(|price| price.is_number())?.clone()))
    });
    let prices: Map<String, Value> = prices.collect();
    if prices.contains_key("input") && prices.contains_key("output") {
        entry.insert("prices".into(), prices.into());
    }
    if row["reasoning"] == true {
        entry.insert("thinking".into(), thinking(row));
    }
    let samples = || (row["temperature"] == true).then(|| json!({"sampling": "any"}));
    entry.extend(notes.or_else(samples).map(|notes| ("notes".to_owned(), notes)));
    entry.into()
}

fn thinking(row: &Value) -> Value {
    let mut thinking = Map::new();
    for option in row["reasoning_options"].as_array().into_iter().flatten() {
        let values = option["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
        match option["type"].as_str() {
            Some("effort") => {
                let (levels, others): (Vec<&str>, Vec<&str>) =
                    values.partition(|value| LEVELS.contains(value));
                if others.contains(&"none") {
                    thinking.insert("off".into(), json!(true));
                }
                if !levels.is_empty() {
                    thinking.insert("levels".into(), json!(levels));
                }
            }
            Some("toggle") => drop(thinking.insert("off".into(), json!(true))),
            Some("budget_tokens") => {
                let longest = row["limit"]["output"].as_u64().unwrap_or(u32::MAX.into());
                let budget = [option["min"].as_u64().unwrap_or(0), option["max"].as_u64().unwrap_or(longest)];
                thinking.insert("budget".into(), json!(budget));
            }
            _ => {}
        }
    }
    thinking.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_notes_and_marks_missing_models() {
        let old = "openai/gone\t{\"name\":\"Gone\"}\nopenai/o9\t{\"name\":\"Old\",\"notes\":{\"sampling\":\"never\"}}\n";
        let row = json!({
            "name": "o9", "reasoning": true, "tool_call": true, "temperature": true,
            "reasoning_options": [
                {"type": "effort", "values": ["none", "low", "max", "default"]},
                {"type": "budget_tokens", "min": 1},
            ],
            "modalities": {"input": ["text", "image"]}, "limit": {"context": 9, "output": 5},
            "cost": {"input": 1.5, "output": 2, "reasoning": 3},
        });
        let mut api: Value =
            PROVIDERS.map(|(_, name)| (name.to_owned(), json!({"models": {}}))).into_iter().collect();
        api["openai"]["models"]["o9"] = row;
        let new = merge(old, &api).unwrap();
        let lines: Vec<(&str, Value)> = new
            .lines()
            .map(|line| line.split_once('\t').unwrap())
            .map(|(key, entry)| (key, serde_json::from_str(entry).unwrap()))
            .collect();
        assert_eq!(
            lines,
            [
                ("openai/gone", json!({"name": "Gone", "deprecated": true})),
                (
                    "openai/o9",
                    json!({
                        "name": "o9", "window": 9, "output": 5, "images": true, "tools": true,
                        "prices": {"input": 1.5, "output": 2},
                        "thinking": {"off": true, "levels": ["low", "max"], "budget": [1, 5]},
                        "notes": {"sampling": "never"},
                    })
                ),
            ]
        );
    }
}
