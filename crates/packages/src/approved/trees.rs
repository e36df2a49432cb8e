//! The store of approved code: whole trees under their own digest, which nobody writes to.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::contents::TreeContents;
use super::digest::Digest;
use super::error::{TreeError, with_causes};
use super::lock::LockEntry;
use super::seal::{seal, set_mode, sync};
use super::workshop::{StagingArea, remove};
use super::{ChangeSet, InstallError, PreservedPath, copies};
use crate::file_name::dir_name;

/// The prefix of a note that a tree is not needed, unless the lock file names it.
const LOOSE: &str = ".loose-";

/// `$HAFT_HOME/store`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeStore {
    dir: Arc<Path>,
}

impl TreeStore {
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { dir: dir.into() }
    }

    /// Where all trees are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the tree of a digest is, whether it is there or not.
    pub fn tree_path(&self, tree: &Digest) -> PathBuf {
        self.dir.join(tree.to_hex())
    }

    /// Reads a tree, whole, and makes sure that it is what its name says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verify(&self, tree: &Digest) -> Result<TreeContents, TreeError> {
        let dir = self.tree_path(tree);
        // A link in its place would lead to what can be changed.
        if !dir.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(TreeError::Missing { dir });
        }
        let contents = TreeContents::read(&dir).map_err(|error| TreeError::Read(error.into()))?;
        if contents.digest() == *tree { Ok(contents) } else { Err(TreeError::Changed { dir }) }
    }

    /// Returns the differences between the tree of a digest and the present content; none where there is no such tree
    /// to compare.
    pub fn difference(&self, tree: &Digest, now: &TreeContents) -> Option<ChangeSet> {
        TreeContents::read(&self.tree_path(tree)).ok().map(|before| now.difference_from(&before))
    }

    /// Gets the private copy of an extension, if `entry` runs in one, ready for the code `now`, which comes after `before`;
    /// says what of the extension's own was moved aside.
    ///
    /// # Errors
    /// When something cannot be moved; then nothing is.
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
        // One that asked for permissions never ran there.
        let mut versions = before.into_iter().flat_map(|entry| std::iter::once(entry).chain(&entry.previous));
        let before = versions.find(|entry| entry.runs_in_copy());
        let before = before.and_then(|entry| self.verify(&entry.tree).ok());
        copies::prepare_copy(before.as_ref(), now, copy)
    }

    /// Puts the private copy of an extension, if `entry` runs in one, in order after a change was made. The change counts
    /// whether that succeeds or not; returns what is said of a failure.
    pub(crate) fn restore_copy(&self, entry: &LockEntry, now: &TreeContents, copy: &Path) -> Option<String> {
        if !entry.runs_in_copy() {
            return None;
        }
        let error = copies::restore(now, &self.tree_path(&entry.tree), copy).err()?;
        let why = with_causes(&error);
        Some(format!(
            "its private copy is not in order: {why}; each start tries again, and does not happen without it"
        ))
    }

    /// Moves a tree into the store: read-only, on the disk, and then under the name of what it holds. The store is as it was
    /// or has all of it, wherever this is stopped.
    ///
    /// # Errors
    /// When the tree does not hold what it is expected to, or cannot be moved.
    pub(crate) fn insert_tree(
        &self,
        workshop: &StagingArea,
        tree: &Path,
        expected: &Digest,
    ) -> Result<(), InstallError> {
        let place = self.tree_path(expected);
        if self.verify(expected).is_ok() {
            // Whoever moved it may have been stopped before this.
            return set_mode(&place, 0o555).map_err(InstallError::io("protect", &place));
        }
        seal(tree)?;
        // What lies on the disk counts, and not what was meant to: it has waited for an answer.
        if TreeContents::read(tree)?.digest() != *expected {
            return Err(InstallError::Changed { dir: tree.into() });
        }
        if place.symlink_metadata().is_ok() {
            workshop.discard(&place)?;
        }
        // Nobody has approved it yet, and whoever does may be stopped before.
        self.mark_unreferenced(expected).map_err(InstallError::io("write to", &*self.dir))?;
        fs::rename(tree, &place).map_err(InstallError::io("create", &place))?;
        // Only now: a directory that nobody may write to cannot be moved.
        set_mode(&place, 0o555).map_err(InstallError::io("protect", &place))?;
        sync(&self.dir).map_err(InstallError::io("write to", &*self.dir))
    }

    /// Notes that a tree goes with the next sweep that is not to keep it.
    ///
    /// # Errors
    /// When that cannot be written down; then it stays.
    pub(super) fn mark_unreferenced(&self, tree: &Digest) -> std::io::Result<()> {
        File::create(self.unreferenced_marker(tree)).map(drop)
    }

    fn unreferenced_marker(&self, tree: &Digest) -> PathBuf {
        self.dir.join(format!("{LOOSE}{}", tree.to_hex()))
    }

    /// Removes what is no tree, and the loosened trees but these. Others that nobody names stay: their approval was lost,
    /// with the lock file, and may come back as that does.
    pub(crate) fn remove_unreferenced(
        &self,
        workshop: &StagingArea,
        keep: &HashSet<Digest>,
    ) -> Result<(), InstallError> {
        let keep: HashSet<PathBuf> = keep.iter().map(|tree| self.tree_path(tree)).collect();
        let entries = fs::read_dir(&self.dir).map_err(InstallError::io("list", &*self.dir))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = dir_name(&path);
            if let Some(hex) = name.strip_prefix(LOOSE) {
                let tree = self.dir.join(hex);
                if !keep.contains(&tree) && tree.symlink_metadata().is_ok() {
                    workshop.discard(&tree)?;
                }
                // Last: who is stopped before this looks at it again.
                remove(&path)?;
            } else if !name.starts_with('.') && parse_tree_name(&name).is_none() {
                workshop.discard(&path)?;
            }
        }
        Ok(())
    }

    /// The trees that are there and not loosened, but for these.
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

