//! The store of approved code: read-only trees, each named by its digest.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::contents::TreeContents;
use super::digest::Digest;
use super::error::{TreeError, with_causes};
use super::lock::LockEntry;
use super::seal::{seal, set_mode, sync};
use super::staging::{StagingArea, remove};
use super::{ChangeSet, InstallError, PreservedPath, copies};
use crate::file_name::dir_name;

/// The prefix of a marker file: the tree is not needed unless the lock file names it.
const LOOSE: &str = ".loose-";

/// The store, in `$HAFT_HOME/store`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeStore {
    dir: Arc<Path>,
}

impl TreeStore {
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns the directory of all trees.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the path of a tree, which need not exist.
    pub fn tree_path(&self, tree: &Digest) -> PathBuf {
        self.dir.join(tree.to_hex())
    }

    /// Reads a whole tree and checks it against its digest.
    ///
    /// # Errors
    /// The problem with the tree.
    pub fn verify(&self, tree: &Digest) -> Result<TreeContents, TreeError> {
        let dir = self.tree_path(tree);
        // A link in its place would lead to files that can be changed.
        if !dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(TreeError::Missing { dir });
        }
        let contents = TreeContents::read(&dir).map_err(|error| TreeError::Read(error.into()))?;
        if contents.digest() == *tree { Ok(contents) } else { Err(TreeError::Changed { dir }) }
    }

    /// Returns the differences between the tree of a digest and the present content, or `None` without such a tree.
    pub fn difference(&self, tree: &Digest, now: &TreeContents) -> Option<ChangeSet> {
        TreeContents::read(&self.tree_path(tree)).ok().map(|before| now.difference_from(&before))
    }

    /// Prepares the private copy of an extension, if `entry` runs in one, for the code `now`, which follows `before`.
    /// Returns the extension's own files that were moved aside.
    ///
    /// # Errors
    /// If a file cannot be moved; then none is moved.
    pub(crate) fn prepare_copy(
        &self,
        before: Option<&LockEntry>,
        entry: &LockEntry,
        now: &TreeContents,
        copy: &Path,
    ) -> Result<Vec<PreservedPath>, InstallError> {
        if !entry.runs_in_copy() {
            return Ok(Vec::new());
        }
        // A version with permissions never ran there.
        let mut versions = before.into_iter().flat_map(|entry| std::iter::once(entry).chain(&entry.previous));
        let before = versions.find(|entry| entry.runs_in_copy());
        let before = before.and_then(|entry| self.verify(&entry.tree).ok());
        copies::prepare_copy(before.as_ref(), now, copy)
    }

    /// Restores the private copy of an extension, if `entry` runs in one, after a change. The change stays in effect
    /// if this fails; then the text of a warning is returned.
    pub(crate) fn restore_copy(&self, entry: &LockEntry, now: &TreeContents, copy: &Path) -> Option<String> {
        if !entry.runs_in_copy() {
            return None;
        }
        let error = copies::restore(now, &self.tree_path(&entry.tree), copy).err()?;
        let why = with_causes(&error);
        Some(format!("cannot restore its private copy: {why}; each start tries again, and fails without it"))
    }

    /// Moves a tree into the store: makes it read-only, syncs it, and renames it to its digest. If the process is
    /// killed, the store has either all of the tree or nothing.
    ///
    /// # Errors
    /// If the tree has other content than expected, or cannot be moved.
    pub(crate) fn insert_tree(
        &self,
        staging_area: &StagingArea,
        tree: &Path,
        expected: &Digest,
    ) -> Result<(), InstallError> {
        let place = self.tree_path(expected);
        if self.verify(expected).is_ok() {
            // The process that moved it may have been killed before this step.
            return set_mode(&place, 0o555).map_err(InstallError::io("protect", &place));
        }
        seal(tree)?;
        // The content on the disk counts: the tree has waited for an answer.
        if TreeContents::read(tree)?.digest() != *expected {
            return Err(InstallError::Changed { dir: tree.into() });
        }
        if place.symlink_metadata().is_ok() {
            staging_area.discard(&place)?;
        }
        // The tree is not approved yet, and the process can be killed before the approval.
        self.mark_unreferenced(expected).map_err(InstallError::io("write to", &*self.dir))?;
        fs::rename(tree, &place).map_err(InstallError::io("create", &place))?;
        // Only now, because a read-only directory cannot be moved.
        set_mode(&place, 0o555).map_err(InstallError::io("protect", &place))?;
        sync(&self.dir).map_err(InstallError::io("write to", &*self.dir))
    }

    /// Marks a tree for removal by the next cleanup, unless the lock file names it then.
    ///
    /// # Errors
    /// If the marker cannot be written; then the tree stays.
    pub(super) fn mark_unreferenced(&self, tree: &Digest) -> std::io::Result<()> {
        File::create(self.unreferenced_marker(tree)).map(drop)
    }

    fn unreferenced_marker(&self, tree: &Digest) -> PathBuf {
        self.dir.join(format!("{LOOSE}{}", tree.to_hex()))
    }

    /// Removes files that are not trees, and the marked trees except these. Unmarked trees that the lock file does
    /// not name stay: a lost lock file, and their approval with it, can be restored.
    pub(crate) fn remove_unreferenced(
        &self,
        staging_area: &StagingArea,
        keep: &HashSet<Digest>,
    ) -> Result<(), InstallError> {
        let keep: HashSet<PathBuf> = keep.iter().map(|tree| self.tree_path(tree)).collect();
        let entries = fs::read_dir(&self.dir).map_err(InstallError::io("list", &*self.dir))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = dir_name(&path);
            if let Some(hex) = name.strip_prefix(LOOSE) {
                let tree = self.dir.join(hex);
                if !keep.contains(&tree) && tree.symlink_metadata().is_ok() {
                    staging_area.discard(&tree)?;
                }
                // The marker is removed last: a cleanup that was killed before this tries again.
                remove(&path)?;
            } else if !name.starts_with('.') && parse_tree_name(&name).is_none() {
                staging_area.discard(&path)?;
            }
        }
        Ok(())
    }

    /// Returns the unmarked trees except these.
    pub(super) fn orphaned_trees(&self, known: &HashSet<Digest>) -> Vec<PathBuf> {
        let names = fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let trees = names.filter_map(|name| parse_tree_name(name.to_str()?));
        let lost = trees.filter(|tree| !known.contains(tree) && !self.unreferenced_marker(tree).exists());
        let mut places: Vec<_> = lost.map(|tree| self.tree_path(&tree)).collect();
        places.sort();
        places
    }
}

