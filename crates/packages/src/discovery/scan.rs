//! One directory of extensions.

use std::path::Path;

use super::{Candidate, DiscoveryErrorKind, dir_name};
use crate::manifest::Manifest;

/// The extensions in `dir`, ordered by name. Symlinked directories are followed; files, hidden directories and
/// directories without a manifest are none. A directory that does not exist holds nothing.
pub(crate) fn scan(dir: &Path) -> Vec<Candidate> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(source) => {
            let kind = DiscoveryErrorKind::List { dir: dir.into(), source };
            return vec![Candidate { dir: dir.into(), manifest: Err(kind) }];
        }
    };
    let mut candidates: Vec<_> = entries
        .flatten()
        // What the listing says needs no further look.
        .map(|entry| (entry.file_type().is_ok_and(|kind| kind.is_dir()), entry.path()))
        .filter(|(is_dir, path)| {
            !dir_name(path).starts_with('.') && (*is_dir || path.is_dir() || is_dangling(path))
        })
        .map(|(_, path)| path)
        .filter_map(|dir| match Manifest::read(&dir) {
            Err(error) if error.is_missing() => None,
            manifest => Some(Candidate { dir, manifest: manifest.map_err(Into::into) }),
        })
        .collect();
    candidates.sort_by_cached_key(|candidate| (candidate.name(), dir_name(&candidate.dir)));
    candidates
}

/// A symlink to nothing: somebody meant an extension to be here, so it is an error and not passed over.
fn is_dangling(path: &Path) -> bool {
    path.is_symlink() && !path.exists()
}

impl Candidate {
    /// The manifest's name, or the directory's when there is no readable manifest.
    pub(crate) fn name(&self) -> String {
        match &self.manifest {
            Ok(manifest) => manifest.name.as_str().to_owned(),
            Err(_) => dir_name(&self.dir),
        }
    }
}
