//! `auth.json`: the user's API keys, one for each provider.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::write;

/// The maximum size of `auth.json`, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The content of `auth.json`: `{"anthropic":{"key":"…"},"openai":{"key":"…"}}`. `Debug` never shows keys, and unknown
/// fields are preserved.
#[derive(Debug, Clone, Default)]
pub struct AuthFile {
    keys: BTreeMap<String, SecretString>,
}

/// An error of reading or writing `auth.json`. The message includes the next step and never contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The file exists and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Other users of this machine can read the file.
    #[error("{} can be read by other users (mode {mode:03o}), so its keys are not used; run `chmod 600 {}`", path.display(), path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file does not have the expected form.
    #[error("{} is not valid: expected {{\"anthropic\":{{\"key\":\"…\"}}}} at line {line}, column {column}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
}

impl AuthError {
    /// Keeps only the position of the mistake: serde's message may quote a value, and a value may be a key.
    fn not_of_form(path: &Path, error: &serde_json::Error) -> Self {
        Self::Parse { path: path.into(), line: error.line(), column: error.column() }
    }
}

impl AuthFile {
    /// Reads the file. A missing file contains no keys.
    ///
    /// # Errors
    /// [`AuthError`] when the file cannot be read, is readable by other users, or is not valid. None of these is fatal:
    /// callers warn and continue without the file's keys.
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

    /// Returns the key for a provider.
    pub fn key(&self, provider: &str) -> Option<&SecretString> {
        self.keys.get(provider)
    }

    /// Returns the providers that have a key, sorted by name.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Stores a provider's key, replacing an existing one, and preserves everything else in the file. Creates the file
    /// if necessary. The write is atomic, and only the owner can read the file afterwards.
    ///
    /// # Errors
    /// [`AuthError`] when the file is not valid or cannot be written; the file is unchanged then.
    pub fn store(path: &Path, provider: &str, key: &SecretString) -> Result<(), AuthError> {
        edit_file(path, |entries| {
            let entry = entries.entry(provider).or_insert_with(|| json!({}));
            entry["key"] = json!(key.expose_secret());
            true
        })
        .map(drop)
    }

    /// Removes a provider's key. Returns false, without writing, if the provider had none.
    ///
    /// # Errors
    /// Same as [`AuthFile::store`].
    pub fn remove(path: &Path, provider: &str) -> Result<bool, AuthError> {
        if !path.exists() {
            return Ok(false);
        }
        edit_file(path, |entries| entries.shift_remove(provider).is_some())
    }
}

/// Changes the file. Writes only if `change` returns true.
fn edit_file(path: &Path, change: impl FnOnce(&mut Map<String, Value>) -> bool) -> Result<bool, AuthError> {
    let failed = |source| AuthError::Write { path: path.into(), source };
    let dir = path.parent().unwrap_or(Path::new("."));
    let _lock = write::lock(dir, "auth.lock").map_err(failed)?;
    // A file that is a symbolic link stays one.
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
    // The same check as for loading: haft does not overwrite a file that it cannot read.
    AuthFile::parse(path, &text)?;
    serde_json::from_str(&text).map_err(|error| AuthError::not_of_form(path, &error))
}

/// Opens the file; `None` if it does not exist.
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
    fn reads_keys_and_hides_them_in_debug() {
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
    fn missing_file_contains_no_keys() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(AuthFile::load(&dir.path().join("auth.json")).unwrap().providers().count(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn rejects_file_readable_by_other_users() {
        let dir = tempfile::tempdir().unwrap();
        for mode in [0o640, 0o604, 0o660] {
            let path = file(dir.path(), "{}", mode);
            let error = AuthFile::load(&path).unwrap_err();
            assert!(matches!(error, AuthError::Exposed { mode: got, .. } if got == mode), "{error}");
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn parse_error_shows_position_and_no_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "{\n\"anthropic\": \"sk-secret\"}", 0o600);
        let error = AuthFile::load(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("sk-secret"), "{error}");
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn store_and_remove_preserve_other_content() {
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
    fn store_restricts_the_mode_and_preserves_a_symlink() {
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
    fn store_does_not_overwrite_invalid_file() {
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
    fn concurrent_writers_lose_no_key() {
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
