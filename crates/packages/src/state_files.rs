//! Small files in which a host remembers something of an extension over runs: one file an extension and a matter.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;

use crate::manifest::MANIFEST_FILE;

/// The files of one host. Without a directory it remembers nothing.
#[derive(Debug)]
pub struct StateFiles {
    dir: Option<PathBuf>,
    prefixes: &'static [&'static str],
    /// The names of those that are there, so that one that is not need not be looked for. Listed when somebody first asks:
    /// where all extensions wait for their first use, nobody does.
    names: OnceLock<Mutex<HashSet<OsString>>>,
}

impl StateFiles {
    /// Those whose names begin with one of these.
    pub fn new(dir: Option<PathBuf>, prefixes: &'static [&'static str]) -> Self {
        Self { dir, prefixes, names: OnceLock::new() }
    }

    /// What a file holds; none when there is no such file.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path_of_existing(name)?).ok()
    }

    /// Writes a file anew. What fails is only told in haft's own log.
    pub fn write(&self, name: &str, text: &str) {
        let Some(dir) = &self.dir else { return };
        if let Err(error) = replace(dir, name, text) {
            tracing::warn!(dir = %dir.display(), name, %error, "cannot remember how an extension did");
        }
        self.names().insert(name.into());
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) {
        let Some(path) = self.path_of_existing(name) else { return };
        // Another program may have been faster.
        _ = fs::remove_file(path);
        self.names().remove(&OsString::from(name));
    }

    fn path_of_existing(&self, name: &str) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?;
        self.names().contains(&OsString::from(name)).then(|| dir.join(name))
    }

    fn names(&self) -> MutexGuard<'_, HashSet<OsString>> {
        let names = self.names.get_or_init(|| Mutex::new(self.list()));
        names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self) -> HashSet<OsString> {
        let there =
            self.dir.as_deref().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten();
        let ours = |name: &OsString| {
            self.prefixes.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
        };
        there.map(|file| file.file_name()).filter(ours).collect()
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

/// What tells one version of an extension from another, as far as a glance can.
pub fn looks(dir: &Path) -> String {
    format!("{}\n{}\n", dir.display(), stamp(&dir.join(MANIFEST_FILE)))
}

fn stamp(manifest: &Path) -> String {
    let Ok(metadata) = fs::metadata(manifest) else { return "no manifest".to_owned() };
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} bytes, {} ns", metadata.len(), since.unwrap_or_default().as_nanos())
}
