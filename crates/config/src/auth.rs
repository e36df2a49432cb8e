//! `auth.json`: the user's keys, one for each provider.

mod store;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use secrecy::SecretString;
use serde::Deserialize;

/// The longest `auth.json` that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// The content of `auth.json`: `{"anthropic":{"key":"…"},"openai":{"key":"…"}}`. Keys are never shown by
/// `Debug`, and fields that haft does not know are left alone.
#[derive(Debug, Clone, Default)]
pub struct Auth {
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

impl Auth {
    /// Reads the file; a file that does not exist holds no keys.
    ///
    /// # Errors
    /// [`AuthError`] when it cannot be read, is readable by other users, or is not of the right form. None of
    /// these is fatal: warn, and go on without the file's keys.
    pub fn load(path: &Path) -> Result<Self, AuthError> {
        match open(path)? {
            None => Ok(Self::default()),
            Some(file) => {
                let metadata =
                    file.metadata().map_err(|source| AuthError::Read { path: path.into(), source })?;
                match exposed_mode(&metadata) {
                    Some(mode) => Err(AuthError::Exposed { path: path.into(), mode }),
                    None => Self::parse_file(path, &whole(path, file)?),
                }
            }
        }
    }

    fn parse_file(path: &Path, text: &str) -> Result<Self, AuthError> {
        Self::parse(text).map_err(|error| AuthError::Parse {
            path: path.into(),
            // Only the place: serde's message may quote a value, and a value may be a key.
            line: error.line(),
            column: error.column(),
        })
    }

    fn parse(text: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Entry {
            key: String,
        }
        let entries: BTreeMap<String, Entry> = serde_json::from_str(text)?;
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
}

/// The file; [`None`] where there is none.
fn open(path: &Path) -> Result<Option<File>, AuthError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(AuthError::Read { path: path.into(), source }),
    }
}

fn whole(path: &Path, file: File) -> Result<String, AuthError> {
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
    use secrecy::ExposeSecret as _;

    use super::*;

    fn file(dir: &Path, text: &str, mode: u32) -> PathBuf {
        let path = dir.join("auth.json");
        std::fs::write(&path, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        path
    }

    #[test]
    fn holds_a_key_for_each_provider_and_never_shows_it() {
        let dir = tempfile::tempdir().unwrap();
        let path =
            file(dir.path(), r#"{"anthropic":{"key":"sk-1","note":1},"openai":{"key":"sk-2"}}"#, 0o600);
        let auth = Auth::load(&path).unwrap();
        assert_eq!(auth.key("anthropic").unwrap().expose_secret(), "sk-1");
        assert!(auth.key("groq").is_none());
        assert_eq!(auth.providers().collect::<Vec<_>>(), ["anthropic", "openai"]);
        assert!(!format!("{auth:?}").contains("sk-"));
    }

    #[test]
    fn no_file_is_no_keys() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Auth::load(&dir.path().join("auth.json")).unwrap().providers().count(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for mode in [0o640, 0o604, 0o660] {
            let path = file(dir.path(), "{}", mode);
            let error = Auth::load(&path).unwrap_err();
            assert!(matches!(error, AuthError::Exposed { mode: got, .. } if got == mode), "{error}");
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn a_mistake_is_named_by_place_and_without_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = file(dir.path(), "{\n\"anthropic\": \"sk-secret\"}", 0o600);
        let error = Auth::load(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && !error.contains("sk-secret"), "{error}");
    }
}
