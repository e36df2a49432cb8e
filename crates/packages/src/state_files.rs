//! Small files in which a host remembers something of an extension over runs: one file an extension and a matter.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::manifest::MANIFEST_FILE;

/// The files of one host. Without a directory it remembers nothing.
#[derive(Debug)]
pub struct StateFiles {
    dir: Option<PathBuf>,
}

impl StateFiles {
    /// The files in this directory.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    /// Returns the content of a file; none when there is no such file.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.dir.as_ref()?.join(name)).ok()
    }

    /// Writes a file anew. What fails is only told in haft's own log.
    pub fn write(&self, name: &str, text: &str) {
        let Some(dir) = &self.dir else { return };
        if let Err(error) = replace(dir, name, text) {
            tracing::warn!(dir = %dir.display(), name, %error, "cannot remember how an extension did");
        }
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) {
        // An error means that it was not there.
        _ = self.dir.as_ref().map(|dir| fs::remove_file(dir.join(name)));
    }
}

/// Another program reads the old text or the new one, and never half of it.
fn replace(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let file = tempfile::NamedTempFile::new_in(dir)?;
    fs::write(file.path(), text)?;
    file.persist(dir.join(name))?;
    Ok(())
}

/// Returns the looks of an extension, which tell one version from another, as far as a glance can.
pub fn extension_stamp(dir: &Path) -> String {
    format!("{}\n{}\n", dir.display(), manifest_stamp(&dir.join(MANIFEST_FILE)))
}

fn manifest_stamp(manifest: &Path) -> String {
    let Ok(metadata) = fs::metadata(manifest) else { return "no manifest".to_owned() };
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} bytes, {} ns", metadata.len(), since.unwrap_or_default().as_nanos())
}
