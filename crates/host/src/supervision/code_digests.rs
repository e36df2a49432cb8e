//! Digests of the files that hooks run, taken when a run first starts them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft_packages::install::{self, Digest};

/// The digests of the files; `None` for a path that did not exist or was not a file.
#[derive(Debug, Default)]
pub(crate) struct CodeDigests(Mutex<BTreeMap<PathBuf, Option<Digest>>>);

impl CodeDigests {
    /// Checks that these files are unchanged since their first check, which may be now. The error names a
    /// changed file, for people. Reads all files.
    pub(crate) fn check_unchanged(&self, files: &[PathBuf]) -> Result<(), String> {
        for path in files {
            // Concurrent starts of hooks with the same file must see the same digest.
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let now = digest(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            if *known.entry(path.clone()).or_insert(now) != now {
                return Err(format!(
                    "the hook's file {} changed since this run began; the next run uses the changed file",
                    path.display()
                ));
            }
        }
        Ok(())
    }
}

/// Reads only regular files, not pipes or devices.
fn digest(path: &Path) -> io::Result<Option<Digest>> {
    if !path.is_file() {
        return Ok(None);
    }
    install::copy_and_digest(File::open(path)?, None).map(Some)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Checks a file with the second text that had the first text, if any, at its first check.
    #[track_caller]
    fn check(first: Option<&str>, then: Option<&str>, is_same: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gate.py");
        let write = |text: Option<&str>| match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => drop(fs::remove_file(&path)),
        };
        let code = CodeDigests::default();
        write(first);
        code.check_unchanged(std::slice::from_ref(&path)).unwrap();
        write(then);
        let message = code.check_unchanged(std::slice::from_ref(&path)).err().unwrap_or_default();
        assert_eq!(message.is_empty(), is_same, "{message}");
        assert_eq!(message.contains("gate.py changed since"), !is_same, "{message}");
        write(first);
        code.check_unchanged(&[path]).unwrap();
    }

    #[test]
    fn detects_change_since_first_check() {
        check(Some("a"), Some("a"), true);
        check(Some("a"), Some("b"), false);
        check(Some("a"), None, false);
        check(None, None, true);
        check(None, Some("a"), false);
    }
}
