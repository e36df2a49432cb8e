//! What an extension's files look like, as far as the system tells without reading them: enough to know that what it
//! registered when it last ran still holds.
//!
//! A date tells nothing of a second change within its own step: 2 s on some file systems. A file that was changed within
//! a step before the extension was started is not relied upon, nor the date of a directory that was changed within one
//! before it was looked at.
//!
//! What was approved is put back before each start, so that the digest of it says all of those files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Component, Path};
use std::time::SystemTime;

use haft_packages::glance::{Change, Glance};
use haft_packages::install::{Digest, Pin};
use haft_packages::manifest::MANIFEST_FILE;
use haft_packages::{ExtensionSpec, Launch};
use serde::{Deserialize, Serialize};

/// Files and directories that are looked at; an extension of more is always started.
const MAX_LOOKED_AT: usize = 256;

/// Directories within an extension's that are left out, beside hidden ones: what is installed or built into them
/// changes with something beside them.
const LEFT_OUT: &[&str] = &["node_modules", "__pycache__", "target", "venv"];

/// All files of an extension, its program and its script among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// The approved code, none of whose files is named below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Digest>,
    dirs: Vec<Directory>,
    /// Ordered by path.
    files: Vec<File>,
}

/// A directory, relative to the extension's, and when its list of names last changed; nothing when that does not tell
/// whether it has changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Directory(String, Option<Change>);

/// A file, relative to the extension's directory or absolute, its length and when it changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct File(String, u64, Change);

/// Files outside of extensions that were looked at since a start began: many extensions have one interpreter.
#[derive(Debug, Default)]
pub(crate) struct Glances(RefCell<HashMap<String, Option<Glance>>>);

impl Glances {
    fn at(&self, path: &str) -> Option<Glance> {
        if let Some(known) = self.0.borrow().get(path) {
            return *known;
        }
        let now = glance(Path::new(path));
        self.0.borrow_mut().insert(path.to_owned(), now);
        now
    }
}

/// What the user approved, and is run.
fn code(spec: &ExtensionSpec) -> Option<Digest> {
    spec.pin.as_ref().map(|pin| pin.tree)
}

/// Whether this is a file of the approved code. A link of it may lead to one that is not.
fn is_put_back(pin: &Pin, path: &Path) -> bool {
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
    let approved = || pin.trees.place(&pin.tree).join(path).symlink_metadata();
    is_below && approved().is_ok_and(|metadata| metadata.is_file())
}

fn glance(path: &Path) -> Option<Glance> {
    fs::metadata(path).ok().filter(Metadata::is_file).as_ref().map(Glance::of)
}

impl Stamp {
    /// Looks at everything; nothing when that is too much, or cannot be written down.
    pub(crate) fn take(spec: &ExtensionSpec) -> Option<Self> {
        let mut stamp = Self { code: code(spec), dirs: Vec::new(), files: Vec::new() };
        stamp.add_dir(&spec.dir, String::new())?;
        if let Launch::Process { program, args } = &spec.launch {
            stamp.add_file(&spec.dir, program.strip_prefix(&spec.dir).unwrap_or(program).to_str()?)?;
            for arg in args.iter().filter(|arg| spec.dir.join(arg).is_file()) {
                stamp.add_file(&spec.dir, arg)?;
            }
        }
        if let Some(pin) = &spec.pin {
            stamp.files.retain(|File(path, ..)| !is_put_back(pin, Path::new(path)));
            if pin.copy.is_none() {
                // Nobody adds anything there, or it is not started.
                stamp.dirs.clear();
            }
        }
        stamp.files.sort();
        Some(stamp)
    }

    /// Whether everything is as it was.
    pub(crate) fn holds(&self, spec: &ExtensionSpec, glances: &Glances) -> bool {
        let same_file = |File(path, length, change): &File| {
            let now = match Path::new(path).is_absolute() {
                true => glances.at(path),
                // What discovery read counts: what it says of the extension comes from there.
                false if path == MANIFEST_FILE && spec.manifest.is_some() => spec.manifest,
                false => glance(&spec.dir.join(path)),
            };
            now == Some(Glance::new(*length, *change))
        };
        let same_names = |Directory(path, change): &Directory| {
            fs::metadata(spec.dir.join(path)).is_ok_and(|now| Some(Change::of(&now)) == *change)
        };
        self.code == code(spec)
            && self.files.iter().all(same_file)
            // A name that came and went, or is none of a file that counts, changes nothing.
            && (self.dirs.iter().all(same_names) || Self::take(spec).is_some_and(|now| now.files == self.files))
    }

