//! Skipped extensions: the reasons, and the texts for the user.

use std::fmt;
use std::path::PathBuf;

use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use crate::spec::ExtensionOrigin;

/// The stable code of an extension that differs from the approved version, as in `extension_error` events.
pub const PIN_MISMATCH: &str = "pin_mismatch";

/// An extension that exists and does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedExtension {
    /// The manifest's name.
    pub name: ExtensionName,
    /// The absolute path of its directory.
    pub dir: PathBuf,
    /// The origin of the extension.
    pub origin: ExtensionOrigin,
    /// The reason why it does not run.
    pub reason: SkipReason,
}

/// The reason why an extension does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Its manifest has `"enabled": false`.
    Disabled,
    /// The project is not trusted.
    Untrusted,
    /// The extension is in the user's directory and is not approved.
    NotApproved,
    /// The extension differs from the approved version.
    Changed {
        /// The differences, and what to do.
        summary: String,
    },
    /// An earlier extension has the same name.
    NameTaken {
        /// The directory of the earlier extension.
        by: PathBuf,
    },
}

impl fmt::Display for SkippedExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "extension {} in {} does not run: {}", self.name, self.dir.display(), self.explain())
    }
}

/// Formats the reason without the next step.
impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("the extension is disabled"),
            Self::Untrusted => f.write_str("the project is not trusted"),
            Self::NotApproved => f.write_str("the extension is not approved"),
            Self::Changed { summary } => f.write_str(summary),
            Self::NameTaken { by } => {
                write!(
                    f,
                    "the extension in {} has the same name, ignoring case, and comes first",
                    by.display()
                )
            }
        }
    }
}

impl SkipReason {
    /// Returns the stable code if this is a fault: the user's own extension needs attention before it runs.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::NotApproved => Some("not_approved"),
            Self::Changed { .. } => Some(PIN_MISMATCH),
            Self::Disabled | Self::Untrusted | Self::NameTaken { .. } => None,
        }
    }
}

impl SkippedExtension {
    fn explain(&self) -> String {
        let Self { name, origin, reason, .. } = self;
        let scope = if *origin == ExtensionOrigin::Project { " --scope project" } else { "" };
        match reason {
            SkipReason::Disabled => format!("{reason}; run `haft ext enable {name}{scope}` to enable it"),
            SkipReason::Untrusted => format!("{reason}; run `haft trust` to review and trust it"),
            SkipReason::NotApproved => {
                format!("{reason}; run `haft ext trust {name}` to review and approve it")
            }
            SkipReason::Changed { .. } | SkipReason::NameTaken { .. } => reason.to_string(),
        }
    }

    pub(super) fn to_fault(&self) -> Option<ExtensionFault> {
        let code = self.reason.code()?.to_owned();
        let message = format!("was not started from {}: {}", self.dir.display(), self.explain());
        Some(ExtensionFault::new(self.name.clone(), code, message))
    }
}
