//! Walks a tree in the order of its names, within the limits of an extension.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::super::copy::{MAX_DEPTH, MAX_ENTRIES, is_git_dir_name};
use super::super::digest::{self, Digest};
use super::{InstallError, slash_separated};
use crate::file_stamp::FileStamp;

type TreeVisitor<'a> = dyn FnMut(&Path, &Path, &Metadata) -> Result<(), InstallError> + 'a;

/// Visits every entry of a tree, a directory before its entries, without git's own files. Links are not followed.
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
            format!("directories nested more than {MAX_DEPTH} levels deep"),
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
            return Err(InstallError::refused_entry(
                &path,
                "is not a regular file or a directory; remove it",
            ));
        }
        visit(&name, &path, &metadata)?;
        if metadata.is_dir() {
            walk_directory(root, &name, depth + 1, entries, visit)?;
        }
    }
    Ok(())
}

/// A hash of the metadata of files. The same hash means the same content.
///
/// A timestamp does not change when a file changes twice within the resolution of the clock. A file that changed that
/// recently is not trusted.
#[derive(Debug)]
pub(crate) struct TreeStampHasher {
    hasher: Sha256,
    since: SystemTime,
    is_reliable: bool,
}

impl TreeStampHasher {
    /// Creates a hasher without any file.
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

    /// Hashes the metadata of a whole tree. The result is that of [`finish`](Self::finish).
    pub(crate) fn stamp_tree(root: &Path) -> Result<(Digest, bool), InstallError> {
        let mut looks = Self::begin();
        walk_tree(root, &mut |name, _, metadata| {
            looks.add(name, metadata);
            Ok(())
        })?;
        Ok(looks.finish())
    }

    /// Returns the digest, and true if an equal digest later proves that nothing changed.
    pub(crate) fn finish(self) -> (Digest, bool) {
        (digest::digest_from_hasher(self.hasher), self.is_reliable)
    }
}

/// Returns the bytes to hash. A directory counts only as a directory, because its entries are visited themselves.
fn stamp_bytes(metadata: &Metadata, glance: FileStamp) -> Vec<u8> {
    if metadata.is_dir() {
        return vec![b'd'];
    }
    let mut bytes = vec![if metadata.is_symlink() { b'l' } else { b'f' }];
    bytes.extend(glance.bytes());
    bytes.push(u8::from(super::is_executable(metadata)));
    bytes
}
