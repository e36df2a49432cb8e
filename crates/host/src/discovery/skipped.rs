//! What is said of an extension that was not run.

use std::fmt;

use haft_protocol::event::ExtensionFault;

use super::{SkipReason, Skipped};
use crate::fault::FaultCode;

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "extension {} in {} is not run: {}", self.name, self.dir.display(), self.reason)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("it is disabled; run `haft ext enable`"),
            Self::Untrusted => f.write_str("the project is not trusted; `haft trust` shows and allows it"),
            Self::NotApproved => {
                f.write_str("it was not approved; `haft ext trust` shows what it would run, and asks")
            }
            Self::Changed { summary } => f.write_str(summary),
            Self::NameTaken { by } => write!(f, "{} has the same name and comes first", by.display()),
        }
    }
}

impl SkipReason {
    /// Its stable name, if it is a fault: something that the user has, and has to look at before it runs.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::NotApproved => Some("not_approved"),
            Self::Changed { .. } => Some(FaultCode::PinMismatch.as_str()),
            Self::Disabled | Self::Untrusted | Self::NameTaken { .. } => None,
        }
    }
}

impl Skipped {
    pub(super) fn fault(&self) -> Option<ExtensionFault> {
        let code = self.reason.code()?.to_owned();
        let message = format!("was not started from {}: {}", self.dir.display(), self.reason);
        Some(ExtensionFault { extension: self.name.clone(), code, message })
    }
}