fn parse_tree_name(name: &str) -> Option<Digest> {
    format!("sha256:{name}").parse().ok()
}

/// Returns the warning about a failed cleanup after a change. The change stays in effect.
pub(crate) fn sweep_warning(outcome: Result<(), InstallError>) -> Option<String> {
    let error = outcome.err()?;
    Some(format!(
        "unused code is left in the store: {}; the next change tries to remove it again",
        with_causes(&error)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::seal::unseal;
    use super::*;

    /// Creates a store with one tree in it.
    fn store(root: &Path) -> (TreeStore, StagingArea, Digest) {
        let trees = TreeStore::at(root.join("store"));
        let staging_area = StagingArea::open(trees.dir()).unwrap();
        let tree = stage_tree(&staging_area, "one");
        let digest = TreeContents::read(&tree).unwrap().digest();
        trees.insert_tree(&staging_area, &tree, &digest).unwrap();
        (trees, staging_area, digest)
    }

    fn stage_tree(staging_area: &StagingArea, text: &str) -> PathBuf {
        let tree = staging_area.create_staging_dir().unwrap().keep().join("tree");
        fs::create_dir_all(tree.join("lib")).unwrap();
        fs::write(tree.join("lib/a"), text).unwrap();
        fs::write(tree.join("run"), "#!/bin/sh\n").unwrap();
        #[cfg(unix)]
        set_mode(&tree.join("run"), 0o700).unwrap();
        tree
    }

    #[test]
    fn inserted_tree_is_complete_and_read_only() {
        let root = tempfile::tempdir().unwrap();
        let (trees, staging_area, digest) = store(root.path());
        let place = trees.tree_path(&digest);
        assert_eq!(trees.verify(&digest).unwrap().file_count(), 2);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            let modes = ["", "lib", "lib/a", "run"].map(|name| mode(&place.join(name)));
            assert_eq!(modes, [0o555, 0o555, 0o444, 0o555]);
        }
        // The same content again is the same tree.
        let again = stage_tree(&staging_area, "one");
        trees.insert_tree(&staging_area, &again, &digest).unwrap();
        trees.verify(&digest).unwrap();
    }

    #[test]
    fn rejects_tree_with_other_content() {
        let root = tempfile::tempdir().unwrap();
        let (trees, staging_area, digest) = store(root.path());
        let other = stage_tree(&staging_area, "two");
        let expected = TreeContents::read(&other).unwrap().digest();
        fs::write(other.join("lib/a"), "six").unwrap();
        let error = trees.insert_tree(&staging_area, &other, &expected).unwrap_err();
        assert!(matches!(error, InstallError::Changed { .. }), "{error:?}");
        assert!(matches!(trees.verify(&expected), Err(TreeError::Missing { .. })));
        trees.verify(&digest).unwrap();
    }

    #[test]
    fn detects_and_replaces_changed_tree() {
        let root = tempfile::tempdir().unwrap();
        let (trees, staging_area, digest) = store(root.path());
        let file = trees.tree_path(&digest).join("lib/a");
        unseal(&trees.tree_path(&digest)).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, "evil").unwrap();
        assert!(matches!(trees.verify(&digest), Err(TreeError::Changed { .. })));
        trees.insert_tree(&staging_area, &stage_tree(&staging_area, "one"), &digest).unwrap();
        trees.verify(&digest).unwrap();
    }

    #[test]
    fn removes_unused_trees_and_keeps_orphaned_ones() {
        let root = tempfile::tempdir().unwrap();
        let (trees, staging_area, digest) = store(root.path());
        assert!(trees.orphaned_trees(&HashSet::new()).is_empty(), "it is being installed");
        trees.remove_unreferenced(&staging_area, &HashSet::from([digest])).unwrap();
        trees.remove_unreferenced(&staging_area, &HashSet::new()).unwrap();
        trees.verify(&digest).unwrap();
        assert_eq!(trees.orphaned_trees(&HashSet::new()), [trees.tree_path(&digest)]);
        assert!(trees.orphaned_trees(&HashSet::from([digest])).is_empty());
        trees.mark_unreferenced(&digest).unwrap();
        trees.remove_unreferenced(&staging_area, &HashSet::new()).unwrap();
        assert!(matches!(trees.verify(&digest), Err(TreeError::Missing { .. })));
        drop(staging_area);
        // This includes trees that a killed process left partly sealed.
        let left = trees.dir().join(".scraps/x");
        fs::create_dir_all(left.join("lib")).unwrap();
        fs::write(left.join("lib/a"), "x").unwrap();
        seal(&left).unwrap();
        StagingArea::open(trees.dir()).unwrap();
        assert!(!left.exists());
    }
}
