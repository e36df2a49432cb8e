//! The check that no recorded required extension is missing.

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use super::DiscoveredExtensions;
use crate::approval::RequiredExtensions;
use crate::approval::lock::ApprovalStore;
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
}

impl MissingExtension {
    /// Returns the problem and the next step.
    pub fn problem_text(&self) -> String {
        let Self { name, from } = self;
        format!(
            "was required, and is now missing, disabled, renamed or not required (installed from {from}); to restore it, run \
             `haft ext enable {name}` or install it again; to work without it, run `haft ext disable {name}`"
        )
    }
}

/// Returns the recorded extensions that are not among the found ones as required. An extension that the command line
/// names replaces a recorded one.
pub fn missing_extensions(recorded: &RequiredExtensions, specs: &[ExtensionSpec]) -> Vec<MissingExtension> {
    let is_there = |name: &ExtensionName| {
        let mut same = specs.iter().filter(|spec| is_same_name(&spec.name, name));
        same.any(|spec| spec.origin == ExtensionOrigin::Explicit || is_required_of_user(spec))
    };
    let missing = recorded.iter().filter(|(name, _)| !is_there(name));
    missing.map(|(name, from)| MissingExtension { name: name.clone(), from: from.to_owned() }).collect()
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
                let (code, message) = ("lock_invalid".to_owned(), error.to_string());
                self.faults.push(ExtensionFault { extension, code, message });
                return self;
            }
        };
        for missing in missing_extensions(&recorded, &self.specs) {
            let why = || format!("the required extension {} is missing", missing.name);
            self.blocked.get_or_insert_with(why);
            self.faults.push(ExtensionFault {
                code: REQUIRED_MISSING.to_owned(),
                message: missing.problem_text(),
                extension: missing.name,
            });
        }
        let is_new = |spec: &&ExtensionSpec| {
            is_required_of_user(spec) && !recorded.iter().any(|(name, _)| is_same_name(&spec.name, name))
        };
        let new = self.specs.iter().filter(is_new);
        let new: Vec<_> = new.map(|spec| (spec.name.clone(), spec.dir.display().to_string())).collect();
        if !new.is_empty()
            && let Err(error) = approved.remember_required(new)
        {
            tracing::warn!(%error, "cannot record the required extensions");
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
