//! The files that libFuzzer starts with: seeds and a dictionary.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::seeds::{FuzzSeed, FuzzTarget};

use crate::repo;

/// Returns the folders whose files are replayed first: the committed corpus, and the fixture lines as one file each.
pub(super) fn seed_folders(target: &FuzzTarget, ground: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![target.corpus_dir()];
    let fixtures = target.fixture_seeds()?;
    if !fixtures.is_empty() {
        let folder = ground.join("fixtures").join(target.name);
        rewrite_folder(&folder, &fixtures)?;
        folders.push(folder);
    }
    Ok(folders)
}

/// Writes a dictionary for inputs that are lines: every name and constant of the schemas.
pub(super) fn write_dictionary(target: &FuzzTarget, ground: &Path) -> Result<Option<PathBuf>> {
    if target.schemas.is_empty() {
        return Ok(None);
    }
    let mut words = BTreeSet::new();
    for schema in target.schemas {
        collect_words(
            &serde_json::from_str(&repo::read(schema)?).with_context(|| format!("read {schema}"))?,
            &mut words,
        );
    }
    let path = ground.join(format!("{}.dict", target.name));
    let lines: Vec<String> = words.iter().map(|word| format!("{:?}\n", format!("\"{word}\""))).collect();
    fs::write(&path, lines.concat()).with_context(|| format!("write {}", path.display()))?;
    Ok(Some(path))
}

fn rewrite_folder(folder: &Path, seeds: &[FuzzSeed]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for old in fs::read_dir(folder)? {
        fs::remove_file(old?.path())?;
    }
    for (index, seed) in seeds.iter().enumerate() {
        fs::write(folder.join(format!("{index:03}")), &seed.bytes)?;
    }
    Ok(())
}

/// Collects the property names, and the strings that a property must or may have.
fn collect_words(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let properties = fields.get("properties").and_then(Value::as_object);
            words.extend(properties.into_iter().flat_map(|properties| properties.keys().cloned()));
            let options = fields.get("enum").and_then(Value::as_array).into_iter().flatten();
            let constants = options.chain(fields.get("const")).filter_map(Value::as_str);
            words.extend(constants.map(str::to_owned));
            fields.values().for_each(|value| collect_words(value, words));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_words(item, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collects_words_of_a_schema() {
        let schema = serde_json::json!({
            "oneOf": [{ "properties": { "type": { "const": "hello" }, "level": { "enum": ["info", 1] } } }],
            "description": "not a word",
        });
        let mut words = BTreeSet::new();
        collect_words(&schema, &mut words);
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["hello", "info", "level", "type"]);
    }
}
