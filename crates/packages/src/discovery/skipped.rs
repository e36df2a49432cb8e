//! An extension that is there and is not run: why, and what is said of it.

use std::fmt;
use std::path::PathBuf;

use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;

use crate::spec::ExtensionOrigin;

/// The stable name of an extension that is not what the user approved, as `extension_error` events carry it.
pub const PIN_MISMATCH: &str = "pin_mismatch";

/// An extension that is there and does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedExtension {
    /// The manifest's name.
    pub name: ExtensionName,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// Where it was found.
    pub origin: ExtensionOrigin,
    /// Why it does not run.
    pub reason: SkipReason,
}

/// Why an extension does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// Its manifest says `"enabled": false`.
    Disabled,
    /// The project is not trusted.
    Untrusted,
    /// It lies in the user's directory, and the user has not approved it.
    NotApproved,
    /// It is not what the user approved.
    Changed {
        /// The differences, and the next step.
        summary: String,
    },
    /// An earlier one has its name.
    NameTaken {
        /// The earlier one's directory.
        by: PathBuf,
    },
}

impl fmt::Display for SkippedExtension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "extension {} in {} is not run: {}", self.name, self.dir.display(), self.explain())
    }
}

/// Why, without what to do.
impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("it is disabled"),
            Self::Untrusted => f.write_str("the project is not trusted"),
            Self::NotApproved => f.write_str("it was not approved"),
            Self::Changed { summary } => f.write_str(summary),
            Self::NameTaken { by } => {
                write!(
                    f,
                    "{} has the same name, whatever the case of its letters, and comes first",
                    by.display()
                )
            }
        }
    }
}

impl SkipReason {
    /// Its stable name, if it is a fault: something that the user has, and has to look at before it runs.
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
            SkipReason::Disabled => format!("{reason}; `haft ext enable {name}{scope}` lets it run"),
            SkipReason::Untrusted => format!("{reason}; `haft trust` shows and allows it"),
            SkipReason::NotApproved => {
                format!("{reason}; `haft ext trust {name}` shows what it would run, and asks")
            }
            SkipReason::Changed { .. } | SkipReason::NameTaken { .. } => reason.to_string(),
        }
    }

    pub(super) fn to_fault(&self) -> Option<ExtensionFault> {
        let code = self.reason.code()?.to_owned();
        let message = format!("was not started from {}: {}", self.dir.display(), self.explain());
        Some(ExtensionFault { extension: self.name.clone(), code, message })
    }
}
