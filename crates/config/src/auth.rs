//! `auth.json`: the user's keys, one for each provider.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::write;

/// The longest `auth.json` that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The content of `auth.json`: `{"anthropic":{"key":"…"},"openai":{"key":"…"}}`. Keys are never shown by
/// `Debug`, and fields that haft does not know are left alone.
#[derive(Debug, Clone, Default)]
pub struct AuthFile {
    keys: BTreeMap<String, SecretString>,
}

/// `auth.json` was not used. The message says what to do; it never holds a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The file is there and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Other users of this machine can read the file.
    #[error("{} can be read by other users (mode {mode:03o}), so its keys are not used; run `chmod 600 {}`", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not of the form above.
    #[error("{} is not of the form {{\"anthropic\":{{\"key\":\"…\"}}}}: mistake in line {line}, column {column}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
}

impl AuthError {
    /// Only the place of the mistake: serde's message may quote a value, and a value may be a key.
    fn not_of_form(path: &Path, error: &serde_json::Error) -> Self {
        Self::Parse { path: path.into(), line: error.line(), column: error.column() }
    }
}

impl AuthFile {
    /// Reads the file; a file that does not exist holds no keys.
    ///
    /// # Errors
    /// [`AuthError`] when it cannot be read, is readable by other users, or is not of the right form. None of
    /// these is fatal: warn, and go on without the file's keys.
    pub fn load(path: &Path) -> Result<Self, AuthError> {
        let Some(file) = open(path)? else { return Ok(Self::default()) };
        let metadata = file.metadata().map_err(|source| AuthError::Read { path: path.into(), source })?;
        match exposed_mode(&metadata) {
            Some(mode) => Err(AuthError::Exposed { path: path.into(), mode }),
            None => Self::parse(path, &read_limited(path, file)?),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, AuthError> {
        #[derive(Deserialize)]
        struct StoredKey {
            key: String,
        }
        let entries: BTreeMap<String, StoredKey> =
            serde_json::from_str(text).map_err(|error| AuthError::not_of_form(path, &error))?;
        Ok(Self { keys: entries.into_iter().map(|(provider, entry)| (provider, entry.key.into())).collect() })
    }

    /// The key for a provider.
    pub fn key(&self, provider: &str) -> Option<&SecretString> {
        self.keys.get(provider)
    }

    /// The providers that have a key, in the order of their names.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Stores a provider's key in place of the one it had; everything else in the file stays. The file is made where
    /// there is none. It never holds half of what was written, and only its owner can read it afterwards.
    ///
    /// # Errors
    /// [`AuthError`] when the file is of another form, or cannot be written; it is then as it was.
    pub fn store(path: &Path, provider: &str, key: &SecretString) -> Result<(), AuthError> {
        edit_file(path, |entries| {
            let entry = entries.entry(provider).or_insert_with(|| json!({}));
            entry["key"] = json!(key.expose_secret());
            true
        })
        .map(drop)
    }

    /// Removes a provider's key and tells whether there was one. Nothing is written where there was none.
    ///
    /// # Errors
    /// As [`AuthFile::store`].
    pub fn remove(path: &Path, provider: &str) -> Result<bool, AuthError> {
        if !path.exists() {
            return Ok(false);
        }
        edit_file(path, |entries| entries.shift_remove(provider).is_some())
    }
}

/// Changes the file, if `change` says that it changed something.
fn edit_file(path: &Path, change: impl FnOnce(&mut Map<String, Value>) -> bool) -> Result<bool, AuthError> {
    let failed = |source| AuthError::Write { path: path.into(), source };
    let dir = path.parent().unwrap_or(Path::new("."));
    let _lock = write::lock(dir, "auth.lock").map_err(failed)?;
    // Who keeps the file elsewhere, behind a link, keeps the link.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from(path));
    let mut entries = read_entries(path)?;
    if !change(&mut entries) {
        return Ok(false);
    }
    write::json_text(&entries).and_then(|text| write::replace(&target, &text, None)).map_err(failed)?;
    Ok(true)
}

fn read_entries(path: &Path) -> Result<Map<String, Value>, AuthError> {
    let Some(file) = open(path)? else { return Ok(Map::new()) };
    let text = read_limited(path, file)?;
    // The same check as when it is read: what haft could not read, it does not write over.
    AuthFile::parse(path, &text)?;
    serde_json::from_str(&text).map_err(|error| AuthError::not_of_form(path, &error))
}

/// The file; [`None`] where there is none.
fn open(path: &Path) -> Result<Option<File>, AuthError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(AuthError::Read { path: path.into(), source }),
    }
}