    /// Whether no file has changed since then.
    pub(crate) fn is_older_than(&self, since: SystemTime) -> bool {
        self.files.iter().all(|File(_, _, change)| change.is_older_than(since))
    }

    fn add_dir(&mut self, root: &Path, path: String) -> Option<()> {
        let (dir, now) = (root.join(&path), SystemTime::now());
        // Before its names are read: what comes later changes it.
        let change = Some(Change::of(&fs::metadata(&dir).ok()?));
        for entry in fs::read_dir(&dir).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let name = name.to_str()?;
            if name.starts_with('.') {
                continue;
            }
            let below = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let kind = entry.file_type().ok()?;
            if kind.is_symlink() && entry.path().is_dir() {
                // What lies behind it may change, and may lead back here.
                return None;
            }
            if kind.is_file() || (kind.is_symlink() && entry.path().is_file()) {
                self.add_file(root, &below)?;
            } else if kind.is_dir() && !LEFT_OUT.contains(&name) {
                self.add_dir(root, below)?;
            }
        }
        self.dirs.push(Directory(path, change.filter(|change| change.is_older_than(now))));
        self.has_room()
    }

    fn add_file(&mut self, root: &Path, path: &str) -> Option<()> {
        if self.files.iter().any(|File(known, ..)| known == path) {
            return Some(());
        }
        let now = fs::metadata(root.join(path)).ok()?;
        self.files.push(File(path.to_owned(), now.len(), Change::of(&now)));
        self.has_room()
    }

    fn has_room(&self) -> Option<()> {
        (self.files.len() + self.dirs.len() <= MAX_LOOKED_AT).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::supervision::streams::stream_spec;
    use haft_packages::install::digest_of;
    use haft_packages::install::lock::Approved;

    /// An approved extension, and where it runs.
    fn approved(root: &Path, runs_in_copy: bool) -> ExtensionSpec {
        let trees = Approved::at(root).trees();
        let tree = digest_of(b"x");
        let (place, copy) = (trees.place(&tree), root.join("copy"));
        for dir in [&place, &copy] {
            fs::create_dir_all(dir).unwrap();
            fs::write(dir.join("extension.json"), "{}").unwrap();
            fs::write(dir.join("run"), "").unwrap();
        }
        let dir = if runs_in_copy { copy.clone() } else { place };
        let copy = runs_in_copy.then_some(copy);
        let pin = Arc::new(Pin { trees, tree, copy, interpreter: None, changed: None });
        let launch = Launch::Process { program: dir.join("run"), args: vec!["../run".into(), "own".into()] };
        ExtensionSpec { dir, launch, pin: Some(pin), ..stream_spec("x") }
    }

    #[test]
    fn of_what_was_approved_only_its_own_files_are_looked_at() {
        let root = tempfile::tempdir().unwrap();
        let spec = approved(root.path(), true);
        fs::write(spec.dir.join("own"), "1").unwrap();
        fs::write(root.path().join("run"), "").unwrap();
        let stamp = Stamp::take(&spec).unwrap();
        let names: Vec<_> = stamp.files.iter().map(|File(path, ..)| path.as_str()).collect();
        assert_eq!(names, ["../run", "own"]);
        let holds = |spec: &ExtensionSpec| stamp.holds(spec, &Glances::default());
        fs::write(spec.dir.join("run"), "put back before it starts").unwrap();
        assert!(holds(&spec));
        let pin = Pin { tree: digest_of(b"y"), ..Pin::clone(spec.pin.as_ref().unwrap()) };
        assert!(!holds(&ExtensionSpec { pin: Some(Arc::new(pin)), ..spec.clone() }), "other code");
        assert!(!holds(&ExtensionSpec { pin: None, ..spec.clone() }), "not approved");
        fs::write(spec.dir.join("new"), "").unwrap();
        assert!(!holds(&spec));
        fs::remove_file(spec.dir.join("new")).unwrap();
        assert!(holds(&spec));
        fs::write(spec.dir.join("own"), "22").unwrap();
        assert!(!holds(&spec));
    }

    #[test]
    fn what_runs_in_the_store_is_its_digest() {
        let root = tempfile::tempdir().unwrap();
        let stamp = Stamp::take(&approved(root.path(), false)).unwrap();
        assert_eq!((stamp.dirs.len(), stamp.files.len(), stamp.code), (0, 0, Some(digest_of(b"x"))));
    }
}
