//! Records across runs the extensions that sent no hello in time, so that the next start does not wait for
//! them.
//!
//! One small file for each extension, with a fingerprint of it: a changed extension gets a new chance.

use std::path::Path;
use std::sync::Arc;

use haft_packages::ExtensionSpec;
use haft_packages::file_name::safe_file_name;
use haft_packages::state_files::{StateFiles, extension_stamp};
use haft_protocol::ids::ExtensionName;

/// The prefix of the file names.
const PREFIX: &str = "silent-";

/// The extensions for which a start does not wait.
#[derive(Debug)]
pub(crate) struct SilentStarts {
    files: Arc<StateFiles>,
}

impl SilentStarts {
    pub(crate) fn new(files: Arc<StateFiles>) -> Self {
        Self { files }
    }

    /// True if this extension, unchanged, sent no hello in time at its last start.
    pub(crate) fn contains(&self, spec: &ExtensionSpec) -> bool {
        self.files.read(&file_name(&spec.name)).is_some_and(|was| was == spec_fingerprint(spec))
    }

    /// Records that the extension sent no hello in time.
    pub(crate) fn remember(&self, spec: &ExtensionSpec) {
        self.files.write(&file_name(&spec.name), &spec_fingerprint(spec));
    }

    pub(crate) fn forget(&self, spec: &ExtensionSpec) {
        self.files.remove(&file_name(&spec.name));
    }
}

/// True if the extension with this name and directory sent no hello in time at its last start, so that a
/// start does not wait for it. `state` is the host's [`state`](crate::HostConfig::state) directory.
pub fn starts_slowly(state: &Path, extension: &ExtensionName, dir: &Path) -> bool {
    let was = std::fs::read_to_string(state.join(file_name(extension)));
    was.is_ok_and(|was| was.starts_with(&extension_stamp(dir)))
}

/// Lets the next start wait again for the extension of this name.
pub(crate) fn forget_by_name(state: &Path, extension: &ExtensionName) {
    // Usually there is no record.
    _ = std::fs::remove_file(state.join(file_name(extension)));
}

fn spec_fingerprint(spec: &ExtensionSpec) -> String {
    let tree = spec.pin.as_ref().map(|pin| format!("{}\n", pin.tree())).unwrap_or_default();
    format!("{}{tree}", extension_stamp(&spec.dir))
}

fn file_name(extension: &ExtensionName) -> String {
    format!("{PREFIX}{}", safe_file_name(extension.as_str()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::supervision::streams::stream_spec;
    use haft_packages::manifest::MANIFEST_FILE;

    fn files(dir: Option<PathBuf>) -> Arc<StateFiles> {
        Arc::new(StateFiles::new(dir))
    }

    #[test]
    fn silent_record_lasts_until_hello_or_change() {
        let dir = tempfile::tempdir().unwrap();
        let spec = ExtensionSpec { dir: dir.path().to_owned(), ..stream_spec("../x") };
        let silent = SilentStarts::new(files(Some(dir.path().join("state"))));
        silent.forget(&spec);
        assert!(!silent.contains(&spec));
        silent.remember(&spec);
        assert!(silent.contains(&spec));
        assert!(!silent.contains(&ExtensionSpec { dir: "/elsewhere".into(), ..spec.clone() }));
        fs::write(dir.path().join(MANIFEST_FILE), "{}").unwrap();
        assert!(!silent.contains(&spec), "it is another version");
        silent.remember(&spec);
        silent.forget(&spec);
        assert!(!silent.contains(&spec));
        silent.remember(&spec);
        let state = dir.path().join("state");
        assert!(starts_slowly(&state, &spec.name, &spec.dir));
        assert!(!starts_slowly(&state, &spec.name, Path::new("/elsewhere")));
        forget_by_name(&state, &spec.name);
        assert!(!starts_slowly(&state, &spec.name, &spec.dir));
        let nowhere = SilentStarts::new(files(None));
        nowhere.remember(&spec);
        assert!(!nowhere.contains(&spec));
    }
}
