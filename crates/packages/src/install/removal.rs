//! Removal of an extension without the user's own files.

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use super::lock::{ApprovalStore, InstallOrigin, LockEntry, LockFile};
use super::{ExtensionStore, InstallError, InstalledExtension, PreservedPath};
use crate::approval::error::with_causes;
use crate::approval::staging::{self, StagingArea};
use crate::approval::trees::sweep_warning;
use crate::approval::{copies, seal};
use crate::file_name::dir_name;
use crate::spec::ExtensionOrigin;

/// The directory for files that were in a removed extension's directory, beside that directory. It is not searched
/// for extensions.
const REMOVED: &str = ".removed";

/// The result of removing an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovalOutcome {
    /// The files in its directory that were not approved, at their new path.
    pub kept: Option<PreservedPath>,
    /// Warnings for the user about leftovers that could not be removed. The extension is removed.
    pub warnings: Vec<String>,
}

pub(super) fn remove(
    store: &ExtensionStore,
    row: &InstalledExtension,
) -> Result<RemovalOutcome, InstallError> {
    match &row.entry {
        Some(entry) => remove_approved(&store.approved, row, entry),
        None if row.origin == ExtensionOrigin::Project => {
            let parent = row.dir.parent().unwrap_or(&store.global);
            StagingArea::open(parent)?.discard(&row.dir).map(|()| RemovalOutcome::default())
        }
        None => remove_unapproved(&store.approved, row),
    }
}

fn remove_unapproved(
    approved: &ApprovalStore,
    row: &InstalledExtension,
) -> Result<RemovalOutcome, InstallError> {
    // While this lock is held, no process can approve the extension.
    let _workshop = StagingArea::open(approved.tree_store().dir())?;
    if approved.load()?.names_in_dir(&row.dir).next().is_some() {
        return Err(row.changed_meanwhile_error());
    }
    Ok(DisplacedDirectory::move_aside(&row.dir)?.delete_code(|_| {}))
}

fn remove_approved(
    approved: &ApprovalStore,
    row: &InstalledExtension,
    entry: &LockEntry,
) -> Result<RemovalOutcome, InstallError> {
    let (trees, name) = (approved.tree_store(), ExtensionName::new(&row.name));
    let staging_area = StagingArea::open(trees.dir())?;
    // The confirmation is valid for the looked-up version only.
    let is_known =
        |file: &LockFile| file.extensions.get(&name).is_some_and(|known| known.is_same_version(entry));
    let file = approved.load()?;
    if !is_known(&file) {
        return Err(row.changed_meanwhile_error());
    }
    let (mut aside, mut left) = (None, None);
    if let InstallOrigin::Placed { path, .. } = &entry.source
        && file.names_in_dir(path).all(|known| *known == name)
    {
        match path.symlink_metadata() {
            // Moved in one step, then inspected where it is not taken for an extension.
            Ok(_) => aside = Some(DisplacedDirectory::move_aside(path)?),
            Err(_) => left = leftover_warning(path),
        }
    }
    let edited = approved.edit(|file| {
        is_known(file).then(|| {
            file.extensions.remove(&name);
            file.referenced_trees()
        })
    });
    let done =
        edited.map_err(InstallError::from).and_then(|keep| keep.ok_or_else(|| row.changed_meanwhile_error()));
    let keep = done.inspect_err(|_| aside.iter().for_each(DisplacedDirectory::restore))?;
    let code = trees.verify(&entry.tree).ok();
    let clear = |copy: &Path| code.iter().for_each(|code| copies::clear(code, copy));
    if entry.runs_in_copy() {
        clear(&row.runs_in);
    }
    let mut removed = aside.map(|aside| aside.delete_code(clear)).unwrap_or_default();
    removed
        .warnings
        .extend(left.into_iter().chain(sweep_warning(trees.remove_unreferenced(&staging_area, &keep))));
    Ok(removed)
}

/// Returns a warning if the directory is missing and an interrupted removal has moved it aside: that process could
/// not report it.
fn leftover_warning(dir: &Path) -> Option<String> {
    let (place, name) = (removed_items_dir(dir), dir_name(dir));
    let is_its = |path: &PathBuf| {
        let number = dir_name(path).strip_prefix(&format!("{name}-")).map(str::to_owned);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries.map(|entry| entry.path()).filter(is_its).collect();
    all.sort();
    let all: Vec<_> = all.iter().map(|path| path.display().to_string()).collect();
    let text = || {
        format!(
            "{} was already removed; an earlier removal moved its other files to {}",
            dir.display(),
            all.join(", ")
        )
    };
    (!all.is_empty()).then(text)
}

/// Returns the directory that removed directories are moved to.
fn removed_items_dir(dir: &Path) -> PathBuf {
    dir.parent().unwrap_or(dir).join(REMOVED)
}

/// A directory that was moved aside.
struct DisplacedDirectory(PreservedPath);

impl DisplacedDirectory {
    fn move_aside(dir: &Path) -> Result<Self, InstallError> {
        let place = removed_items_dir(dir);
        fs::create_dir_all(&place).map_err(InstallError::io("create", &place))?;
        let to = free_path(&place, &dir_name(dir));
        // The user may have made the directory read-only.
        let move_it = || {
            seal::make_movable(dir)?;
            fs::rename(dir, &to)
        };
        let moved = move_it().map_err(InstallError::io("move aside", dir));
        let aside = Self(PreservedPath { from: dir.into(), to });
        moved.inspect_err(|_| aside.remove_empty_parent())?;
        Ok(aside)
    }

    /// Moves the directory back. If that fails, it is safe in its present place.
    fn restore(&self) {
        _ = fs::rename(&self.0.to, &self.0.from);
        self.remove_empty_parent();
    }

    /// Deletes files that need not be kept, with the function `code`.
    fn delete_code(self, code: impl Fn(&Path)) -> RemovalOutcome {
        let PreservedPath { from, to } = &self.0;
        let mut removed = RemovalOutcome::default();
        if to.is_symlink() {
            // Only the link is removed, because its target belongs to the user.
            if let Err(error) = staging::remove(to) {
                removed.warnings.push(format!(
                    "cannot remove the link from {}: {}",
                    from.display(),
                    with_causes(&error)
                ));
            }
        } else {
            code(to);
            if to.symlink_metadata().is_ok() {
                removed.kept = Some(self.0.clone());
            }
        }
        self.remove_empty_parent();
        removed
    }

    /// Removes the parent directory if it is empty.
    fn remove_empty_parent(&self) {
        _ = self.0.to.parent().map(fs::remove_dir);
    }
}

fn free_path(place: &Path, name: &str) -> PathBuf {
    let mut number = 1_u32;
    loop {
        let path = place.join(format!("{name}-{number}"));
        if path.symlink_metadata().is_err() {
            return path;
        }
        number += 1;
    }
}
