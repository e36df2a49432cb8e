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

impl Approved {
    /// What the store holds beside the extensions of this file, as far as manifests can be read. What an approved
    /// extension was before is not told.
    pub fn lost(&self, file: &LockFile) -> Vec<Lost> {
        let places = self.trees().beside(&file.trees()).into_iter();
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
}
