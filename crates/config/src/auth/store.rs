//! Writing `auth.json`: whole or not at all, readable by its owner alone, one writer at a time.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use super::{Auth, AuthError, open, whole};

impl Auth {
    /// Stores a provider's key in place of the one it had; everything else in the file stays. The file is made where
    /// there is none. It never holds half of what was written, and only its owner can read it afterwards.
    ///
    /// # Errors
    /// [`AuthError`] when the file is of another form, or cannot be written; it is then as it was.
    pub fn store(path: &Path, provider: &str, key: &SecretString) -> Result<(), AuthError> {
        edit(path, |entries| {
            let entry = entries.entry(provider).or_insert_with(|| json!({}));
            entry["key"] = json!(key.expose_secret());
            true
        })
        .map(drop)
    }

    /// Removes a provider's key and tells whether there was one. Nothing is written where there was none.
    ///
    /// # Errors
    /// As [`Auth::store`].
    pub fn remove(path: &Path, provider: &str) -> Result<bool, AuthError> {
        if !path.exists() {
            return Ok(false);
        }
        edit(path, |entries| entries.shift_remove(provider).is_some())
    }
}

/// Changes the file, if `change` says that it changed something.
fn edit(path: &Path, change: impl FnOnce(&mut Map<String, Value>) -> bool) -> Result<bool, AuthError> {
    let write = |source| AuthError::Write { path: path.into(), source };
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(write)?;
    // Two that write at the same time would each lose the other's key. Closing the file ends the lock.
    let lock = File::create(dir.join("auth.lock")).map_err(write)?;
    lock.lock().map_err(write)?;
    // Who keeps the file elsewhere, behind a link, keeps the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    let mut entries = entries(path)?;
    if !change(&mut entries) {
        return Ok(false);
    }
    replace(&target, &entries).map_err(write)?;
    Ok(true)
}

fn entries(path: &Path) -> Result<Map<String, Value>, AuthError> {
    let Some(file) = open(path)? else { return Ok(Map::new()) };
    let text = whole(path, file)?;
    // The same check as when it is read: what haft could not read, it does not write over.
    Auth::parse_file(path, &text)?;
    serde_json::from_str(&text).map_err(|error| AuthError::Parse {
        path: path.into(),
        line: error.line(),
        column: error.column(),
    })
}

/// Writes beside the file and then puts the new one in its place. Made by `tempfile`, it has mode 600 from the start.
fn replace(target: &Path, entries: &Map<String, Value>) -> io::Result<()> {
    let dir = target.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    let mut text = serde_json::to_string_pretty(entries)?;
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    // The name is what makes it permanent.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_key_is_stored_replaced_and_removed_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new").join("auth.json");
        Auth::store(&path, "openai", &"sk-1".into()).unwrap();
        fs::write(&path, r#"{"z": {"key": "sk-z", "note": 1}, "openai": {"key": "sk-1", "more": [2]}}"#)
            .unwrap();
        Auth::store(&path, "openai", &"sk-2".into()).unwrap();
        Auth::store(&path, "anthropic", &"sk-3".into()).unwrap();
        let expect = json!({"z": {"key": "sk-z", "note": 1}, "openai": {"key": "sk-2", "more": [2]},
            "anthropic": {"key": "sk-3"}});
        assert_eq!(serde_json::from_str::<Value>(&text(&path)).unwrap(), expect);
        assert!(Auth::remove(&path, "openai").unwrap() && !Auth::remove(&path, "openai").unwrap());
        let auth = Auth::load(&path).unwrap();
        assert_eq!(auth.providers().collect::<Vec<_>>(), ["anthropic", "z"]);
        assert!(!Auth::remove(&dir.path().join("none.json"), "x").unwrap());
    }

    #[test]
    #[cfg(unix)]
    fn only_the_owner_reads_it_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (path, real) = (dir.path().join("auth.json"), dir.path().join("real.json"));
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&real, &path).unwrap();
        Auth::store(&path, "openai", &"sk-1".into()).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(text(&real).contains("sk-1"));
    }

    #[test]
    fn what_cannot_be_read_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        for broken in ["{", "7", r#"{"openai": "sk-1"}"#] {
            fs::write(&path, broken).unwrap();
            let error = Auth::store(&path, "x", &"sk-2".into()).unwrap_err();
            assert!(
                matches!(error, AuthError::Parse { .. }) && !error.to_string().contains("sk-"),
                "{error}"
            );
            assert_eq!(text(&path), broken);
        }
    }

    #[test]
    fn none_of_many_writers_loses_a_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for key in 0..10 {
                        Auth::store(path, &format!("p{writer}-{key}"), &"sk".into()).unwrap();
                    }
                });
            }
        });
        assert_eq!(Auth::load(&path).unwrap().providers().count(), 40);
    }
}