fn read_limited(path: &Path, file: File) -> Result<String, AuthError> {
    let mut text = String::new();
    let read = file.take(MAX_FILE).read_to_string(&mut text);
    read.map_err(|source| AuthError::Read { path: path.into(), source })?;
    Ok(text)
}

#[cfg(unix)]
fn exposed_mode(metadata: &std::fs::Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn exposed_mode(_: &std::fs::Metadata) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(dir: &Path, text: &str, mode: u32) -> PathBuf {
        let path = dir.join("auth.json");
        fs::write(&path, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        path
    }

    #[test]
    fn holds_a_key_for_each_provider_and_never_shows_it() {
        let dir = tempfile::tempdir().unwrap();
        let path =
            file(dir.path(), r#"{"anthropic":{"key":"sk-1","note":1},"openai":{"key":"sk-2"}}"#, 0o600);
        let auth = AuthFile::load(&path).unwrap();
        assert_eq!(auth.key("anthropic").unwrap().expose_secret(), "sk-1");
        assert!(auth.key("groq").is_none());
        assert_eq!(auth.providers().collect::<Vec<_>>(), ["anthropic", "openai"]);
        assert!(!format!("{auth:?}").contains("sk-"));
    }

    #[test]
    fn no_file_is_no_keys() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(AuthFile::load(&dir.path().join("auth.json")).unwrap().providers().count(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for mode in [0o640, 0o604, 0o660] {
            let path = file(dir.path(), "{}", mode);
            let error = AuthFile::load(&path).unwrap_err();
            assert!(matches!(error, AuthError::Exposed { mode: got, .. } if got == mode), "{error}");
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn a_mistake_is_named_by_place_and_without_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "{\n\"anthropic\": \"sk-secret\"}", 0o600);
        let error = AuthFile::load(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("sk-secret"), "{error}");
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_key_is_stored_replaced_and_removed_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new").join("auth.json");
        AuthFile::store(&path, "openai", &"sk-1".into()).unwrap();
        fs::write(&path, r#"{"z": {"key": "sk-z", "note": 1}, "openai": {"key": "sk-1", "more": [2]}}"#)
            .unwrap();
        AuthFile::store(&path, "openai", &"sk-2".into()).unwrap();
        AuthFile::store(&path, "anthropic", &"sk-3".into()).unwrap();
        let expect = json!({"z": {"key": "sk-z", "note": 1}, "openai": {"key": "sk-2", "more": [2]},
            "anthropic": {"key": "sk-3"}});
        assert_eq!(serde_json::from_str::<Value>(&text(&path)).unwrap(), expect);
        assert!(AuthFile::remove(&path, "openai").unwrap() && !AuthFile::remove(&path, "openai").unwrap());
        let auth = AuthFile::load(&path).unwrap();
        assert_eq!(auth.providers().collect::<Vec<_>>(), ["anthropic", "z"]);
        assert!(!AuthFile::remove(&dir.path().join("none.json"), "x").unwrap());
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
        AuthFile::store(&path, "openai", &"sk-1".into()).unwrap();
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
            let error = AuthFile::store(&path, "x", &"sk-2".into()).unwrap_err();
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
                        AuthFile::store(path, &format!("p{writer}-{key}"), &"sk".into()).unwrap();
                    }
                });
            }
        });
        assert_eq!(AuthFile::load(&path).unwrap().providers().count(), 40);
    }
}
