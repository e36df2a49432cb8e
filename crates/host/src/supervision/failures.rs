//! Records across runs how an extension last failed, for commands that start nothing, such as `haft ext
//! list`.
//! One small file for each failed extension, until it is ready again. The record has no influence: every run
//! starts every extension.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haft_packages::file_name::safe_file_name;
use haft_packages::hash::fnv1a_hash;
use haft_packages::state_files::{StateFiles, extension_stamp};
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan};
use haft_protocol::ids::ExtensionName;
use serde::{Deserialize, Serialize};

use crate::supervision::silent_starts;
use crate::wire::fault::{ExtensionFailure, PRINTED};

const PREFIX: &str = "failed-";

/// The last failure of an installed extension that has not been ready since.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastFailure {
    /// The time of the failure, with millisecond precision.
    pub at: SystemTime,
    /// The stable name of the failure, as in the `code` of `extension_error`.
    pub code: String,
    /// The failure with the last printed line. The log holds the rest.
    pub message: String,
}

impl LastFailure {
    /// Creates a failure.
    pub fn new(at: SystemTime, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at, code: code.into(), message: message.into() }
    }
}

/// Returns the last failure of the extension with this name and directory. Returns `None` if there was none
/// or the manifest has changed since. `state` is the host's [`state`](crate::HostConfig::state) directory.
pub fn last_failure(state: &Path, name: &ExtensionName, dir: &Path) -> Option<LastFailure> {
    read(state, name, dir)?.into_last_failure(dir)
}

/// Like [`last_failure`], for a process hook. Also returns `None` if its command has changed since.
pub fn last_failure_of_hook(state: &Path, hook: &ExtensionSpec) -> Option<LastFailure> {
    let record = read(state, &hook.name, &hook.dir)?;
    let is_other =
        record.started.as_ref().is_some_and(|started| *started != launch_fingerprint(&hook.launch));
    if is_other { None } else { record.into_last_failure(&hook.dir) }
}

