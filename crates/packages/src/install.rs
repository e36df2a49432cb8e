//! Management of extensions: install, approve, list, enable, disable, remove.
//!
//! Used by `haft ext` and by the code that runs approved extensions. If haft is killed at any point, an extension is
//! either complete or absent. No code of an extension runs before the user has approved exactly this code. A source
//! that tries to write files elsewhere is rejected.
//!
//! Approved code is in a store of trees, each named by its digest ([`TreeStore`]). The lock file ([`lock`]) lists the
//! trees that may run.

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

pub use crate::approval::{
    BackgroundSpawner, ChangeSet, CodePin, Digest, DirectoryCode, InstallError, LockFileToolPins,
    LostExtension, PreservedPath, RequiredExtensions, TreeContents, TreeError, TreeStore, approve_tools,
    check_approved, copy_and_digest, digest_of, files_beside_code, lock, lost_extensions,
};
pub use approve::{ApprovalLine, ApprovalOutcome, InstallProposal};
pub use list::{InstallStatus, InstalledExtension};
pub use removal::RemovalOutcome;
pub use rollback::{RollbackOutcome, RollbackTarget, UnusableVersion};
pub use source::{GitUrl, InstallSource};

/// The directories of extensions.
#[derive(Debug, Clone)]
pub struct ExtensionStore {
    /// `$HAFT_HOME/extensions`, which the user fills.
    pub global: PathBuf,
    /// The user's approvals.
    pub approved: ApprovalStore,
    /// `.haft/extensions` of the current project, if any.
    pub project: Option<PathBuf>,
    /// The agent's directory: programs in it never run the user's extensions.
    pub workspace: Option<PathBuf>,
    /// The value of `PATH`, to find `git` and a bare `exec`.
    pub path: Option<std::ffi::OsString>,
}

impl ExtensionStore {
    /// Creates the store of a haft home without a project. `path` is the value of `PATH`.
    pub fn for_home(root: &Path, path: Option<std::ffi::OsString>) -> Self {
        let (global, approved) = (root.join("extensions"), ApprovalStore::at(root));
        Self { global, approved, project: None, workspace: None, path }
    }

    /// Returns all extensions, the user's first, each group by name, with the error of the lock file if any.
    pub fn list(&self) -> (Vec<InstalledExtension>, Option<lock::LockError>) {
        let path = self.path.as_deref();
        let (file, error) = load_approvals(&self.approved);
        let owned = user_extensions(Some(&self.global), &self.approved, &file);
        let mut rows: Vec<InstalledExtension> =
            owned.into_iter().map(|owned| list::from_user_extension(owned, path)).collect();
        // The sort is stable, so approved extensions stay first among equal names.
        rows.sort_by_cached_key(|row| row.name.to_ascii_lowercase());
        if let Some(project) = &self.project {
            rows.extend(list::rows(project, ExtensionOrigin::Project, path));
        }
        (rows, error)
    }

    /// Finds the extension with this name in its manifest or this directory name. Without an `origin`, the user's
    /// extensions come before the project's, and approved ones before others.
    ///
    /// # Errors
    /// [`InstallError`] if there is none, or more than one.
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

    /// Returns the `git` that clones extensions, if there is one. It is looked up like a program of an extension.
    pub fn find_git(&self) -> Option<PathBuf> {
        self.program_search_path().find_program("git")
    }

    fn find_in_global_dir(&self, name: &str) -> Option<InstalledExtension> {
        let rows = list::rows(&self.global, ExtensionOrigin::Global, None);
        rows.into_iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// Enables or disables an extension. Returns true if that changed anything. For an extension that is not
    /// approved, only `enabled` in the manifest is changed; the rest stays byte for byte.
    ///
    /// # Errors
    /// [`InstallError`] if the manifest is broken, or a file cannot be written.
    pub fn set_enabled(&self, row: &InstalledExtension, enabled: bool) -> Result<bool, InstallError> {
        if row.entry.is_none() {
            return toggle::set_enabled(&row.dir, enabled);
        }
        let set = |entry: &mut LockEntry| {
            // Enabling or disabling keeps the approved version, so the pending update is dropped.
            let waited = entry.waiting.take().is_some();
            std::mem::replace(&mut entry.enabled, enabled) != enabled || waited
        };
        let changed =
            self.approved.edit(|file| file.extensions.get_mut(&ExtensionName::new(&row.name)).map(set))?;
        if !enabled {
            // Another program may have disabled it before.
            self.approved.forget_required(&row.name)?;
        }
        changed.ok_or_else(|| InstallError::NotFound { name: row.name.clone() })
    }

    /// Removes an extension: its code and its approval. Its data, its log, and the files that it wrote beside its
    /// code stay. In a directory in the global directory, only the approved files are deleted, and the rest is moved
    /// aside. Of a symlink, only the link is deleted. A project's directory is deleted.
    ///
    /// # Errors
    /// [`InstallError`], also if the approval changed since `row` was looked up; then nothing is changed.
    pub fn remove(&self, row: &InstalledExtension) -> Result<RemovalOutcome, InstallError> {
        let removed = removal::remove(self, row)?;
        if row.origin == ExtensionOrigin::Global {
            self.approved.forget_required(&row.name)?;
        }
        Ok(removed)
    }

    /// Finds the newest earlier version whose code is still the approved code. Reads all of its files.
    ///
    /// # Errors
    /// [`InstallError`] if there is none, with the reason for each version.
    pub fn find_rollback_target(&self, row: &InstalledExtension) -> Result<RollbackTarget, InstallError> {
        rollback::find_rollback_target(&self.approved, row)
    }

    /// Replaces the present version of an extension with an earlier one. A pending update is dropped; the earlier
    /// version is enabled if the extension was enabled before that update.
    ///
    /// # Errors
    /// [`InstallError`] if its code has changed, or if the approval has changed since `row` and `older` were looked
    /// up; then nothing is changed.
    pub fn roll_back(
        &self,
        row: &InstalledExtension,
        older: &RollbackTarget,
    ) -> Result<RollbackOutcome, InstallError> {
        rollback::roll_back(&self.approved, row, older)
    }
}
