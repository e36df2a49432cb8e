//! Looking at everything again, whatever it looks like.

use super::contents::Contents;
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
}
