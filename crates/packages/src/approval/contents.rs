//! The contents of a tree: every file, link and directory, and one digest of all of them.

mod walk;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::digest::{self, Digest};
use super::{ChangeSet, InstallError, MAX_BYTES};
use crate::open::open;
pub(crate) use walk::TreeStampHasher;
pub(super) use walk::walk_tree;

/// The entries of a tree, by their path in it. Git's own files are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeContents {
    entries: BTreeMap<PathBuf, TreeEntry>,
    bytes: u64,
}

/// One entry of a tree. The executable bit is the only part of its mode that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TreeEntry {
    Directory,
    Link(PathBuf),
    File { executable: bool, digest: Digest },
}

impl TreeContents {
    /// Reads a whole tree.
    ///
    /// # Errors
    /// [`InstallError`] if an entry cannot be read, is not a file, link or directory, or exceeds a limit.
    pub fn read(root: &Path) -> Result<Self, InstallError> {
        let mut contents = Self { entries: BTreeMap::new(), bytes: 0 };
        walk_tree(root, &mut |name, path, metadata| {
            let item = contents.read_entry(root, path, metadata)?;
            contents.entries.insert(name.to_owned(), item);
            Ok(())
        })?;
        Ok(contents)
    }

    fn read_entry(
        &mut self,
        root: &Path,
        path: &Path,
        metadata: &Metadata,
    ) -> Result<TreeEntry, InstallError> {
        if metadata.is_dir() {
            Ok(TreeEntry::Directory)
        } else if metadata.is_symlink() {
            std::fs::read_link(path).map(TreeEntry::Link).map_err(InstallError::io("read", path))
        } else {
            let digest = self.hash_file(root, path)?;
            Ok(TreeEntry::File { executable: is_executable(metadata), digest })
        }
    }

    fn hash_file(&mut self, root: &Path, path: &Path) -> Result<Digest, InstallError> {
        let file = open(path, false).map_err(InstallError::io("read", path))?;
        let limit = MAX_BYTES - self.bytes + 1;
        let mut file = file.take(limit);
        let digest = digest::copy_and_digest(&mut file, None).map_err(InstallError::io("read", path))?;
        self.bytes += limit - file.limit();
        if self.bytes > MAX_BYTES {
            return Err(InstallError::too_large(root, format!("more than {} MiB", MAX_BYTES >> 20)));
        }
        Ok(digest)
    }

    /// Returns the digest of the tree: of each path in order, with its kind, its executable bit, and its link target
    /// or file content.
    pub fn digest(&self) -> Digest {
        let mut all = Sha256::new_with_prefix(b"haft tree 1\n");
        let mut text = |kind: u8, bytes: &[u8]| {
            all.update([kind]);
            all.update((bytes.len() as u64).to_le_bytes());
            all.update(bytes);
        };
        for (path, item) in &self.entries {
            text(b'p', slash_separated(path).as_slice());
            match item {
                TreeEntry::Directory => text(b'd', b""),
                TreeEntry::Link(target) => text(b'l', target.as_os_str().as_encoded_bytes()),
                TreeEntry::File { executable: true, digest } => text(b'x', digest.bytes()),
                TreeEntry::File { executable: false, digest } => text(b'f', digest.bytes()),
            }
        }
        digest::digest_from_hasher(all)
    }

    /// Returns the differences from an earlier tree.
    pub fn difference_from(&self, before: &Self) -> ChangeSet {
        ChangeSet::compare(&before.entries, &self.entries, |path| path.display().to_string())
    }

    /// Returns the digest of a file, or `None` if the tree has no such file.
    pub fn file_digest(&self, path: &Path) -> Option<Digest> {
        match self.entries.get(path)? {
            TreeEntry::File { digest, .. } => Some(*digest),
            TreeEntry::Directory | TreeEntry::Link(_) => None,
        }
    }

    /// Returns the number of files and links.
    pub fn file_count(&self) -> usize {
        self.entries.values().filter(|item| **item != TreeEntry::Directory).count()
    }

    /// Returns the total size of the files in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn entries(&self) -> &BTreeMap<PathBuf, TreeEntry> {
        &self.entries
    }
}

/// Returns a path in the tree with `/` as the separator on every system.
fn slash_separated(path: &Path) -> Vec<u8> {
    let parts: Vec<_> = path.iter().map(std::ffi::OsStr::as_encoded_bytes).collect();
    parts.join(&b'/')
}

/// Returns the executable bit: no other part of the mode is the same in every checkout of a repository.
#[cfg(unix)]
pub(super) fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn is_executable(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests;
