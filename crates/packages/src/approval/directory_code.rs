//! The code in a directory that no approval covers: `--ext` and `extensions` of the configuration.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::InstallError;
use super::contents::{TreeContents, TreeEntry};
use super::digest::{self, Digest};

/// The contents of a directory, and the files that its links lead to. Files that are added later are a difference:
/// an interpreter may load them as modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryCode {
    contents: TreeContents,
    linked: BTreeMap<PathBuf, Digest>,
}

impl DirectoryCode {
    /// Reads the directory.
    ///
    /// # Errors
    /// [`InstallError`] if an entry cannot be read, exceeds a limit, or is a link to a directory elsewhere.
    pub fn read(dir: &Path) -> Result<Self, InstallError> {
        let contents = TreeContents::read(dir)?;
        let root = dir.canonicalize().map_err(InstallError::io("find", dir))?;
        let mut linked = BTreeMap::new();
        for (name, _) in contents.entries().iter().filter(|(_, entry)| matches!(entry, TreeEntry::Link(_))) {
            let path = dir.join(name);
            let Ok(target) = path.canonicalize() else { continue };
            if target.starts_with(&root) {
                continue;
            }
            if !target.is_file() {
                return Err(InstallError::refused_entry(
                    &path,
                    "is a symlink to a directory outside of the extension; replace the link with a copy of its target",
                ));
            }
            let read = || digest::copy_and_digest(File::open(&target)?, None);
            linked.insert(name.clone(), read().map_err(InstallError::io("read", &path))?);
        }
        Ok(Self { contents, linked })
    }

    /// Returns the differences from an earlier state, for the user; `None` if there are none.
    pub fn difference_from(&self, before: &Self) -> Option<String> {
        if self == before {
            return None;
        }
        let changes = self.contents.difference_from(&before.contents);
        if !changes.is_empty() {
            return Some(changes.to_string());
        }
        let linked = self.linked.keys().chain(before.linked.keys());
        let changed = linked.filter(|name| self.linked.get(*name) != before.linked.get(*name));
        changed.map(|name| format!("changed: the file that {} leads to", name.display())).next()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Checks the difference after a change of a directory with `gate.py` and the link `lib.py` to a file elsewhere.
    #[track_caller]
    fn check(change: impl FnOnce(&Path), expect: Option<&str>) {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("gate");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("gate.py"), "import json").unwrap();
        #[cfg(unix)]
        {
            fs::write(root.path().join("shared.py"), "one").unwrap();
            std::os::unix::fs::symlink("../shared.py", dir.join("lib.py")).unwrap();
        }
        let before = DirectoryCode::read(&dir).unwrap();
        change(&dir);
        let difference = DirectoryCode::read(&dir).unwrap().difference_from(&before);
        assert_eq!(difference.is_some(), expect.is_some(), "{difference:?}");
        assert!(expect.is_none_or(|text| difference.as_ref().unwrap().contains(text)), "{difference:?}");
    }

    #[test]
    fn notices_changed_added_and_linked_files() {
        check(|_| (), None);
        check(|dir| fs::write(dir.join("gate.py"), "import json").unwrap(), None);
        check(|dir| fs::write(dir.join("gate.py"), "pass").unwrap(), Some("gate.py"));
        check(|dir| fs::write(dir.join("json.py"), "").unwrap(), Some("json.py"));
        check(|dir| fs::remove_file(dir.join("gate.py")).unwrap(), Some("gate.py"));
        #[cfg(unix)]
        check(|dir| fs::write(dir.join("../shared.py"), "two").unwrap(), Some("lib.py"));
    }

    #[test]
    #[cfg(unix)]
    fn refuses_link_to_directory_elsewhere() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("lib")).unwrap();
        assert!(DirectoryCode::read(dir.path()).is_err());
    }
}
