//! Changing `enabled` in a manifest and nothing else.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use serde_json::value::RawValue;

use super::InstallError;
use crate::manifest::{MANIFEST_FILE, Manifest};

/// Writes `enabled` into the manifest in `dir`. Says whether that changed anything.
pub(super) fn set_enabled(dir: &Path, enabled: bool) -> Result<bool, InstallError> {
    if Manifest::read(dir)?.enabled == enabled {
        return Ok(false);
    }
    // A manifest may be a symlink; the file it points to is changed, the link stays.
    let path = dir.join(MANIFEST_FILE);
    let path = path.canonicalize().map_err(InstallError::io("find", &path))?;
    let text = std::fs::read_to_string(&path).map_err(InstallError::io("read", &path))?;
    let text = edit(&text, enabled).ok_or_else(|| InstallError::Changed { dir: dir.into() })?;
    replace_file(&path, &text).map_err(InstallError::io("write", &path))?;
    Ok(true)
}

/// The manifest with another `enabled`; none when it is not an object.
fn edit(text: &str, enabled: bool) -> Option<String> {
    let start = text.find('{')?;
    let (mark, object) = text.split_at_checked(start)?;
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    let value = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case("enabled"));
    let (at, old, new) = match value {
        Some((_, value)) => {
            // The value borrows from the text, so its address says where it stands.
            let at = value.get().as_ptr().addr().checked_sub(object.as_ptr().addr())?;
            (at, value.get().len(), enabled.to_string())
        }
        None => {
            // Behind the brace, set apart from the first key as that key is from the brace.
            let rest = object.get(1..)?;
            let space = rest.get(..rest.len() - rest.trim_start().len())?;
            (1, 0, format!("{space}\"enabled\": {enabled},"))
        }
    };
    Some(format!("{mark}{}{new}{}", object.get(..at)?, object.get(at + old..)?))
}

/// Puts a new file in the place of an old one, with its permissions, whole or not at all.
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
    fn only_the_key_changes() {
        check(r#"{"z":1, "enabled" : true ,"a":[1e2]}"#, Some(r#"{"z":1, "enabled" : false ,"a":[1e2]}"#));
        check(r#"{"Enabled":true}"#, Some(r#"{"Enabled":false}"#));
        check("\u{feff}{\"enabled\":null}\n", Some("\u{feff}{\"enabled\":false}\n"));
        check(r#"{"x":{"enabled":true}}"#, Some(r#"{"enabled": false,"x":{"enabled":true}}"#));
    }

    #[test]
    fn a_missing_key_comes_first_and_keeps_the_indentation() {
        check("{\n  \"name\": \"x\"\n}\n", Some("{\n  \"enabled\": false,\n  \"name\": \"x\"\n}\n"));
        check(r#"{"name":"x"}"#, Some(r#"{"enabled": false,"name":"x"}"#));
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        check("[]", None);
        check("{", None);
    }
}
