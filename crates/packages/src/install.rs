//! Extensions come and go: install, approve, list, enable, disable, remove.
//!
//! For whom: `haft ext`, and whoever runs what was approved. The promise: wherever haft is stopped or killed, an extension is
//! there whole or not at all; nothing of it is run before the user has approved exactly this; a source that tries to place
//! files elsewhere is refused.
//!
//! What was approved lies in a store of trees under their own digests ([`Trees`]); which of them may run stands in the lock
//! file ([`lock`]).

mod approve;
mod contents;
mod copies;
mod copy;
mod digest;
mod error;
mod git;
mod interpreter;
mod list;
pub mod lock;
mod lost;
mod owned;
mod pin;
mod removal;
mod rollback;
mod source;
mod toggle;
mod tools;
mod trees;
mod verify;
mod workshop;

use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use crate::spec::Origin;
use lock::{Approved, Entry};

pub use approve::{Accepted, Line, Proposal, quoted};
pub use contents::Contents;
pub use copies::Kept;
pub use copy::{MAX_BYTES, MAX_DEPTH, MAX_ENTRIES};
pub use digest::{Digest, copied, digest_of};
pub use error::InstallError;
pub use haft_protocol::difference::Difference;
pub use haft_protocol::digest::NoDigest;
pub use list::{Row, State};
pub use lost::Lost;
pub(crate) use owned::{Held, Owned, owned};
pub use pin::Pin;
pub use removal::Removed;
pub use rollback::{Older, Passed, RolledBack};
pub use source::{GitUrl, Source};
pub use tools::{Background, LockedTools};
pub use trees::{TreeError, Trees};

/// The directories that extensions are kept in.
#[derive(Debug, Clone)]
pub struct Store {
    /// `$HAFT_HOME/extensions`: what the user put there by hand.
    pub global: PathBuf,
    /// What the user approved.
    pub approved: Approved,
    /// `.haft/extensions` of the project somebody works in, if any.
    pub project: Option<PathBuf>,
    /// The directory that somebody works in: no program that lies in it runs an extension of the user's.
    pub workspace: Option<PathBuf>,
    /// The value of `PATH`, to find `git` and what a bare `exec` means.
    pub path: Option<std::ffi::OsString>,
}

impl Store {
    /// That of a home of haft's, seen from no project. `path` is the value of `PATH`.
    pub fn of_home(root: &Path, path: Option<std::ffi::OsString>) -> Self {
        let (global, approved) = (root.join("extensions"), Approved::at(root));
        Self { global, approved, project: None, workspace: None, path }
    }

    /// Everything that is there, the user's first, each by name. What is wrong with the lock file comes beside it.
    pub fn list(&self) -> (Vec<Row>, Option<lock::LockError>) {
        let path = self.path.as_deref();
        let (owned, error) = owned(Some(&self.global), &self.approved);
        let mut rows: Vec<Row> = owned.into_iter().map(|owned| list::owned(owned, path)).collect();
        // Of one name what was approved stays first.
        rows.sort_by_cached_key(|row| row.name.to_ascii_lowercase());
        if let Some(project) = &self.project {
            rows.extend(list::rows(project, Origin::Project, path));
        }
        (rows, error)
    }

    /// The one extension of that name: its manifest's, or its directory's. Where `origin` is open, the user's own
    /// come before the project's, and what was approved before what was not.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, name: &str, origin: Option<Origin>) -> Result<Row, InstallError> {
        let wanted = |row: &Row| {
            origin.is_none_or(|origin| row.origin == origin) && (row.name == name || row.dir_name() == name)
        };
        let mut found: Vec<_> = self.list().0.into_iter().filter(wanted).collect();
        if found.iter().any(|row| row.origin == Origin::Global) {
            found.retain(|row| row.origin == Origin::Global);
        }
        let mut rows = found.into_iter();
        match (rows.next(), rows.next()) {
            (None, _) => Err(InstallError::NotFound { name: name.into() }),
            (Some(row), None) => Ok(row),
            (Some(first), Some(second)) => {
                Err(InstallError::Ambiguous { name: name.into(), first: first.dir, second: second.dir })
            }
        }
    }

    /// The `git` that clones extensions, which is looked for like any program of theirs; none where there is none.
    pub fn git(&self) -> Option<PathBuf> {
        self.places().program("git")
    }

    /// What lies in the global directory under this name, whatever its case.
    fn placed(&self, name: &str) -> Option<Row> {
        let rows = list::rows(&self.global, Origin::Global, None);
        rows.into_iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// Switches an extension on or off; says whether that changed anything. Of one that was not approved `enabled` is
    /// written into the manifest, the rest of which is left as it is, byte for byte.
    ///
    /// # Errors
    /// [`InstallError`] when the manifest is broken, or something cannot be written.
    pub fn set_enabled(&self, row: &Row, enabled: bool) -> Result<bool, InstallError> {
        if row.entry.is_none() {
            return toggle::set_enabled(&row.dir, enabled);
        }
        let set = |entry: &mut Entry| {
            // Whoever switches it on or off goes on with what is approved: that answers a version that waits.
            let waited = entry.waiting.take().is_some();
            std::mem::replace(&mut entry.enabled, enabled) != enabled || waited
        };
        let changed =
            self.approved.edit(|file| file.extensions.get_mut(&ExtensionName::new(&row.name)).map(set))?;
        changed.ok_or_else(|| InstallError::NotFound { name: row.name.clone() })
    }
}
