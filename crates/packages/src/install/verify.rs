//! Looking at everything again, whatever it looks like.

use std::path::PathBuf;

use haft_protocol::ids::ExtensionName;

use super::contents::{Contents, walk};
use super::lock::{Approved, Came, Entry};

impl Approved {
    /// What is not as it was approved of an extension, in words; nothing when all is. Reads all of it.
    pub fn check(&self, entry: &Entry) -> Vec<String> {
        let mut wrong = Vec::new();
        let trees = self.trees();
        match trees.verify(&entry.tree) {
            Err(error) => wrong.push(super::error::with_causes(&error)),
            Ok(code) => {
                let manifest = code.file_digest(std::path::Path::new(crate::manifest::MANIFEST_FILE));
                if manifest != Some(entry.manifest) {
                    wrong.push("its manifest is not the one that was approved".to_owned());
                }
            }
        }
        if let Some(Err(why)) = entry.interpreter.as_deref().map(super::pin::is_there) {
            wrong.push(why);
        }
        if let Came::Placed { path, .. } = &entry.source {
            match Contents::read(path) {
                Err(error) => wrong.push(super::error::with_causes(&error)),
                Ok(now) if now.digest() == entry.tree => {}
                Ok(now) => {
                    let what = trees.difference(&entry.tree, &now).unwrap_or_default();
                    wrong.push(format!("{} is not what was approved: {what}", path.display()));
                }
            }
        }
        wrong
    }

    /// What the private copy of an extension holds beside what was approved, by its path in it; of a directory that is not
    /// of the code, that alone. It stays there as the extension's own, and what starts there may read it as code.
    pub fn beside_code(&self, name: &ExtensionName, entry: &Entry) -> Vec<PathBuf> {
        let mut beside: Vec<PathBuf> = Vec::new();
        if !entry.runs_in_copy() {
            return beside;
        }
        let code = self.trees().place(&entry.tree);
        // What cannot be gone through to its end is told as far as it was.
        _ = walk(&self.copy_of(name), &mut |name, _, _| {
            let is_within = beside.last().is_some_and(|dir| name.starts_with(dir));
            if !is_within && code.join(name).symlink_metadata().is_err() {
                beside.push(name.to_owned());
            }
            Ok(())
        });
        beside
    }
}
