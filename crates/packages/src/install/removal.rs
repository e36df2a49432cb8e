//! Taking an extension away, and nothing with it that is the user's own.

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use super::lock::{ApprovalStore, InstallOrigin, LockEntry, LockFile};
use super::{ExtensionStore, InstallError, InstalledExtension, PreservedPath};
use crate::approved::error::with_causes;
use crate::approved::trees::sweep_warning;
use crate::approved::workshop::{self, StagingArea};
use crate::approved::{copies, seal};
use crate::file_name::dir_name;
use crate::spec::ExtensionOrigin;

/// Where things are kept that lay in a removed extension's directory, beside that. Nobody looks for extensions there.
const REMOVED: &str = ".removed";

/// The outcome of removing an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemovalOutcome {
    /// The files in its directory that were not approved, by where they are now.
    pub kept: Option<PreservedPath>,
    /// Warnings about leftovers that could not be cleared away, for people. The extension is gone all the same.
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
    // As long as this is held nobody approves it.
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
    let workshop = StagingArea::open(trees.dir())?;
    // The yes is for what was looked up.
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
            // At once and whole: what it holds is looked at where nobody takes it for an extension.
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
        .extend(left.into_iter().chain(sweep_warning(trees.remove_unreferenced(&workshop, &keep))));
    Ok(removed)
}

/// Of a directory that is gone, what people are told when removals have moved something of that name aside: whoever was killed
/// at it has told nobody.
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
            "{} was gone already; what a removal before this moved aside is in {}",
            dir.display(),
            all.join(", ")
        )
    };
    (!all.is_empty()).then(text)
}

/// Where a directory is moved aside to.
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
        // The user may have kept it from being written to.
        let move_it = || {
            seal::make_movable(dir)?;
            fs::rename(dir, &to)
        };
        let moved = move_it().map_err(InstallError::io("move aside", dir));
        let aside = Self(PreservedPath { from: dir.into(), to });
        moved.inspect_err(|_| aside.remove_empty_parent())?;
        Ok(aside)
    }

    /// Undoes it. Where it is now it is safe, too.
    fn restore(&self) {
        _ = fs::rename(&self.0.to, &self.0.from);
        self.remove_empty_parent();
    }

    /// Deletes what nobody needs to keep: `code` does that in a directory.
    fn delete_code(self, code: impl Fn(&Path)) -> RemovalOutcome {
        let PreservedPath { from, to } = &self.0;
        let mut removed = RemovalOutcome::default();
        if to.is_symlink() {
            // It is the link that was put there; what it leads to is somebody else's.
            if let Err(error) = workshop::remove(to) {
                removed.warnings.push(format!(
                    "the link from {} is left: {}",
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

    /// The place of what is kept stays only while it holds something.
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
