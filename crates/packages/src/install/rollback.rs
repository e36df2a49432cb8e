//! Rollback to an earlier approved version.

use haft_protocol::ids::ExtensionName;

use super::lock::{ApprovalStore, InstallOrigin, LockEntry};
use super::{InstallError, InstalledExtension, PreservedPath};
use crate::approval::copies;
use crate::approval::error::with_causes;
use crate::approval::staging::StagingArea;

/// An earlier version that can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackTarget {
    /// The entry for the lock file.
    pub entry: LockEntry,
    /// Newer versions that cannot be restored, the newest first.
    pub unusable_versions: Vec<UnusableVersion>,
}

/// A version that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnusableVersion {
    /// The approved entry.
    pub entry: LockEntry,
    /// The reason, for the user.
    pub why: String,
}

/// The result of a rollback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackOutcome {
    /// The new entry of the lock file.
    pub entry: LockEntry,
    /// The extension's own files that were moved aside for files of the earlier version.
    pub kept: Vec<PreservedPath>,
    /// Warnings for the user about steps that could not be completed. The rollback is in effect.
    pub warnings: Vec<String>,
}

/// Finds a version to roll back to, see
/// [`ExtensionStore::find_rollback_target`](super::ExtensionStore::find_rollback_target).
pub(super) fn find_rollback_target(
    approved: &ApprovalStore,
    row: &InstalledExtension,
) -> Result<RollbackTarget, InstallError> {
    let name = ExtensionName::new(&row.name);
    let mut passed = Vec::new();
    for (index, older) in row.entry.iter().flat_map(|entry| &entry.previous).enumerate() {
        let back = row.entry.as_ref().and_then(|entry| entry.rollback_to(index));
        match (back, unusable_reason(approved, older)) {
            (Some(entry), None) => return Ok(RollbackTarget { entry, unusable_versions: passed }),
            (_, why) => {
                let why = why.unwrap_or_else(|| "no such version".to_owned());
                passed.push(UnusableVersion { entry: older.clone(), why });
            }
        }
    }
    if passed.is_empty() {
        return Err(InstallError::NoEarlierVersion { name });
    }
    let all: Vec<_> = passed
        .iter()
        .map(|UnusableVersion { entry, why }| format!("{}: {why}", entry.tree.short_hex()))
        .collect();
    Err(InstallError::NoneUsable { name, why: all.join("; ") })
}

fn unusable_reason(approved: &ApprovalStore, older: &LockEntry) -> Option<String> {
    if let InstallOrigin::Placed { path, .. } = &older.source {
        return Some(format!("it was in {}, where you may have changed its files", path.display()));
    }
    approved.tree_store().verify(&older.tree).err().map(|error| with_causes(&error))
}

pub(super) fn roll_back(
    approved: &ApprovalStore,
    row: &InstalledExtension,
    older: &RollbackTarget,
) -> Result<RollbackOutcome, InstallError> {
    let trees = approved.tree_store();
    let _workshop = StagingArea::open(trees.dir())?;
    let (name, older) = (ExtensionName::new(&row.name), &older.entry);
    let unusable = |error| InstallError::Tree { name: name.clone(), source: error };
    let code = trees.verify(&older.tree).map_err(unusable)?;
    let dir = approved.run_dir(&name, older);
    let kept = trees.prepare_copy(row.entry.as_ref(), older, &code, &dir)?;
    let edited = approved.edit(|file| {
        let known = file.extensions.get_mut(&name)?;
        row.entry.as_ref().filter(|shown| known.is_same_version(shown))?;
        let index = known.previous.iter().position(|version| version.is_same_version(older))?;
        *known = known.rollback_to(index)?;
        Some(known.clone())
    });
    let done =
        edited.map_err(InstallError::from).and_then(|done| done.ok_or_else(|| row.changed_meanwhile_error()));
    let entry = done.inspect_err(|_| copies::undo_moves(&kept))?;
    let warnings = trees.restore_copy(&entry, &code, &dir).into_iter().collect();
    Ok(RollbackOutcome { entry, kept, warnings })
}
