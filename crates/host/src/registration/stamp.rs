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
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::install::{Digest, Pin};
use crate::manifest::MANIFEST_FILE;
use crate::spec::{ExtensionSpec, Launch};
use crate::timeouts::{CLOCK_LAG, DATE_STEP};

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

/// Nanoseconds since the epoch of the last change of content and of anything, and the number of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Change(i64, i64, u64);

/// Files outside of extensions that were looked at since a start began: many extensions have one interpreter.
#[derive(Debug, Default)]
pub(crate) struct Glances(RefCell<HashMap<String, Option<Glance>>>);

/// What a file looked like: its length, and when it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance(u64, Change);

impl Glance {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self(metadata.len(), Change::of(metadata))
    }
}

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
            now == Some(Glance(*length, *change))
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

impl Change {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self(
            nanos(metadata.mtime(), metadata.mtime_nsec()),
            nanos(metadata.ctime(), metadata.ctime_nsec()),
            metadata.ino(),
        )
    }

    /// Without the date of any change, and without a number.
    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let nanos = |time: std::io::Result<SystemTime>| {
            let since = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            i64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
        };
        Self(nanos(metadata.modified()), nanos(metadata.created()), 0)
    }

    /// All of it, to be hashed.
    pub(crate) fn bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        let (dates, number) = bytes.split_at_mut(16);
        let (modified, changed) = dates.split_at_mut(8);
        modified.copy_from_slice(&self.0.to_le_bytes());
        changed.copy_from_slice(&self.1.to_le_bytes());
        number.copy_from_slice(&self.2.to_le_bytes());
        bytes
    }

    /// Whether a change from then on has another date.
    pub(crate) fn is_older_than(&self, since: SystemTime) -> bool {
        let since = since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_older = |date: i64| {
            let oldest = since.saturating_sub(step(date)).as_nanos();
            u128::try_from(date).map_or(true, |date| date < oldest)
        };
        is_older(self.0) && is_older(self.1)
    }
}

/// How much later a change may be and still have this date. Whole seconds are dates of a system that knows no finer ones;
/// where files may be on any, as on Windows, all count as such.
fn step(date: i64) -> Duration {
    let is_coarse = cfg!(not(unix)) || date % 1_000_000_000 == 0;
    if is_coarse { DATE_STEP } else { CLOCK_LAG }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::host::stream_spec;
    use crate::install::digest_of;
    use crate::install::lock::Approved;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    #[cfg(unix)]
    fn a_date_is_trusted_when_its_step_is_over() {
        let check = |date: i64, after: Duration, expect: bool| {
            let since = UNIX_EPOCH + Duration::from_nanos(date.unsigned_abs()) + after;
            let old = SECOND + 1;
            assert_eq!(Change(date, old, 1).is_older_than(since), expect, "{date} {after:?}");
            assert_eq!(Change(old, date, 1).is_older_than(since), expect, "{date} {after:?}");
        };
        let (fine, coarse) = (50 * SECOND + 123_456_789, 50 * SECOND);
        for (date, step) in [(fine, CLOCK_LAG), (coarse, DATE_STEP)] {
            check(date, Duration::ZERO, false);
            check(date, step, false);
            check(date, step + Duration::from_nanos(1), true);
        }
    }

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

    #[test]
    fn what_is_dated_later_is_not_older() {
        assert!(!Change(9 * SECOND + 1, 1, 1).is_older_than(UNIX_EPOCH));
        assert!(Change(-SECOND, -SECOND, 1).is_older_than(UNIX_EPOCH + DATE_STEP));
    }
}
