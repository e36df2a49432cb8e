//! Full checks for diagnosis, not needed to run an extension: an extension against its approval, and the store
//! against the lock file.

use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use super::contents::{TreeContents, walk_tree};
use super::error::with_causes;
use super::lock::{ApprovalStore, InstallOrigin, LockEntry, LockFile};
use super::pin::check_program_exists;
use crate::manifest::{MANIFEST_FILE, Manifest};

/// Returns the differences of an extension from its approval, for the user.
pub fn check_approved(approved: &ApprovalStore, entry: &LockEntry) -> Vec<String> {
    let mut wrong = Vec::new();
    let trees = approved.tree_store();
    match trees.verify(&entry.tree) {
        Err(error) => wrong.push(with_causes(&error)),
        Ok(code) => {
            let manifest = code.file_digest(Path::new(MANIFEST_FILE));
            if manifest != Some(entry.manifest) {
                wrong.push("its manifest differs from the approved one".to_owned());
            }
        }
    }
    if let Some(Err(why)) = entry.interpreter.as_deref().map(check_program_exists) {
        wrong.push(why);
    }
    if let InstallOrigin::Placed { path, .. } = &entry.source {
        match TreeContents::read(path) {
            Err(error) => wrong.push(with_causes(&error)),
            Ok(now) if now.digest() == entry.tree => {}
            Ok(now) => {
                let what = trees.difference(&entry.tree, &now).unwrap_or_default();
                wrong.push(format!("{} differs from the approved code: {what}", path.display()));
            }
        }
    }
    wrong
}

/// Returns the paths in the private copy of an extension that are not approved code; of a whole directory of such
/// files, only its own path. They belong to the extension, but a process that starts there may run them as code.
pub fn files_beside_code(approved: &ApprovalStore, name: &ExtensionName, entry: &LockEntry) -> Vec<PathBuf> {
    let mut beside: Vec<PathBuf> = Vec::new();
    if !entry.runs_in_copy() {
        return beside;
    }
    let code = approved.tree_store().tree_path(&entry.tree);
    // If the walk fails, the paths found so far are returned.
    _ = walk_tree(&approved.copy_dir(name), &mut |name, _, _| {
        let is_within = beside.last().is_some_and(|dir| name.starts_with(dir));
        if !is_within && code.join(name).symlink_metadata().is_err() {
            beside.push(name.to_owned());
        }
        Ok(())
    });
    beside
}

/// An extension whose code is in the store but not in the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostExtension {
    /// The manifest's name.
    pub name: ExtensionName,
    /// The manifest's name and version.
    pub title: String,
    /// True if the actions that the extension guards must not happen without it.
    pub required: bool,
    /// The directory of its code.
    pub dir: PathBuf,
}

/// Returns the extensions in the store that `file` does not name and whose manifests can be read. Earlier versions of
/// approved extensions are left out.
pub fn lost_extensions(approved: &ApprovalStore, file: &LockFile) -> Vec<LostExtension> {
    let places = approved.tree_store().orphaned_trees(&file.referenced_trees()).into_iter();
    let manifests = places.filter_map(|dir| Some((Manifest::read(&dir).ok()?, dir)));
    let mut lost: Vec<LostExtension> = manifests
        .filter(|(manifest, _)| file.find(manifest.name.as_str()).is_none())
        .map(|(Manifest { name, version, roles, .. }, dir)| {
            let title = version.map_or_else(|| name.to_string(), |version| format!("{name} {version}"));
            LostExtension { name, title, required: roles.required, dir }
        })
        .collect();
    lost.sort_by(|one, other| one.title.cmp(&other.title));
    lost
}
