//! Remembers over runs how an extension failed when it last ran, for those who ask when nothing runs: `haft ext list`.
//!
//! One small file for each that failed, until it is ready again. What it decides about is nothing: every run starts
//! every extension anew.

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

use crate::supervision::silent;
use crate::wire::fault::{ExtensionFailure, PRINTED};

const PREFIX: &str = "failed-";

/// The last failure of an installed extension that has not been ready since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastFailure {
    /// When, to the millisecond.
    pub at: SystemTime,
    /// The stable name of the failure: what `extension_error` carries as `code`.
    pub code: String,
    /// The failure, with the last line that it printed. Its log holds the rest.
    pub message: String,
}

/// Returns the failure of the extension of this name, in this directory, when it last ran. None when it did not, or
/// when its manifest has changed since. `state` is the host's [`state`](crate::HostConfig::state) directory.
pub fn last_failure(state: &Path, name: &ExtensionName, dir: &Path) -> Option<LastFailure> {
    read(state, name, dir)?.into_last_failure(dir)
}

/// As [`last_failure`], of a process hook: none, too, when it was started by another command than it would be now.
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

/// Returns the launch as text, for comparison alone.
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

/// Forgets what [`last_failure`] and [`starts_slowly`](crate::starts_slowly) know, because the extension was removed, or what
/// is approved of it is another thing than it was, or was put right, or switched on.
pub fn forget_failure(state: &Path, name: &ExtensionName, dir: &Path) {
    // Mostly there is none.
    _ = fs::remove_file(path(state, name, dir));
    silent::forget_by_name(state, name);
}

fn path(state: &Path, name: &ExtensionName, dir: &Path) -> PathBuf {
    state.join(file_name(name, dir))
}

/// The user's and a project's may have one name.
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
    /// The way it was started; older files do not say.
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

/// Where the failure of one extension is written down.
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
        // What is not installed is in no list, and nobody would clear its file away.
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
        // Strings and a number always have a text.
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

/// Of what it printed, the last line: in most languages that names the error.
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
    fn a_failure_is_known_until_it_is_ready_or_another_version() {
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
    fn of_a_hook_only_the_command_that_failed_counts() {
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
    fn what_is_not_installed_leaves_no_file() {
        let root = tempfile::tempdir().unwrap();
        let spec =
            ExtensionSpec { origin: ExtensionOrigin::Explicit, ..ExtensionSpec::clone(&spec(root.path())) };
        let files = StateFiles::new(Some(root.path().join("state")));
        let failure = ExtensionFailure { code: FaultCode::Exited, message: "x".into() };
        FailureFile::new(Arc::new(files), Arc::new(spec)).remember(&failure);
        assert!(!root.path().join("state").exists());
    }
}
