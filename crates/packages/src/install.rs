//! Extensions come and go: install, approve, list, enable, disable, remove.
//!
//! For whom: `haft ext`, and whoever runs what was approved. The promise: wherever haft is stopped or killed, an extension is
//! there whole or not at all; nothing of it is run before the user has approved exactly this; a source that tries to place
//! files elsewhere is refused.
//!
//! What was approved lies in a store of trees under their own digests ([`TreeStore`]); which of them may run stands in the lock
//! file ([`lock`]).

mod approve;
mod git;
mod interpreter;
mod list;
mod removal;
mod rollback;
mod source;
mod toggle;

use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use crate::discovery::{load_approvals, user_extensions};
use crate::file_name::dir_name;
use crate::spec::ExtensionOrigin;
use lock::{ApprovalStore, LockEntry};

pub use crate::approved::{
    BackgroundSpawner, ChangeSet, CodePin, Digest, InstallError, LockFileToolPins, LostExtension,
    PreservedPath, TreeContents, TreeError, TreeStore, approve_tools, check_approved, copy_and_digest,
    digest_of, files_beside_code, lock, lost_extensions,
};
pub use approve::{ApprovalLine, ApprovalOutcome, InstallProposal, shell_quote};
pub use list::{InstallStatus, InstalledExtension};
pub use removal::RemovalOutcome;
pub use rollback::{RollbackOutcome, RollbackTarget, UnusableVersion};
pub use source::{GitUrl, InstallSource};

/// The directories that extensions are kept in.
#[derive(Debug, Clone)]
pub struct ExtensionStore {
    /// `$HAFT_HOME/extensions`: what the user put there by hand.
    pub global: PathBuf,
    /// The user's approvals.
    pub approved: ApprovalStore,
    /// `.haft/extensions` of the project somebody works in, if any.
    pub project: Option<PathBuf>,
    /// The directory that somebody works in: no program that lies in it runs an extension of the user's.
    pub workspace: Option<PathBuf>,
    /// The value of `PATH`, to find `git` and what a bare `exec` means.
    pub path: Option<std::ffi::OsString>,
}

impl ExtensionStore {
    /// Makes the store of a home of haft, seen from no project. `path` is the value of `PATH`.
    pub fn for_home(root: &Path, path: Option<std::ffi::OsString>) -> Self {
        let (global, approved) = (root.join("extensions"), ApprovalStore::at(root));
        Self { global, approved, project: None, workspace: None, path }
    }

    /// Everything that is there, the user's first, each by name. What is wrong with the lock file comes beside it.
    pub fn list(&self) -> (Vec<InstalledExtension>, Option<lock::LockError>) {
        let path = self.path.as_deref();
        let (file, error) = load_approvals(&self.approved);
        let owned = user_extensions(Some(&self.global), &self.approved, &file);
        let mut rows: Vec<InstalledExtension> =
            owned.into_iter().map(|owned| list::from_user_extension(owned, path)).collect();
        // Of one name what was approved stays first.
        rows.sort_by_cached_key(|row| row.name.to_ascii_lowercase());
        if let Some(project) = &self.project {
            rows.extend(list::rows(project, ExtensionOrigin::Project, path));
        }
        (rows, error)
    }

    /// The one extension of that name: its manifest's, or its directory's. Where `origin` is open, the user's own
    /// come before the project's, and what was approved before what was not.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(
        &self,
        name: &str,
        origin: Option<ExtensionOrigin>,
    ) -> Result<InstalledExtension, InstallError> {
        let wanted = |row: &InstalledExtension| {
            origin.is_none_or(|origin| row.origin == origin)
                && (row.name == name || dir_name(&row.dir) == name)
        };
        let mut found: Vec<_> = self.list().0.into_iter().filter(wanted).collect();
        if found.iter().any(|row| row.origin == ExtensionOrigin::Global) {
            found.retain(|row| row.origin == ExtensionOrigin::Global);
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
    pub fn find_git(&self) -> Option<PathBuf> {
        self.program_search_path().find_program("git")
    }

    fn find_in_global_dir(&self, name: &str) -> Option<InstalledExtension> {
        let rows = list::rows(&self.global, ExtensionOrigin::Global, None);
        rows.into_iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// Switches an extension on or off; says whether that changed anything. Of one that was not approved `enabled` is
    /// written into the manifest, the rest of which is left as it is, byte for byte.
    ///
    /// # Errors
    /// [`InstallError`] when the manifest is broken, or something cannot be written.
    pub fn set_enabled(&self, row: &InstalledExtension, enabled: bool) -> Result<bool, InstallError> {
        if row.entry.is_none() {
            return toggle::set_enabled(&row.dir, enabled);
        }
        let set = |entry: &mut LockEntry| {
            // Whoever switches it on or off goes on with what is approved: that answers a version that waits.
            let waited = entry.waiting.take().is_some();
            std::mem::replace(&mut entry.enabled, enabled) != enabled || waited
        };
        let changed =
            self.approved.edit(|file| file.extensions.get_mut(&ExtensionName::new(&row.name)).map(set))?;
        changed.ok_or_else(|| InstallError::NotFound { name: row.name.clone() })
    }

    /// Removes an extension: its code and its approval. Its data, its log, and the files that it wrote beside its code stay.
    /// Of a directory in the global directory only the approved files are deleted, and the rest is moved aside; of a
    /// symlink, only the link. A project's directory is deleted.
    ///
    /// # Errors
    /// [`InstallError`], also if something else is approved by now than when `row` was looked up; then nothing has changed.
    pub fn remove(&self, row: &InstalledExtension) -> Result<RemovalOutcome, InstallError> {
        removal::remove(self, row)
    }

    /// Finds the newest version that was approved before the present one and whose code is still what was approved. Reads
    /// all of it.
    ///
    /// # Errors
    /// [`InstallError`] if there is none; it says why of each.
    pub fn find_rollback_target(&self, row: &InstalledExtension) -> Result<RollbackTarget, InstallError> {
        rollback::find_rollback_target(&self.approved, row)
    }

    /// Puts an older version in the place of an extension's. A newer one that waits for an answer is not asked about any
    /// more: the older one runs if the extension ran before that came.
    ///
    /// # Errors
    /// [`InstallError`] if it is not what it was, or what is approved has changed since `row` and `older` were looked up;
    /// then nothing is changed.
    pub fn roll_back(
        &self,
        row: &InstalledExtension,
        older: &RollbackTarget,
    ) -> Result<RollbackOutcome, InstallError> {
        rollback::roll_back(&self.approved, row, older)
    }
}
