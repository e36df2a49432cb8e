//! The conditions for the start of an approved extension.

use std::fs;
use std::path::{Path, PathBuf};

use haft_protocol::defence::{Defence, is_up};

use super::contents::TreeStampHasher;
use super::digest::Digest;
use super::error::with_causes;
use super::trees::TreeStore;
use super::{InstallError, copies};
use crate::state_files::StateFiles;

/// The approved content, to be compared with the present one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePin {
    /// The store of approved code.
    pub trees: TreeStore,
    /// The name of its code in the store.
    pub tree: Digest,
    /// Where it runs, if not in the store itself.
    pub copy: Option<PathBuf>,
    /// The program outside of it that is started.
    pub interpreter: Option<PathBuf>,
    /// Why it must not be started in any case.
    pub changed: Option<String>,
}

impl CodePin {
    /// The digest of the code that was approved.
    pub fn tree(&self) -> &Digest {
        &self.tree
    }

    /// Makes sure that what is started is what was approved, and puts its private copy in order. Reads all of it, unless it
    /// looks as it did the last time; that is remembered in `files` under `name`. May take long. Returns what had been
    /// changed in the copy, by its path in it.
    ///
    /// # Errors
    /// Why it must not be started, and what to do, for people.
    pub fn verify(&self, files: &StateFiles, name: &str) -> Result<Vec<PathBuf>, String> {
        if !is_up(Defence::PinnedCode) {
            return Ok(Vec::new());
        }
        self.verify_code(files, name).map_err(|why| format!("was not started: {why}"))
    }

    fn verify_code(&self, files: &StateFiles, name: &str) -> Result<Vec<PathBuf>, String> {
        if let Some(why) = &self.changed {
            return Err(why.clone());
        }
        self.interpreter.as_deref().map_or(Ok(()), check_program_exists)?;
        // Before it is read: what changes meanwhile looks otherwise the next time.
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
            let broken = |error| format!("its private copy cannot be put in order: {}", with_causes(&error));
            changed = copies::restore(&contents, &store, copy).map_err(broken)?;
        }
        if let Some((looks, true)) = looks {
            files.write(name, &text(&looks));
        }
        Ok(changed)
    }

    /// Returns the looks of its files, here and in its copy, and whether they tell that nothing has changed.
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
        "the program that runs it, {}, is gone; put it back, or approve the extension again",
        program.display()
    ))
}
