//! The checks before an approved extension starts.

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};

use super::contents::TreeStampHasher;
use super::digest::Digest;
use super::error::with_causes;
use super::trees::TreeStore;
use super::{InstallError, copies};
use crate::state_files::StateFiles;

/// The approved code of an extension, to be compared with the present files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePin {
    /// The store of approved code.
    pub trees: TreeStore,
    /// The digest of its code, which names a tree in the store.
    pub tree: Digest,
    /// The private copy that it runs in, if any.
    pub copy: Option<PathBuf>,
    /// The program outside of the extension that runs it.
    pub interpreter: Option<PathBuf>,
    /// The reason why the extension must not start in any case.
    pub changed: Option<String>,
}

impl CodePin {
    /// Returns the digest of the approved code.
    pub fn tree(&self) -> &Digest {
        &self.tree
    }

    /// Checks that the files are the approved ones, and restores the private copy. Reads all files unless their
    /// metadata is that of the last check, which is stored in `files` under `name`. Can take long. Returns the paths
    /// that were changed in the copy.
    ///
    /// # Errors
    /// The reason why the extension must not start, and what to do, for the user.
    pub fn verify(&self, files: &StateFiles, name: &str) -> Result<Vec<PathBuf>, String> {
        if !is_up(Defense::PinnedCode) {
            return Ok(Vec::new());
        }
        self.verify_code(files, name).map_err(|why| format!("was not started: {why}"))
    }

    fn verify_code(&self, files: &StateFiles, name: &str) -> Result<Vec<PathBuf>, String> {
        if let Some(why) = &self.changed {
            return Err(why.clone());
        }
        self.interpreter.as_deref().map_or(Ok(()), check_program_exists)?;
        // The metadata is taken first: a change during the check changes the metadata of the next one.
        let looks = self.stamp_files().ok();
        let text = |looks: &Digest| format!("{} {looks}\n", self.tree);
        if let Some((looks, true)) = &looks
            && files.read(name).is_some_and(|known| known == text(looks))
        {
            return Ok(Vec::new());
        }
        let again = |error| format!("{}; install or approve it again", with_causes(&error));
        let contents = self.trees.verify(&self.tree).map_err(again)?;
        let mut changed = Vec::new();
        if let Some(copy) = &self.copy {
            let store = self.trees.tree_path(&self.tree);
            let broken = |error| format!("cannot restore its private copy: {}", with_causes(&error));
            changed = copies::restore(&contents, &store, copy).map_err(broken)?;
        }
        if let Some((looks, true)) = looks {
            files.write(name, &text(&looks));
        }
        Ok(changed)
    }

    /// Returns the hash of the metadata of the files here and in the copy, and true if it proves that nothing
    /// changed.
    fn stamp_files(&self) -> Result<(Digest, bool), InstallError> {
        let store = self.trees.tree_path(&self.tree);
        let Some(copy) = &self.copy else { return TreeStampHasher::stamp_tree(&store) };
        let mut looks = TreeStampHasher::begin();
        super::contents::walk_tree(&store, &mut |name, _, metadata| {
            looks.add(name, metadata);
            let path = copy.join(name);
            looks.add(name, &path.symlink_metadata().map_err(InstallError::io("read", &path))?);
            Ok(())
        })?;
        Ok(looks.finish())
    }
}

pub(super) fn check_program_exists(program: &Path) -> Result<(), String> {
    let ok =
        fs::metadata(program).is_ok_and(|metadata| metadata.is_file() && crate::manifest::may_run(&metadata));
    if ok {
        return Ok(());
    }
    Err(format!(
        "the program that runs it, {}, is missing; install it again, or approve the extension again",
        program.display()
    ))
}
