//! `extensions.lock.json`: the approved extensions, with the digest and the grant of each.
//!
//! If the file has any problem, no extension is approved.

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
use super::{copies, staging};
use crate::file_name::safe_file_name;
use crate::file_stamp::FileStamp;

pub use entry::{Approval, ApprovalMethod, InstallOrigin, LockEntry, PendingUpdate};
pub use open::LockError;
pub(super) use open::read_private_file;

const VERSION: u32 = 1;

/// The name of the new lock file until it is complete.
const NEW: &str = "extensions.lock.json.new";

/// The user's approvals and the approved code, in `$HAFT_HOME`. Clones share the cached content of the lock file.
#[derive(Debug, Clone)]
pub struct ApprovalStore {
    root: PathBuf,
    trees: TreeStore,
    /// The file that this process read last, and its metadata. Each extension that starts reads it.
    last_read: Arc<Mutex<LastRead>>,
}

type LastRead = Option<(FileStamp, Arc<LockFile>)>;

/// The content of the lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    version: u32,
    /// The approvals by name.
    pub extensions: BTreeMap<ExtensionName, LockEntry>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { version: VERSION, extensions: BTreeMap::new() }
    }
}

impl LockFile {
    /// Returns the extension of that name, ignoring case: names that differ only in case are the same.
    pub fn find(&self, name: &str) -> Option<(&ExtensionName, &LockEntry)> {
        self.extensions.iter().find(|(known, _)| known.as_str().eq_ignore_ascii_case(name))
    }

    /// Returns the names approved in this directory: at most one, unless another program wrote the file.
    pub(crate) fn names_in_dir(&self, dir: &Path) -> impl Iterator<Item = &ExtensionName> {
        let is_there = move |entry: &LockEntry| matches!(&entry.source, InstallOrigin::Placed { path, .. } if path == dir);
        self.extensions.iter().filter(move |(_, entry)| is_there(entry)).map(|(name, _)| name)
    }

    /// Returns the digests of all code that an entry runs, or ran before.
    pub(crate) fn referenced_trees(&self) -> HashSet<Digest> {
        let entries = self.extensions.values();
        entries.flat_map(LockEntry::versions).map(|entry| entry.tree).collect()
    }
}

impl ApprovalStore {
    /// Creates the store in this directory, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self { trees: TreeStore::at(root.join("store")), root, last_read: Arc::default() }
    }

    /// Returns the path of `extensions.lock.json`.
    pub fn lock_file_path(&self) -> PathBuf {
        self.root.join("extensions.lock.json")
    }

    /// Returns the store of approved code, in `store`.
    pub fn tree_store(&self) -> TreeStore {
        self.trees.clone()
    }

    /// Removes leftovers of killed processes, unless another process holds the lock. Costs a look at two directories
    /// if there are none.
    pub(crate) fn remove_leftovers(&self) {
        staging::sweep_leftovers(self.tree_store().dir());
        copies::remove_old_scraps(&self.root.join("copies"));
    }

    /// Returns `copies/NAME`: the directory in which an extension without permissions in its manifest runs.
    pub fn copy_dir(&self, name: &ExtensionName) -> PathBuf {
        self.root.join("copies").join(safe_file_name(name.as_str()))
    }

    /// Returns the directory in which an extension runs.
    pub fn run_dir(&self, name: &ExtensionName, entry: &LockEntry) -> PathBuf {
        if entry.runs_in_copy() { self.copy_dir(name) } else { self.tree_store().tree_path(&entry.tree) }
    }

    /// Returns the path of `required.json`.
    pub fn required_file_path(&self) -> PathBuf {
        self.root.join("required.json")
    }

    /// Reads the lock file. Without a file, no extension is approved.
    ///
    /// # Errors
    /// [`LockError`] if it is a link, belongs to another user, is writable by others, or is damaged.
    pub fn load(&self) -> Result<LockFile, LockError> {
        self.read().map(Arc::unwrap_or_clone)
    }

    /// Returns the present content of the lock file. Reads it only if its metadata changed since this process last
    /// read or wrote it.
    pub(crate) fn load_cached(&self) -> Result<Arc<LockFile>, LockError> {
        // The metadata of the name itself: a link in its place is another file.
        let now = self.lock_file_path().symlink_metadata().ok().as_ref().map(FileStamp::from_metadata);
        let known = self
            .last_read()
            .as_ref()
            .filter(|(glance, _)| now == Some(*glance))
            .map(|(_, file)| Arc::clone(file));
        known.map_or_else(|| self.read(), Ok)
    }

    /// Reads the file, and caches it for [`load_cached`](Self::load_cached).
    fn read(&self) -> Result<Arc<LockFile>, LockError> {
        let path = self.lock_file_path();
        let Some((text, glance)) = read_private_file(&path)? else { return Ok(Arc::default()) };
        let file = Arc::new(parse_lock_file(&path, &text)?);
        *self.last_read() = Some((glance, Arc::clone(&file)));
        Ok(file)
    }

    fn last_read(&self) -> MutexGuard<'_, LastRead> {
        self.last_read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other process changes the files of approvals. Closing the returned file releases the lock.
    pub(super) fn lock_files(&self) -> Result<File, LockError> {
        let path = self.root.join("extensions.lock");
        let write = |source| LockError::Write { path: path.clone(), source };
        fs::create_dir_all(&self.root).map_err(write)?;
        let lock = File::create(&path).map_err(write)?;
        lock.lock().map_err(write)?;
        Ok(lock)
    }

    /// Changes the lock file after a command of the user, and the record of required extensions with it. Concurrent
    /// changes wait for each other.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load) and [`required_extensions`](Self::required_extensions); then the file is
    /// unchanged. [`LockError::Write`] if a file cannot be written.
    pub fn edit<T>(&self, change: impl FnOnce(&mut LockFile) -> T) -> Result<T, LockError> {
        let path = self.lock_file_path();
        let write = |source| LockError::Write { path: path.clone(), source };
        let _lock = self.lock_files()?;
        // This process holds the lock, so an existing file is left over from a killed process.
        _ = fs::remove_file(self.root.join(NEW));
        // Unchanged metadata is not enough here: a change by another process must not be lost.
        let before = self.read()?;
        let mut file = LockFile::clone(&before);
        let outcome = change(&mut file);
        if file != *before {
            let (recorded, now_required) = self.required_change(&before, &file)?;
            for tree in before.referenced_trees().difference(&file.referenced_trees()) {
                if let Err(error) = self.trees.mark_unreferenced(tree) {
                    tracing::warn!(%tree, %error, "cannot mark code in the store as unused, so it stays there");
                }
            }
            replace_file(&path, NEW, &file).map_err(write)?;
            // Written last: after a failure, an extension too many is required, never one too few.
            self.replace_required(&recorded, &now_required)?;
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
            // Unknown fields of a newer version are not damage.
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

/// Writes a new file named `new` beside the old one and renames it. `tempfile` creates it with mode 600.
pub(super) fn replace_file(path: &Path, new: &str, content: &impl Serialize) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(new).rand_bytes(0).tempfile_in(dir)?;
    let mut text = serde_json::to_string_pretty(content)?;
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // Syncing the directory makes the rename permanent. The change is already in effect, so a failure is only a
    // warning.
    if cfg!(unix)
        && let Err(error) = File::open(dir).and_then(|dir| dir.sync_all())
    {
        tracing::warn!(dir = %dir.display(), %error, "cannot sync the directory; a power failure may undo the last approval or removal");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
