//! The code of hooks and of gates without an approval, as it was when a run first started it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft_packages::install::{self, Digest, DirectoryCode};

/// The code that was started first.
#[derive(Debug, Default)]
pub(crate) struct CodeDigests {
    /// The digests of the files; `None` for a path that did not exist or was not a file.
    files: Mutex<BTreeMap<PathBuf, Option<Digest>>>,
    /// The code in the directories of gates, or the reason why it cannot be compared.
    directories: Mutex<BTreeMap<PathBuf, Result<DirectoryCode, String>>>,
}

impl CodeDigests {
    /// Checks that the directory of a gate is unchanged since its first check, which may be now. The error names the
    /// difference, for people. Reads the whole directory.
    pub(crate) fn check_directory(&self, dir: &Path) -> Result<(), String> {
        const NEXT: &str = "end haft and start it again to run the present code";
        let mut known = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = known.get(dir) else {
            known.insert(dir.to_owned(), DirectoryCode::read(dir).map_err(|error| error.to_string()));
            return Ok(());
        };
        let cannot = |why: &str| {
            format!(
                "a gate restarts only with unchanged code, and {} cannot be compared: {why}; {NEXT}",
                dir.display()
            )
        };
        let first = first.as_ref().map_err(|why| cannot(why))?;
        let now = DirectoryCode::read(dir).map_err(|error| cannot(&error.to_string()))?;
        match now.difference_from(first) {
            None => Ok(()),
            Some(what) => Err(format!(
                "the code of this gate in {} changed since this run began: {what}; undo the change, or {NEXT}",
                dir.display()
            )),
        }
    }

    /// Checks that these files are unchanged since their first check, which may be now. The error names a
    /// changed file, for people. Reads all files.
    pub(crate) fn check_unchanged(&self, files: &[PathBuf]) -> Result<(), String> {
        for path in files {
            // Concurrent starts of hooks with the same file must see the same digest.
            let mut known = self.files.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn refuses_changed_directory_of_gate() {
        let dir = tempfile::tempdir().unwrap();
        let code = CodeDigests::default();
        fs::write(dir.path().join("gate.py"), "import json").unwrap();
        code.check_directory(dir.path()).unwrap();
        code.check_directory(dir.path()).unwrap();
        fs::write(dir.path().join("json.py"), "").unwrap();
        let why = code.check_directory(dir.path()).unwrap_err();
        assert!(why.contains("json.py") && why.contains("start it again"), "{why}");
        fs::remove_file(dir.path().join("json.py")).unwrap();
        code.check_directory(dir.path()).unwrap();
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
