//! Code in the store whose approval was lost, together with the lock file that named it.

use std::path::PathBuf;

use super::lock::{Approved, LockFile};
use crate::manifest::Manifest;

/// An extension that was approved once: its code is there, and no lock file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The manifest's name and version.
    pub title: String,
    /// Whether what it guards must not happen without it.
    pub required: bool,
    /// Where its code lies.
    pub dir: PathBuf,
}

/// Returns the extensions in the store that `file` does not name, as far as their manifests can be read. Older versions
/// of an approved extension are not among them.
pub fn lost_extensions(approved: &Approved, file: &LockFile) -> Vec<Lost> {
    let places = approved.trees().beside(&file.trees()).into_iter();
    let manifests = places.filter_map(|dir| Some((Manifest::read(&dir).ok()?, dir)));
    let mut lost: Vec<Lost> = manifests
        .filter(|(manifest, _)| file.find(manifest.name.as_str()).is_none())
        .map(|(Manifest { name, version, roles, .. }, dir)| {
            let title = version.map_or_else(|| name.to_string(), |version| format!("{name} {version}"));
            Lost { title, required: roles.required, dir }
        })
        .collect();
    lost.sort_by(|one, other| one.title.cmp(&other.title));
    lost
}
