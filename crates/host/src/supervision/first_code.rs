//! The files that hooks run, as they were when a run first started them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft_packages::install::{self, Digest};

/// The digests of the files; none for one that was not there, or was not a file.
#[derive(Debug, Default)]
pub(crate) struct CodeDigests(Mutex<BTreeMap<PathBuf, Option<Digest>>>);

impl CodeDigests {
    /// Makes sure that these files are what they were when they were first looked at, which may be now; the error names, for
    /// people, one that is not. Reads all of them.
    pub(crate) fn check_unchanged(&self, files: &[PathBuf]) -> Result<(), String> {
        for path in files {
            // Two hooks that run one file at once look at the same one.
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let now = digest(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
            if *known.entry(path.clone()).or_insert(now) != now {
                return Err(format!(
                    "{}, which it runs, has changed since the run began; the next run starts it as it is then",
                    path.display()
                ));
            }
        }
        Ok(())
    }
}

/// Of what is no file, pipes and devices among it, nothing is read.
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

    /// A file that held the first text, if any, when it was first looked at, and the second one then.
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
        let told = code.check_unchanged(std::slice::from_ref(&path)).err().unwrap_or_default();
        assert_eq!(told.is_empty(), is_same, "{told}");
        assert_eq!(told.contains("gate.py, which it runs, has changed"), !is_same, "{told}");
        write(first);
        code.check_unchanged(&[path]).unwrap();
    }

    #[test]
    fn a_file_counts_as_it_was_first() {
        check(Some("a"), Some("a"), true);
        check(Some("a"), Some("b"), false);
        check(Some("a"), None, false);
        check(None, None, true);
        check(None, Some("a"), false);
    }
}