/// Returns the text about a sweep that failed after a change was made: the change counts.
pub(crate) fn sweep_warning(outcome: Result<(), InstallError>) -> Option<String> {
    let error = outcome.err()?;
    Some(format!(
        "the store still holds code that nobody needs: {}; the next change tries again",
        with_causes(&error)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::seal::unseal;
    use super::*;

    /// A store with one tree in it.
    fn store(root: &Path) -> (TreeStore, StagingArea, Digest) {
        let trees = TreeStore::at(root.join("store"));
        let workshop = StagingArea::open(trees.dir()).unwrap();
        let tree = bench(&workshop, "one");
        let digest = TreeContents::read(&tree).unwrap().digest();
        trees.insert_tree(&workshop, &tree, &digest).unwrap();
        (trees, workshop, digest)
    }

    fn bench(workshop: &StagingArea, text: &str) -> PathBuf {
        let tree = workshop.create_staging_dir().unwrap().keep().join("tree");
        fs::create_dir_all(tree.join("lib")).unwrap();
        fs::write(tree.join("lib/a"), text).unwrap();
        fs::write(tree.join("run"), "#!/bin/sh\n").unwrap();
        #[cfg(unix)]
        set_mode(&tree.join("run"), 0o700).unwrap();
        tree
    }

    #[test]
    fn what_is_put_is_there_whole_and_read_only() {
        let root = tempfile::tempdir().unwrap();
        let (trees, workshop, digest) = store(root.path());
        let place = trees.tree_path(&digest);
        assert_eq!(trees.verify(&digest).unwrap().file_count(), 2);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            let modes = ["", "lib", "lib/a", "run"].map(|name| mode(&place.join(name)));
            assert_eq!(modes, [0o555, 0o555, 0o444, 0o555]);
        }
        // The same once more is the same tree.
        let again = bench(&workshop, "one");
        trees.insert_tree(&workshop, &again, &digest).unwrap();
        trees.verify(&digest).unwrap();
    }

    #[test]
    fn another_tree_is_not_taken_for_it() {
        let root = tempfile::tempdir().unwrap();
        let (trees, workshop, digest) = store(root.path());
        let other = bench(&workshop, "two");
        let expected = TreeContents::read(&other).unwrap().digest();
        fs::write(other.join("lib/a"), "six").unwrap();
        let error = trees.insert_tree(&workshop, &other, &expected).unwrap_err();
        assert!(matches!(error, InstallError::Changed { .. }), "{error:?}");
        assert!(matches!(trees.verify(&expected), Err(TreeError::Missing { .. })));
        trees.verify(&digest).unwrap();
    }

    #[test]
    fn what_was_changed_in_the_store_is_noticed_and_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (trees, workshop, digest) = store(root.path());
        let file = trees.tree_path(&digest).join("lib/a");
        unseal(&trees.tree_path(&digest)).unwrap();
        fs::remove_file(&file).unwrap();
        fs::write(&file, "evil").unwrap();
        assert!(matches!(trees.verify(&digest), Err(TreeError::Changed { .. })));
        trees.insert_tree(&workshop, &bench(&workshop, "one"), &digest).unwrap();
        trees.verify(&digest).unwrap();
    }

    #[test]
    fn trees_that_nobody_needs_are_swept_up_and_those_that_lost_their_approval_are_not() {
        let root = tempfile::tempdir().unwrap();
        let (trees, workshop, digest) = store(root.path());
        assert!(trees.orphaned_trees(&HashSet::new()).is_empty(), "it is being installed");
        trees.remove_unreferenced(&workshop, &HashSet::from([digest])).unwrap();
        trees.remove_unreferenced(&workshop, &HashSet::new()).unwrap();
        trees.verify(&digest).unwrap();
        assert_eq!(trees.orphaned_trees(&HashSet::new()), [trees.tree_path(&digest)]);
        assert!(trees.orphaned_trees(&HashSet::from([digest])).is_empty());
        trees.mark_unreferenced(&digest).unwrap();
        trees.remove_unreferenced(&workshop, &HashSet::new()).unwrap();
        assert!(matches!(trees.verify(&digest), Err(TreeError::Missing { .. })));
        drop(workshop);
        // Also those that a killed process left half sealed.
        let left = trees.dir().join(".scraps/x");
        fs::create_dir_all(left.join("lib")).unwrap();
        fs::write(left.join("lib/a"), "x").unwrap();
        seal(&left).unwrap();
        StagingArea::open(trees.dir()).unwrap();
        assert!(!left.exists());
    }
}
