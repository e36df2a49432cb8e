//! The check that no recorded required extension is missing.

use std::error::Error as _;
use std::path::{Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use super::DiscoveredExtensions;
use crate::approval::lock::{ApprovalStore, LockFile};
use crate::approval::{RequiredExtensions, lost_extensions};
use crate::shell::shell_quote;
use crate::spec::{ExtensionOrigin, ExtensionSpec};

/// The stable code of a required extension that is missing, as in `extension_error` events.
pub const REQUIRED_MISSING: &str = "required_missing";

/// A recorded required extension that would not run as required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingExtension {
    /// The extension.
    pub name: ExtensionName,
    /// The install source.
    pub from: String,
    /// The next step to restore the extension.
    pub restore: RestoreStep,
}

/// The command that restores a missing extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreStep {
    /// `haft ext enable`: the lock file has an entry.
    Enable,
    /// `haft ext install` with this directory: the code is still there, and the lock file has no entry.
    Install(PathBuf),
    /// An installation from the original source.
    Fetch,
}

impl RestoreStep {
    /// Returns the step for an extension that was installed from `from`, a text for the user.
    fn find(approved: &ApprovalStore, file: &LockFile, name: &ExtensionName, from: &str) -> Self {
        if file.find(name.as_str()).is_some() {
            return Self::Enable;
        }
        let stored = lost_extensions(approved, file).into_iter().find(|lost| is_same_name(&lost.name, name));
        let source = Path::new(from.strip_prefix("the directory ").unwrap_or(from));
        let source = (source.is_absolute() && source.is_dir()).then(|| source.to_owned());
        stored.map(|lost| lost.dir).or(source).map_or(Self::Fetch, Self::Install)
    }
}

impl MissingExtension {
    /// Returns the problem and the next step.
    pub fn problem_text(&self) -> String {
        let Self { name, from, restore } = self;
        let restore = match restore {
            RestoreStep::Enable => format!("run `haft ext enable {name}` or install it again"),
            RestoreStep::Install(dir) => {
                format!("run `haft ext install {}`", shell_quote(&dir.display().to_string()))
            }
            RestoreStep::Fetch => "install it again with `haft ext install`".to_owned(),
        };
        format!(
            "was required, and is now missing, disabled, renamed or not required (installed from {from}); to restore it, \
             {restore}; to work without it, run `haft ext disable {name}`"
        )
    }
}

/// Returns the recorded extensions that are not among the found ones as required. An extension that the command line
/// names replaces a recorded one.
pub fn missing_extensions(
    approved: &ApprovalStore,
    recorded: &RequiredExtensions,
    specs: &[ExtensionSpec],
) -> Vec<MissingExtension> {
    let is_there = |name: &ExtensionName| {
        let mut same = specs.iter().filter(|spec| is_same_name(&spec.name, name));
        same.any(|spec| spec.origin == ExtensionOrigin::Explicit || is_required_of_user(spec))
    };
    let mut missing = recorded.iter().filter(|(name, _)| !is_there(name)).peekable();
    if missing.peek().is_none() {
        return Vec::new();
    }
    let file = approved.load().unwrap_or_default();
    let found = missing.map(|(name, from)| {
        let restore = RestoreStep::find(approved, &file, name, from);
        MissingExtension { name: name.clone(), from: from.to_owned(), restore }
    });
    found.collect()
}

impl DiscoveredExtensions {
    /// Blocks all tools if a required extension that `approved` has recorded is missing, and records the present ones.
    #[must_use]
    pub fn with_recorded(mut self, approved: &ApprovalStore) -> Self {
        // The required extensions are unknown.
        if self.blocked.is_some() || !is_up(Defense::RequiredRecord) {
            return self;
        }
        let recorded = match approved.required_extensions() {
            Ok(recorded) => recorded,
            Err(error) => {
                self.blocked =
                    Some("required.json cannot be used, so the required extensions are unknown".to_owned());
                let extension = ExtensionName::new("required.json");
                self.faults.push(ExtensionFault::new(extension, "lock_invalid", error.to_string()));
                return self;
            }
        };
        for missing in missing_extensions(approved, &recorded, &self.specs) {
            let why = || format!("the required extension {} is missing", missing.name);
            self.blocked.get_or_insert_with(why);
            let message = missing.problem_text();
            self.faults.push(ExtensionFault::new(missing.name, REQUIRED_MISSING, message));
        }
        let is_new = |spec: &&ExtensionSpec| {
            is_required_of_user(spec) && !recorded.iter().any(|(name, _)| is_same_name(&spec.name, name))
        };
        let new = self.specs.iter().filter(is_new);
        let new: Vec<_> = new.map(|spec| (spec.name.clone(), spec.dir.display().to_string())).collect();
        if !new.is_empty()
            && let Err(error) = approved.remember_required(new)
        {
            let path = approved.required_file_path();
            let dir = path.parent().unwrap_or(&path).display();
            let cause = error.source().map_or_else(String::new, |cause| format!(": {cause}"));
            self.blocked = Some(
                "required.json cannot be written, so the loss of a required extension would not be noticed"
                    .to_owned(),
            );
            self.faults.push(ExtensionFault::new(ExtensionName::new("required.json"), "lock_invalid".to_owned(), format!(
                    "cannot record the required extensions: {error}{cause}; make {dir} writable for you, and start \
                     haft again"
                )));
        }
        self
    }
}

fn is_required_of_user(spec: &ExtensionSpec) -> bool {
    spec.origin == ExtensionOrigin::Global && spec.roles.required
}

fn is_same_name(one: &ExtensionName, other: &ExtensionName) -> bool {
    one.as_str().eq_ignore_ascii_case(other.as_str())
}