fn read(state: &Path, name: &ExtensionName, dir: &Path) -> Option<FailureRecord> {
    let text = fs::read_to_string(path(state, name, dir)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns the launch as text, for comparison only.
fn launch_fingerprint(launch: &LaunchPlan) -> String {
    let text = match launch {
        LaunchPlan::Process { program, args } => {
            [&program.display().to_string()].into_iter().chain(args).cloned().collect::<Vec<_>>().join("\0")
        }
        LaunchPlan::ThemeOnly => String::new(),
        LaunchPlan::Impossible { why } => format!("\0{why}"),
    };
    format!("{:016x}", fnv1a_hash(text.as_bytes()))
}

/// Removes the records of [`last_failure`] and [`starts_slowly`](crate::starts_slowly), because the extension
/// was removed, changed, repaired or enabled.
pub fn forget_failure(state: &Path, name: &ExtensionName, dir: &Path) {
    // Usually there is no record.
    _ = fs::remove_file(path(state, name, dir));
    silent_starts::forget_by_name(state, name);
}

fn path(state: &Path, name: &ExtensionName, dir: &Path) -> PathBuf {
    state.join(file_name(name, dir))
}

/// Includes the directory, because a user's and a project's extension may have the same name.
fn file_name(name: &ExtensionName, dir: &Path) -> String {
    format!(
        "{PREFIX}{}-{:016x}",
        safe_file_name(name.as_str()),
        fnv1a_hash(dir.as_os_str().as_encoded_bytes())
    )
}

#[derive(Debug, Serialize, Deserialize)]
struct FailureRecord {
    looks: String,
    /// The launch, which older files lack.
    #[serde(default)]
    started: Option<String>,
    at_ms: u64,
    code: String,
    message: String,
}

impl FailureRecord {
    fn into_last_failure(self, dir: &Path) -> Option<LastFailure> {
        let Self { looks: was, at_ms, code, message, .. } = self;
        let at = UNIX_EPOCH.checked_add(Duration::from_millis(at_ms))?;
        (was == extension_stamp(dir)).then_some(LastFailure { at, code, message })
    }
}

/// The file with the last failure of one extension.
#[derive(Debug, Clone)]
pub(crate) struct FailureFile {
    files: Arc<StateFiles>,
    spec: Arc<ExtensionSpec>,
}

impl FailureFile {
    pub(crate) fn new(files: Arc<StateFiles>, spec: Arc<ExtensionSpec>) -> Self {
        Self { files, spec }
    }

    pub(crate) fn remember(&self, failure: &ExtensionFailure) {
        // An extension that is not installed is in no listing, and its file would never be removed.
        if !matches!(
            self.spec.origin,
            ExtensionOrigin::Global | ExtensionOrigin::Project | ExtensionOrigin::Hook
        ) {
            return;
        }
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let record = FailureRecord {
            looks: extension_stamp(&self.spec.dir),
            started: Some(launch_fingerprint(&self.spec.launch)),
            at_ms: u64::try_from(at.as_millis()).unwrap_or(u64::MAX),
            code: failure.code.as_str().to_owned(),
            message: shorten_message(&failure.message),
        };
        // Strings and a number can always be encoded.
        if let Ok(text) = serde_json::to_string(&record) {
            self.files.write(&self.name(), &text);
        }
    }

    pub(crate) fn forget(&self) {
        self.files.remove(&self.name());
    }

    fn name(&self) -> String {
        file_name(&self.spec.name, &self.spec.dir)
    }
}

/// Keeps the last line of the output, which names the error in most languages.
fn shorten_message(message: &str) -> String {
    match message.split_once(PRINTED) {
        Some((what, printed)) => {
            let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            format!("{what}: {}", last.trim())
        }
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervision::streams::stream_spec;
    use crate::wire::fault::FaultCode;
    use haft_packages::manifest::MANIFEST_FILE;

    fn spec(dir: &Path) -> Arc<ExtensionSpec> {
        Arc::new(ExtensionSpec { dir: dir.to_owned(), origin: ExtensionOrigin::Global, ..stream_spec("x") })
    }

    #[test]
    fn failure_record_lasts_until_ready_or_changed() {
        let root = tempfile::tempdir().unwrap();
        let (state, dir) = (root.path().join("state"), root.path().join("x"));
        fs::create_dir(&dir).unwrap();
        let spec = spec(&dir);
        let host = || FailureFile::new(Arc::new(StateFiles::new(Some(state.clone()))), Arc::clone(&spec));
        let known = || last_failure(&state, &spec.name, &dir);
        let message = format!("exited with status 1{PRINTED}Traceback:\n  line 3\nNameError: x\n\n");
        let failure = ExtensionFailure { code: FaultCode::Exited, message };
        host().forget();
        assert_eq!(known(), None);
        host().remember(&failure);
        let LastFailure { at, code, message } = known().unwrap();
        assert!(at <= SystemTime::now() && at > SystemTime::now() - Duration::from_secs(3600), "{at:?}");
        assert_eq!((code.as_str(), message.as_str()), ("exited", "exited with status 1: NameError: x"));
        host().forget();
        assert_eq!(known(), None, "it is ready in another run");
        host().remember(&failure);
        assert_eq!(last_failure(&state, &spec.name, root.path()), None, "another one of its name");
        fs::write(dir.join(MANIFEST_FILE), "{}").unwrap();
        assert_eq!(known(), None, "it is another version");
        host().remember(&failure);
        forget_failure(&state, &spec.name, &dir);
        assert_eq!(known(), None);
        assert!(fs::read_dir(&state).unwrap().next().is_none());
    }

    #[test]
    fn hook_failure_applies_only_to_failed_command() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().to_owned();
        let by = |args: &[&str]| {
            let args = args.iter().map(|&arg| arg.to_owned()).collect();
            let launch = LaunchPlan::Process { program: "/bin/sh".into(), args };
            ExtensionSpec { dir: dir.clone(), origin: ExtensionOrigin::Hook, launch, ..stream_spec("x") }
        };
        let files = StateFiles::new(Some(root.path().join("state")));
        let failure = ExtensionFailure { code: FaultCode::Exited, message: "x".into() };
        FailureFile::new(Arc::new(files), Arc::new(by(&["a b"]))).remember(&failure);
        let known = |args: &[&str]| last_failure_of_hook(&root.path().join("state"), &by(args)).is_some();
        assert!(known(&["a b"]) && !known(&["a", "b"]) && !known(&[]));
    }

    #[test]
    fn writes_no_record_for_uninstalled_extension() {
        let root = tempfile::tempdir().unwrap();
        let spec =
            ExtensionSpec { origin: ExtensionOrigin::Explicit, ..ExtensionSpec::clone(&spec(root.path())) };
        let files = StateFiles::new(Some(root.path().join("state")));
        let failure = ExtensionFailure { code: FaultCode::Exited, message: "x".into() };
        FailureFile::new(Arc::new(files), Arc::new(spec)).remember(&failure);
        assert!(!root.path().join("state").exists());
    }
}
