//! Approval of an extension: the user sees everything, and exactly the shown code is approved.
//!
//! The tree is first copied to a directory that no other process writes to. The copy is shown, hashed and approved,
//! so later changes of the source do not matter.

mod approval_lines;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ExtensionName;

use super::interpreter::{self, ProgramSearchPath};
use super::lock::{
    Approval, ApprovalMethod, ApprovalStore, InstallOrigin, LockEntry, LockFile, PendingUpdate,
};
use super::{
    ChangeSet, Digest, ExtensionStore, InstallError, InstallSource, PreservedPath, TreeContents, git,
};
use crate::approval::contents::TreeStampHasher;
use crate::approval::staging::{StagingArea, StagingDir};
use crate::approval::trees::sweep_warning;
use crate::approval::{copies, copy};
use crate::manifest::permission::{PermissionLine, Permissions};
use crate::manifest::{MANIFEST_FILE, Manifest};

pub use approval_lines::ApprovalLine;

/// An extension that waits for approval. Nothing is changed yet, and none of its code has run.
///
/// It holds no lock: other proposals, also of the same extension, can be approved in the meantime.
#[derive(Debug)]
pub struct InstallProposal {
    approved: ApprovalStore,
    /// The directory that holds the copy until the approval.
    staging_dir: StagingDir,
    manifest: Manifest,
    contents: TreeContents,
    entry: LockEntry,
    before: Option<PreviousApproval>,
}

/// The present approval under the same name.
#[derive(Debug)]
struct PreviousApproval {
    entry: LockEntry,
    /// `None` if its code is missing and cannot be compared.
    difference: Option<ChangeSet>,
}

/// The result of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalOutcome {
    /// The name of the extension.
    pub name: ExtensionName,
    /// The new entry of the lock file.
    pub entry: LockEntry,
    /// The directory in which it will run.
    pub dir: PathBuf,
    /// True if another version was approved before.
    pub replaced: bool,
    /// The extension's own files that were moved aside for files of this version.
    pub kept: Vec<PreservedPath>,
    /// Warnings for the user about leftovers that could not be removed. The approval is in effect.
    pub warnings: Vec<String>,
}

impl ExtensionStore {
    /// Fetches an extension and prepares its approval.
    ///
    /// # Errors
    /// [`InstallError`]; then nothing is changed.
    pub fn propose(&self, source: &InstallSource) -> Result<InstallProposal, InstallError> {
        let staging_area = self.open_staging_area()?;
        let staging_dir = staging_area.create_staging_dir()?;
        match source {
            InstallSource::Directory(dir) => {
                drop(staging_area);
                self.refuse_installed(dir)?;
                let install_origin = InstallOrigin::Directory { path: dir.clone() };
                self.propose_tree(staging_dir, dir, install_origin, Some(dir))
            }
            InstallSource::Git(url) => {
                let clone = staging_area.create_staging_dir()?;
                drop(staging_area);
                let checkout = clone.path().join("checkout");
                let commit = git::clone(url, &checkout, self.program_search_path())?;
                let install_origin = InstallOrigin::Git { url: url.to_string(), commit: Some(commit) };
                self.propose_tree(staging_dir, &checkout, install_origin, None)
                    .map_err(|error| error.relative_to_checkout(&checkout))
            }
        }
    }

    /// Prepares the approval of an extension in the global directory, in `dir`.
    ///
    /// # Errors
    /// The same as [`propose`](Self::propose).
    pub fn propose_in_place(&self, dir: &Path) -> Result<InstallProposal, InstallError> {
        let install_origin = InstallOrigin::Placed { path: dir.into(), looks: None };
        let staging_dir = self.open_staging_area()?.create_staging_dir()?;
        self.propose_tree(staging_dir, dir, install_origin, Some(dir))
    }

