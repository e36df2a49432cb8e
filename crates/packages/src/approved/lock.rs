//! `extensions.lock.json`: which extensions the user approved, and exactly what of them.
//!
//! Whatever is wrong with the file, nothing is approved.

mod entry;
mod open;

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::trees::TreeStore;
use super::{copies, workshop};
use crate::file_name::safe_file_name;
use crate::glance::FileStamp;

pub use entry::{Approval, ApprovalMethod, InstallOrigin, LockEntry, PendingUpdate};
pub use open::LockError;

const VERSION: u32 = 1;

/// The name of the next lock file until it is whole.
const NEW: &str = "extensions.lock.json.new";

/// Where the user's approvals are kept, and what was approved: `$HAFT_HOME`. Clones remember together what the lock file
/// said last.
#[derive(Debug, Clone)]
pub struct ApprovalStore {
    root: PathBuf,
    trees: TreeStore,
    /// The file that this process read last, and what it looked like: each extension that starts asks for it.
    last_read: Arc<Mutex<LastRead>>,
}

type LastRead = Option<(FileStamp, Arc<LockFile>)>;

/// The content of the lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    version: u32,
    /// By name.
    pub extensions: BTreeMap<ExtensionName, LockEntry>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { version: VERSION, extensions: BTreeMap::new() }
    }
}

impl LockFile {
    /// The extension of that name, whatever its case: names that differ only in case are one name.
    pub fn find(&self, name: &str) -> Option<(&ExtensionName, &LockEntry)> {
        self.extensions.iter().find(|(known, _)| known.as_str().eq_ignore_ascii_case(name))
    }

    /// Returns the names approved in this directory, one at most unless another program wrote the file.
    pub(crate) fn names_in_dir(&self, dir: &Path) -> impl Iterator<Item = &ExtensionName> {
        let is_there = move |entry: &LockEntry| matches!(&entry.source, InstallOrigin::Placed { path, .. } if path == dir);
        self.extensions.iter().filter(move |(_, entry)| is_there(entry)).map(|(name, _)| name)
    }

    /// All code that an entry runs, or ran before.
    pub(crate) fn referenced_trees(&self) -> HashSet<Digest> {
        let entries = self.extensions.values();
        entries.flat_map(LockEntry::versions).map(|entry| entry.tree).collect()
    }
}

impl ApprovalStore {
    /// Below this directory, which need not be there yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self { trees: TreeStore::at(root.join("store")), root, last_read: Arc::default() }
    }

    /// `extensions.lock.json`.
    pub fn lock_file_path(&self) -> PathBuf {
        self.root.join("extensions.lock.json")
    }

    /// `store`.
    pub fn tree_store(&self) -> TreeStore {
        self.trees.clone()
    }

    /// Sweeps up what a killed process left, unless somebody is at work there. Where there is nothing it is a look at two
    /// empty directories.
    pub(crate) fn remove_leftovers(&self) {
        workshop::sweep_leftovers(self.tree_store().dir());
        copies::remove_old_scraps(&self.root.join("copies"));
    }

    /// `copies/NAME`: where an extension runs whose manifest asks for no permissions.
    pub fn copy_dir(&self, name: &ExtensionName) -> PathBuf {
        self.root.join("copies").join(safe_file_name(name.as_str()))
    }

    /// Where an extension runs.
    pub fn run_dir(&self, name: &ExtensionName, entry: &LockEntry) -> PathBuf {
        if entry.runs_in_copy() { self.copy_dir(name) } else { self.tree_store().tree_path(&entry.tree) }
    }

    /// Reads the lock file; where there is none, nothing is approved.
    ///
    /// # Errors
    /// [`LockError`] when it is a link, another user's, can be written by others, or is damaged.
    pub fn load(&self) -> Result<LockFile, LockError> {
        self.read().map(Arc::unwrap_or_clone)
    }

    /// Returns the present content of the lock file. It is read only when it looks otherwise than when this process
    /// read or wrote it last.
    pub(crate) fn load_cached(&self) -> Result<Arc<LockFile>, LockError> {
        // Of the name itself: a link in its place is another thing.
        let now = self.lock_file_path().symlink_metadata().ok().as_ref().map(FileStamp::from_metadata);
        let known = self
            .last_read()
            .as_ref()
            .filter(|(glance, _)| now == Some(*glance))
            .map(|(_, file)| Arc::clone(file));
        known.map_or_else(|| self.read(), Ok)
    }

    /// Reads the file, and remembers it for [`load_cached`](Self::load_cached).
    fn read(&self) -> Result<Arc<LockFile>, LockError> {
        let path = self.lock_file_path();
        let Some((text, glance)) = open::read_lock_file(&path)? else { return Ok(Arc::default()) };
        let file = Arc::new(parse_lock_file(&path, &text)?);
        *self.last_read() = Some((glance, Arc::clone(&file)));
        Ok(file)
    }

    fn last_read(&self) -> MutexGuard<'_, LastRead> {
        self.last_read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the lock file. Two that do it at the same time do it one after the other.
    ///
    /// # Errors
    /// As [`load`](Self::load), and when it cannot be written; it is then as it was.
    pub fn edit<T>(&self, change: impl FnOnce(&mut LockFile) -> T) -> Result<T, LockError> {
        let path = self.lock_file_path();
        let write = |source| LockError::Write { path: path.clone(), source };
        fs::create_dir_all(&self.root).map_err(write)?;
        // Closing the file ends the lock.
        let lock = File::create(self.root.join("extensions.lock")).map_err(write)?;
        lock.lock().map_err(write)?;
        // Nobody else is at it, so what is there was left by somebody who was killed.
        _ = fs::remove_file(self.root.join(NEW));
        // What it looks like is not enough here: what another process has written must not be lost.
        let before = self.read()?;
        let mut file = LockFile::clone(&before);
        let outcome = change(&mut file);
        if file != *before {
            for tree in before.referenced_trees().difference(&file.referenced_trees()) {
                if let Err(error) = self.trees.mark_unreferenced(tree) {
                    tracing::warn!(%tree, %error, "code that nobody needs any more stays in the store");
                }
            }
            replace(&path, &file).map_err(write)?;
        }
        Ok(outcome)
    }
}

#[derive(Deserialize)]
struct LockFileVersion {
    version: u32,
}

fn parse_lock_file(path: &Path, text: &str) -> Result<LockFile, LockError> {
    let newer = || LockError::Newer { path: path.into() };
    match serde_json::from_str::<LockFile>(text) {
        Ok(file) if file.version == VERSION => Ok(file),
        Ok(_) => Err(newer()),
        Err(error) => match serde_json::from_str(text) {
            // What only a newer haft knows is no damage.
            Ok(LockFileVersion { version }) if version != VERSION => Err(newer()),
            Ok(_) | Err(_) => Err(LockError::Damaged {
                path: path.into(),
                line: error.line(),
                column: error.column(),
                detail: error.to_string(),
            }),
        },
    }
}

/// Writes beside the file and then puts the new one in its place. Made by `tempfile`, it has mode 600 from the start.
fn replace(path: &Path, content: &LockFile) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(NEW).rand_bytes(0).tempfile_in(dir)?;
    let mut text = serde_json::to_string_pretty(content)?;
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The name is what makes it permanent. It holds already, so the change is no failure when this is one.
    if cfg!(unix)
        && let Err(error) = File::open(dir).and_then(|dir| dir.sync_all())
    {
        tracing::warn!(dir = %dir.display(), %error, "a power failure may undo what was just approved or removed");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
