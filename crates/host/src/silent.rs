//! Remembers over runs which extensions did not say hello in time, so that the next start does not wait for them.
//!
//! One small file an extension, which holds what the extension looked like: a changed one gets a new chance.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use crate::log::slug;
use crate::manifest::MANIFEST_FILE;
use crate::spec::ExtensionSpec;

/// The extensions that a start need not wait for. Without a directory it remembers nothing.
#[derive(Debug)]
pub(crate) struct SilentStarts {
    dir: Option<PathBuf>,
    /// The names of the files, so that one that is not there need not be looked for.
    files: Mutex<HashSet<OsString>>,
}

impl SilentStarts {
    pub(crate) fn new(dir: Option<PathBuf>) -> Self {
        let there = dir.as_deref().and_then(|dir| fs::read_dir(dir).ok()).into_iter().flatten().flatten();
        let files =
            there.map(|file| file.file_name()).filter(|name| name.as_encoded_bytes().starts_with(b"silent-"));
        Self { files: Mutex::new(files.collect()), dir }
    }

    /// Whether this extension, as it is now, did not say hello in time when it was last started.
    pub(crate) fn knows(&self, spec: &ExtensionSpec) -> bool {
        let known = self.path(spec).filter(|path| self.is_there(path));
        known.and_then(|path| fs::read_to_string(path).ok()).is_some_and(|was| was == looks(spec))
    }

    /// It did not say hello in time.
    pub(crate) fn remember(&self, spec: &ExtensionSpec) {
        let Some(path) = self.path(spec) else { return };
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, looks(spec)));
        if let Err(error) = written {
            tracing::warn!(path = %path.display(), %error, "cannot remember a silent extension");
        }
        self.files().extend(path.file_name().map(OsString::from));
    }

    /// It said hello.
    pub(crate) fn forget(&self, spec: &ExtensionSpec) {
        let Some(path) = self.path(spec).filter(|path| self.is_there(path)) else { return };
        // Another program may have been faster.
        _ = fs::remove_file(&path);
        self.files().remove(path.file_name().unwrap_or_default());
    }

    fn is_there(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| self.files().contains(name))
    }

    fn files(&self) -> MutexGuard<'_, HashSet<OsString>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, spec: &ExtensionSpec) -> Option<PathBuf> {
        Some(self.dir.as_ref()?.join(format!("silent-{}", slug(spec.name.as_str()))))
    }
}

/// What tells one version of an extension from another, as far as a glance can.
fn looks(spec: &ExtensionSpec) -> String {
    format!("{}\n{}\n", spec.dir.display(), stamp(&spec.dir.join(MANIFEST_FILE)))
}

fn stamp(manifest: &Path) -> String {
    let Ok(metadata) = fs::metadata(manifest) else { return "no manifest".to_owned() };
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} bytes, {} ns", metadata.len(), since.unwrap_or_default().as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::stream_spec;

    #[test]
    fn a_silent_one_is_known_until_it_greets_or_changes() {
        let dir = tempfile::tempdir().unwrap();
        let spec = ExtensionSpec { dir: dir.path().to_owned(), ..stream_spec("../x") };
        let silent = SilentStarts::new(Some(dir.path().join("state")));
        silent.forget(&spec);
        assert!(!silent.knows(&spec));
        silent.remember(&spec);
        assert!(silent.knows(&spec));
        assert!(!silent.knows(&ExtensionSpec { dir: "/elsewhere".into(), ..spec.clone() }));
        fs::write(dir.path().join(MANIFEST_FILE), "{}").unwrap();
        assert!(!silent.knows(&spec), "it is another version");
        silent.remember(&spec);
        silent.forget(&spec);
        assert!(!silent.knows(&spec));
        let nowhere = SilentStarts::new(None);
        nowhere.remember(&spec);
        assert!(!nowhere.knows(&spec));
    }
}
