//! Edits `enabled` in a manifest without changing anything else.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde_json::value::RawValue;

use super::InstallError;
use crate::manifest::{MANIFEST_FILE, Manifest};

/// Writes `enabled` into the manifest in `dir`. Returns true if that changed anything.
pub(super) fn set_enabled(dir: &Path, enabled: bool) -> Result<bool, InstallError> {
    if Manifest::read(dir)?.enabled == enabled {
        return Ok(false);
    }
    // If the manifest is a symlink, its target is changed and the link stays.
    let path = dir.join(MANIFEST_FILE);
    let path = path.canonicalize().map_err(InstallError::io("find", &path))?;
    let text = std::fs::read_to_string(&path).map_err(InstallError::io("read", &path))?;
    let text = edit(&text, enabled).ok_or_else(|| InstallError::Changed { dir: dir.into() })?;
    replace_file(&path, &text).map_err(InstallError::io("write", &path))?;
    Ok(true)
}

/// Returns the manifest with another `enabled`, or `None` if it is not an object.
fn edit(text: &str, enabled: bool) -> Option<String> {
    let start = text.find('{')?;
    let (mark, object) = text.split_at_checked(start)?;
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    let value = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case("enabled"));
    let (at, old, new) = match value {
        Some((_, value)) => {
            // The value borrows from the text, so its address gives its position.
            let at = value.get().as_ptr().addr().checked_sub(object.as_ptr().addr())?;
            (at, value.get().len(), enabled.to_string())
        }
        None => {
            // Inserted after the brace, with the whitespace that precedes the first key.
            let rest = object.get(1..)?;
            let space = rest.get(..rest.len() - rest.trim_start().len())?;
            (1, 0, format!("{space}\"enabled\": {enabled},"))
        }
    };
    Some(format!("{mark}{}{new}{}", object.get(..at)?, object.get(at + old..)?))
}

/// Replaces a file atomically, with the same permissions.
fn replace_file(path: &Path, text: &str) -> std::io::Result<()> {
    let dir = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(edit(text, false).as_deref(), expect, "{text}");
    }

    #[test]
    fn changes_only_the_key() {
        check(r#"{"z":1, "enabled" : true ,"a":[1e2]}"#, Some(r#"{"z":1, "enabled" : false ,"a":[1e2]}"#));
        check(r#"{"Enabled":true}"#, Some(r#"{"Enabled":false}"#));
        check("\u{feff}{\"enabled\":null}\n", Some("\u{feff}{\"enabled\":false}\n"));
        check(r#"{"x":{"enabled":true}}"#, Some(r#"{"enabled": false,"x":{"enabled":true}}"#));
    }

    #[test]
    fn inserts_missing_key_first_with_indentation() {
        check("{\n  \"name\": \"x\"\n}\n", Some("{\n  \"enabled\": false,\n  \"name\": \"x\"\n}\n"));
        check(r#"{"name":"x"}"#, Some(r#"{"enabled": false,"name":"x"}"#));
    }

    #[test]
    fn leaves_other_json_unchanged() {
        check("[]", None);
        check("{", None);
    }
}
