//! What an extension's files look like, as far as the system tells without reading them: enough to know that what it
//! registered when it last ran still holds.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::spec::{ExtensionSpec, Launch};

/// Files and directories that are looked at; an extension of more is always started.
const MAX_LOOKED_AT: usize = 256;

/// Directories within an extension's that are left out, beside hidden ones: what is installed or built into them
/// changes with something beside them.
const LEFT_OUT: &[&str] = &["node_modules", "__pycache__", "target", "venv"];

/// All files of an extension, its program and its script among them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    dirs: Vec<Directory>,
    /// Ordered by path.
    files: Vec<File>,
}

/// A directory, relative to the extension's, and when its list of names last changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Directory(String, Change);

/// A file, relative to the extension's directory or absolute, its length and when it changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct File(String, u64, Change);

/// Nanoseconds since the epoch of the last change of content and of anything, and the number of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Change(i64, i64, u64);

/// Files outside of extensions that were looked at since a start began: many extensions have one interpreter.
#[derive(Debug, Default)]
pub(crate) struct Glances(RefCell<HashMap<String, Option<Glance>>>);

/// The length of a file, and when it changed.
type Glance = (u64, Change);

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

fn glance(path: &Path) -> Option<Glance> {
    fs::metadata(path).ok().filter(Metadata::is_file).map(|now| (now.len(), Change::of(&now)))
}

impl Stamp {
    /// Looks at everything; nothing when that is too much, or cannot be written down.
    pub(crate) fn take(spec: &ExtensionSpec) -> Option<Self> {
        let mut stamp = Self { dirs: Vec::new(), files: Vec::new() };
        stamp.add_dir(&spec.dir, String::new())?;
        if let Launch::Process { program, args } = &spec.launch {
            stamp.add_file(&spec.dir, program.strip_prefix(&spec.dir).unwrap_or(program).to_str()?)?;
            for arg in args.iter().filter(|arg| spec.dir.join(arg).is_file()) {
                stamp.add_file(&spec.dir, arg)?;
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
                false => glance(&spec.dir.join(path)),
            };
            now == Some((*length, *change))
        };
        let same_names = |Directory(path, change): &Directory| {
            fs::metadata(spec.dir.join(path)).is_ok_and(|now| Change::of(&now) == *change)
        };
        self.files.iter().all(same_file)
            // A name that came and went, or is none of a file that counts, changes nothing.
            && (self.dirs.iter().all(same_names) || Self::take(spec).is_some_and(|now| now.files == self.files))
    }

    /// Whether nothing has changed since then. Changes are dated by a clock that may lag by `lag`.
    pub(crate) fn is_older_than(&self, since: SystemTime, lag: Duration) -> bool {
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(lag);
        let since = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        self.files.iter().all(|File(_, _, Change(content, any, _))| *content.max(any) < since)
    }

    fn add_dir(&mut self, root: &Path, path: String) -> Option<()> {
        let dir = root.join(&path);
        // Before its names are read: what comes later changes it.
        let change = Change::of(&fs::metadata(&dir).ok()?);
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
        self.dirs.push(Directory(path, change));
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

impl Change {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self(
            nanos(metadata.mtime(), metadata.mtime_nsec()),
            nanos(metadata.ctime(), metadata.ctime_nsec()),
            metadata.ino(),
        )
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        let nanos = |time: std::io::Result<SystemTime>| {
            let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
        };
        Self(nanos(metadata.modified()), nanos(metadata.created()), 0)
    }
}
