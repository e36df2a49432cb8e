//! Small files in which a host stores the state of an extension across runs: one file for each extension and purpose.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::manifest::MANIFEST_FILE;

/// The state files of a host. Without a directory, nothing is stored.
#[derive(Debug)]
pub struct StateFiles {
    dir: Option<PathBuf>,
}

impl StateFiles {
    /// Returns the files in this directory.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    /// Returns the content of a file, or `None` if it does not exist.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.dir.as_ref()?.join(name)).ok()
    }

    /// Replaces the content of a file. A failure is only logged.
    pub fn write(&self, name: &str, text: &str) {
        let Some(dir) = &self.dir else { return };
        if let Err(error) = replace(dir, name, text) {
            tracing::warn!(dir = %dir.display(), name, %error, "cannot write the state file of an extension");
        }
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &str) {
        // An error means that the file did not exist.
        _ = self.dir.as_ref().map(|dir| fs::remove_file(dir.join(name)));
    }
}

/// Replaces a file atomically: readers see the old or the new text, never a part of it.
fn replace(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let file = tempfile::NamedTempFile::new_in(dir)?;
    fs::write(file.path(), text)?;
    file.persist(dir.join(name))?;
    Ok(())
}

/// Returns a stamp of an extension from the metadata of its manifest, to tell versions apart.
pub fn extension_stamp(dir: &Path) -> String {
    format!("{}\n{}\n", dir.display(), manifest_stamp(&dir.join(MANIFEST_FILE)))
}

fn manifest_stamp(manifest: &Path) -> String {
    let Ok(metadata) = fs::metadata(manifest) else { return "no manifest".to_owned() };
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} bytes, {} ns", metadata.len(), since.unwrap_or_default().as_nanos())
}
