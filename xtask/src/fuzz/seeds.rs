//! Where a target's first inputs come from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::repo;

/// A target that reads lines, and so learns from the protocol's own files.
struct Reads {
    target: &'static str,
    /// Whether a file of the fixtures is about what it reads.
    fixtures: fn(&str) -> bool,
    schemas: &'static [&'static str],
}

const READS: &[Reads] = &[
    Reads {
        target: "envelope",
        fixtures: |path| !path.contains("/hook/") && !path.contains("/rpc/"),
        schemas: &["docs/schema/extension_frame.schema.json", "docs/schema/host_frame.schema.json"],
    },
    Reads {
        target: "hooks",
        fixtures: |path| path.contains("/hook/"),
        schemas: &["docs/schema/hook_call.schema.json", "docs/schema/hook_result.schema.json"],
    },
    Reads {
        target: "rpc",
        fixtures: |path| path.contains("/rpc/"),
        schemas: &["docs/schema/rpc_request.schema.json"],
    },
];

fn reads(target: &str) -> Option<&'static Reads> {
    READS.iter().find(|reads| reads.target == target)
}

/// The folders whose files are replayed first: the committed corpus and, for lines, every one of the fixtures, so that
/// a new frame is a seed without being written down twice.
pub(super) fn folders(target: &str, ground: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![repo::root().join("fuzz/corpus").join(target)];
    if let Some(reads) = reads(target) {
        let folder = ground.join("fixtures").join(target);
        refill(&folder, reads)?;
        folders.push(folder);
    }
    Ok(folders)
}

/// A file of words that are worth inserting: for lines, every name and constant of the schemas.
pub(super) fn dictionary(target: &str, ground: &Path) -> Result<Option<PathBuf>> {
    let Some(reads) = reads(target) else { return Ok(None) };
    let mut words = BTreeSet::new();
    for schema in reads.schemas {
        collect(
            &serde_json::from_str(&repo::read(schema)?).with_context(|| format!("read {schema}"))?,
            &mut words,
        );
    }
    let path = ground.join(format!("{target}.dict"));
    let lines: Vec<String> = words.iter().map(|word| format!("{:?}\n", format!("\"{word}\""))).collect();
    fs::write(&path, lines.concat()).with_context(|| format!("write {}", path.display()))?;
    Ok(Some(path))
}

fn refill(folder: &Path, reads: &Reads) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for old in fs::read_dir(folder)? {
        fs::remove_file(old?.path())?;
    }
    let files = repo::files("crates/protocol/fixtures")?;
    let lines = files
        .iter()
        .filter(|file| file.path.ends_with(".jsonl") && (reads.fixtures)(&file.path))
        .flat_map(|file| file.text.lines());
    for (index, line) in lines.enumerate() {
        fs::write(folder.join(format!("{index:03}")), format!("{line}\n"))?;
    }
    Ok(())
}

/// Property names, and the strings that a property must or may be.
fn collect(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            words.extend(properties.into_iter().flat_map(|properties| properties.keys().cloned()));
            let options = fields.get("enum").and_then(Value::as_array).into_iter().flatten();
            let constants = options.chain(fields.get("const")).filter_map(Value::as_str);
            words.extend(constants.map(str::to_owned));
            fields.values().for_each(|value| collect(value, words));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_schema() {
        let schema = serde_json::json!({
            "oneOf": [{ "properties": { "type": { "const": "hello" }, "level": { "enum": ["info", 1] } } }],
            "description": "not a word",
        });
        let mut words = BTreeSet::new();
        collect(&schema, &mut words);
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["hello", "info", "level", "type"]);
    }
}
