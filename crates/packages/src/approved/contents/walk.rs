//! Going through a tree in the order of its names, within the limits of an extension.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::super::copy::{MAX_DEPTH, MAX_ENTRIES, is_git_dir_name};
use super::super::digest::{self, Digest};
use super::{InstallError, slash_separated};
use crate::glance::FileStamp;

type TreeVisitor<'a> = dyn FnMut(&Path, &Path, &Metadata) -> Result<(), InstallError> + 'a;

/// Shows everything in a tree, directories before what is in them, but for what belongs to git. Links are not followed.
pub(in super::super) fn walk_tree(root: &Path, visit: &mut TreeVisitor<'_>) -> Result<(), InstallError> {
    let mut entries = 0;
    walk_directory(root, Path::new(""), 1, &mut entries, visit)
}

fn walk_directory(
    root: &Path,
    name: &Path,
    depth: usize,
    entries: &mut usize,
    visit: &mut TreeVisitor<'_>,
) -> Result<(), InstallError> {
    if depth > MAX_DEPTH {
        return Err(InstallError::too_large(
            root,
            format!("more than {MAX_DEPTH} directories inside each other"),
        ));
    }
    let dir = if name.as_os_str().is_empty() { root.to_owned() } else { root.join(name) };
    let mut names: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&dir).map_err(InstallError::io("list", &dir))? {
        let entry = entry.map_err(InstallError::io("list", &dir))?;
        *entries += 1;
        if *entries > MAX_ENTRIES {
            return Err(InstallError::too_large(root, format!("more than {MAX_ENTRIES} files")));
        }
        if !is_git_dir_name(&entry.file_name()) {
            names.push(name.join(entry.file_name()));
        }
    }
    names.sort();
    for name in names {
        let path = root.join(&name);
        let metadata = path.symlink_metadata().map_err(InstallError::io("read", &path))?;
        let is_known = metadata.is_dir() || metadata.is_symlink() || metadata.is_file();
        if !is_known {
            return Err(InstallError::refused(&path, "is neither a file nor a directory"));
        }
        visit(&name, &path, &metadata)?;
        if metadata.is_dir() {
            walk_directory(root, &name, depth + 1, entries, visit)?;
        }
    }
    Ok(())
}

/// The looks of files without reading them: as long as they look the same they hold the same.
///
/// A date tells nothing of a second change within its own step, so what changed within a step before it was looked at is
/// not relied upon.
#[derive(Debug)]
pub(crate) struct TreeStampHasher {
    hasher: Sha256,
    since: SystemTime,
    is_reliable: bool,
}

impl TreeStampHasher {
    /// Nothing looked at yet.
    pub(crate) fn begin() -> Self {
        Self {
            hasher: Sha256::new_with_prefix(b"haft looks 1\n"),
            since: SystemTime::now(),
            is_reliable: true,
        }
    }

    pub(crate) fn add(&mut self, name: &Path, metadata: &Metadata) {
        let glance = FileStamp::from_metadata(metadata);
        self.is_reliable &= metadata.is_dir() || glance.is_older_than(self.since);
        let name = slash_separated(name);
        self.hasher.update((name.len() as u64).to_le_bytes());
        self.hasher.update(&name);
        self.hasher.update(stamp_bytes(metadata, glance));
    }

    /// Looks at a whole tree; as [`finish`](Self::finish).
    pub(crate) fn stamp_tree(root: &Path) -> Result<(Digest, bool), InstallError> {
        let mut looks = Self::begin();
        walk_tree(root, &mut |name, _, metadata| {
            looks.add(name, metadata);
            Ok(())
        })?;
        Ok(looks.finish())
    }

    /// Returns the digest, and whether the same digest means that nothing has changed.
    pub(crate) fn finish(self) -> (Digest, bool) {
        (digest::digest_from_hasher(self.hasher), self.is_reliable)
    }
}

/// Of a directory only that it is one: what is in it is looked at itself.
fn stamp_bytes(metadata: &Metadata, glance: FileStamp) -> Vec<u8> {
    if metadata.is_dir() {
        return vec![b'd'];
    }
    let mut bytes = vec![if metadata.is_symlink() { b'l' } else { b'f' }];
    bytes.extend(glance.bytes());
    bytes.push(u8::from(super::is_executable(metadata)));
    bytes
}