    pub(super) fn program_search_path(&self) -> ProgramSearchPath<'_> {
        ProgramSearchPath { path: self.path.as_deref(), workspace: self.workspace.as_deref() }
    }

    fn open_staging_area(&self) -> Result<StagingArea, InstallError> {
        StagingArea::open(self.approved.tree_store().dir())
    }

    fn refuse_installed(&self, dir: &Path) -> Result<(), InstallError> {
        let (dir, global) = (dir.canonicalize(), self.global.canonicalize());
        match (dir, global) {
            (Ok(dir), Ok(global)) if dir.starts_with(&global) => {
                let problem =
                    "is already in a directory of extensions; run `haft ext trust NAME` to approve it there";
                Err(InstallError::refused_entry(&dir, problem))
            }
            _ => Ok(()),
        }
    }

    fn propose_tree(
        &self,
        staging_dir: StagingDir,
        source: &Path,
        install_origin: InstallOrigin,
        origin: Option<&Path>,
    ) -> Result<InstallProposal, InstallError> {
        // Reject a wrong directory before the copy.
        let name = Manifest::read(source)?.name;
        let tree = staging_dir.path().join("tree");
        copy::copy_tree(source, &tree, self.approved.tree_store().dir())?;
        let manifest = Manifest::read(&tree)?;
        let contents = TreeContents::read(&tree)?;
        let digest = contents.file_digest(Path::new(MANIFEST_FILE));
        let digest = digest.filter(|_| manifest.name == name);
        let digest = digest.ok_or_else(|| InstallError::Changed { dir: source.into() })?;
        let interpreter =
            interpreter::resolve_interpreter(&manifest, &tree, origin, self.program_search_path())
                .map_err(|error| error.in_source(&tree, source))?;
        let entry = LockEntry {
            source: install_origin,
            tree: contents.digest(),
            manifest: digest,
            interpreter,
            required: manifest.roles.required,
            is_gate: manifest.roles.is_gate(),
            permissions: manifest.permissions.clone(),
            sandbox: manifest.permissions.as_ref().map(Permissions::level),
            enabled: manifest.enabled,
            tools: BTreeMap::new(),
            changed: BTreeMap::new(),
            locks: BTreeMap::new(),
            waiting: None,
            approved: Approval {
                at: current_timestamp(),
                how: ApprovalMethod::Terminal,
                haft: String::new(),
            },
            previous: Vec::new(),
        };
        let before = self.previous_approval(&name, &contents, &entry)?;
        Ok(InstallProposal {
            approved: self.approved.clone(),
            staging_dir,
            manifest,
            contents,
            entry,
            before,
        })
    }

    /// Returns the present approval under this name. Rejects a name that differs only in case, and one that is in use
    /// in another directory.
    fn previous_approval(
        &self,
        name: &ExtensionName,
        contents: &TreeContents,
        entry: &LockEntry,
    ) -> Result<Option<PreviousApproval>, InstallError> {
        if !matches!(entry.source, InstallOrigin::Placed { .. })
            && let Some(row) = self.find_in_global_dir(name.as_str())
        {
            return Err(InstallError::Exists { name: name.clone(), dir: row.dir });
        }
        let file = self.approved.load()?;
        if let Some(known) = other_name_in_dir(&file, name, &entry.source) {
            return Err(known);
        }
        let Some((known, before)) = file.find(name.as_str()) else { return Ok(None) };
        let moved = matches!(
            (&before.source, &entry.source),
            (InstallOrigin::Git { .. } | InstallOrigin::Directory { .. }, InstallOrigin::Placed { .. })
        );
        if known != name || moved {
            let from = before.source.to_string();
            return Err(InstallError::Taken { name: name.clone(), known: known.clone(), from });
        }
        let difference = self.approved.tree_store().difference(&before.tree, contents);
        Ok(Some(PreviousApproval { entry: before.clone(), difference }))
    }
}

/// Returns an error if the directory was approved under another name. Otherwise the loss of that extension, and of
/// its gate, would go unnoticed.
fn other_name_in_dir(file: &LockFile, name: &ExtensionName, source: &InstallOrigin) -> Option<InstallError> {
    let InstallOrigin::Placed { path, .. } = source else { return None };
    let known = file.names_in_dir(path).find(|known| !known.as_str().eq_ignore_ascii_case(name.as_str()))?;
    Some(InstallError::Renamed { dir: path.clone(), name: name.clone(), known: known.clone() })
}

impl InstallProposal {
    /// Returns the name of the extension.
    pub fn name(&self) -> &ExtensionName {
        &self.manifest.name
    }

    /// Returns its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the entry for the lock file.
    pub fn entry(&self) -> &LockEntry {
        &self.entry
    }

    /// Returns the present approval under this name.
    fn previous_entry(&self) -> Option<&LockEntry> {
        self.before.as_ref().map(|before| &before.entry)
    }

    /// Returns the permissions beyond those of the present version, as text. Empty without a present version.
    pub fn excess_permissions(&self) -> Vec<PermissionLine> {
        let Some(PreviousApproval { entry: before, .. }) = &self.before else { return Vec::new() };
        match (&self.entry.permissions, &before.permissions) {
            (Some(asked), Some(granted)) => asked.excess_over(granted),
            // An extension without permissions has all rights, which is more than any permission.
            (None, Some(_)) => vec![PermissionLine {
                permission: "permissions",
                text: "was removed from the manifest, so the extension would run WITHOUT A SANDBOX"
                    .to_owned(),
                red: true,
            }],
            (_, None) => Vec::new(),
        }
    }

    /// Declines the proposal. If it requests more permissions than were granted, the present version does not run
    /// either until the user decides; then returns true.
    ///
    /// # Errors
    /// [`InstallError`] if the lock file cannot be written.
    pub fn decline(self) -> Result<bool, InstallError> {
        if self.excess_permissions().is_empty() || !is_up(Defense::MoreAsked) {
            return Ok(false);
        }
        let waits = self.approved.clone().edit(|file| {
            // Another version was approved while the user was asked.
            if !self.is_up_to_date(file) {
                return false;
            }
            let Self { manifest, entry: LockEntry { tree, source, .. }, .. } = self;
            let Some(known) = file.extensions.get_mut(&manifest.name) else { return false };
            let enabled = known.waiting.take().map_or(known.enabled, |waiting| waiting.enabled);
            known.enabled = false;
            known.waiting = Some(PendingUpdate { tree, source, enabled });
            true
        })?;
        Ok(waits)
    }

    /// True if exactly this code from the same source is approved already, so that the user need not be asked.
    pub fn is_approved(&self) -> bool {
        self.before.as_ref().is_some_and(|before| {
            let PreviousApproval { entry: before, difference } = before;
            let same = (before.tree, &before.interpreter, before.sandbox)
                == (self.entry.tree, &self.entry.interpreter, self.entry.sandbox);
            // A missing or damaged tree in the store is restored.
            same && before.source.is_same_origin(&self.entry.source)
                && difference.as_ref().is_some_and(ChangeSet::is_empty)
                && before.waiting.is_none()
        })
    }

    fn is_up_to_date(&self, file: &LockFile) -> bool {
        if other_name_in_dir(file, &self.manifest.name, &self.entry.source).is_some() {
            return false;
        }
        let now = file.find(self.manifest.name.as_str()).map(|(_, entry)| entry);
        match (now, self.previous_entry()) {
            (None, None) => true,
            (Some(now), Some(before)) => now.is_same_version(before),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    /// Records a new origin of code that is already approved: another commit can have the same content. Returns true
    /// if the origin changed.
    ///
    /// # Errors
    /// [`InstallError`] if the lock file cannot be written, or if the approval has changed.
    pub fn record_origin(self) -> Result<bool, InstallError> {
        let _workshop = StagingArea::open(self.approved.tree_store().dir())?;
        let source = stamp_origin(self.entry.source.clone(), &self.entry.tree);
        let recorded = self.approved.edit(|file| {
            let is_about = self.is_up_to_date(file);
            let known = file.extensions.get_mut(&self.manifest.name).filter(|_| is_about)?;
            let is_other = known.source.to_string() != source.to_string();
            known.source = source;
            Some(is_other)
        })?;
        recorded.ok_or(InstallError::ConcurrentChange { name: self.manifest.name })
    }

    /// Approves the proposal: from now on exactly this code runs. `haft` is the version of the program that asked.
    ///
    /// # Errors
    /// [`InstallError`], also if the approval of this name has changed in the meantime; then nothing is approved. A
    /// failure after the approval is a warning.
    pub fn accept(self, how: ApprovalMethod, haft: &str) -> Result<ApprovalOutcome, InstallError> {
        let staging_area = StagingArea::open(self.approved.tree_store().dir())?;
        if !self.is_up_to_date(&self.approved.load()?) {
            return Err(InstallError::ConcurrentChange { name: self.manifest.name });
        }
        let Self { approved, staging_dir, manifest, contents, entry, before } = self;
        let (trees, name) = (approved.tree_store(), manifest.name);
        let tree = entry.tree;
        let put = || trees.insert_tree(&staging_area, &staging_dir.path().join("tree"), &tree);
        // The code is stored first, so that the lock file never names missing code.
        if is_up(Defense::WholeInstalls) {
            put()?;
        }
        let approval = Approval { at: current_timestamp(), how, haft: haft.to_owned() };
        let source = stamp_origin(entry.source, &entry.tree);
        let entry = LockEntry { approved: approval, source, ..entry };
        let dir = approved.run_dir(&name, &entry);
        let older = before.as_ref().map(|before| &before.entry);
        let kept = trees.prepare_copy(older, &entry, &contents, &dir)?;
        // The present entry counts: the extension may have been disabled in the meantime.
        let edited = approved.edit(|file| {
            let entry = entry.replacing(file.extensions.remove(&name));
            file.extensions.insert(name.clone(), entry.clone());
            (entry, file.referenced_trees())
        });
        let (entry, keep) = edited.inspect_err(|_| copies::undo_moves(&kept))?;
        if !is_up(Defense::WholeInstalls) {
            put()?;
        }
        let copy = trees.restore_copy(&entry, &contents, &dir);
        let warnings =
            copy.into_iter().chain(sweep_warning(trees.remove_unreferenced(&staging_area, &keep))).collect();
        Ok(ApprovalOutcome { name, entry, dir, replaced: before.is_some(), kept, warnings })
    }
}

/// Returns the origin with the metadata hash of a directory that is approved in place, if the directory still holds
/// this tree and the hash is reliable.
fn stamp_origin(source: InstallOrigin, tree: &Digest) -> InstallOrigin {
    let InstallOrigin::Placed { path, .. } = source else { return source };
    // The metadata is taken before the files are read, so that a change in between shows.
    let looks = TreeStampHasher::stamp_tree(&path).ok().filter(|(_, tells)| *tells);
    let holds = || TreeContents::read(&path).is_ok_and(|now| now.digest() == *tree);
    let looks = looks.map(|(looks, _)| looks).filter(|_| holds());
    InstallOrigin::Placed { path, looks }
}

fn current_timestamp() -> String {
    jiff::Timestamp::now().strftime("%FT%TZ").to_string()
}

#[cfg(test)]
mod tests;
