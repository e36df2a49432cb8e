//! A failure of an extension, as reported in events.

use serde::{Deserialize, Serialize};

use crate::ids::ExtensionName;

/// A failure of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ExtensionFault {
    /// The extension that failed.
    pub extension: ExtensionName,
    /// The stable name of the failure, for programs (`hello_timeout`, `frame_not_json`, …).
    pub code: String,
    /// The failure and the next step, for people.
    pub message: String,
}

impl ExtensionFault {
    /// Creates a fault.
    pub fn new(extension: ExtensionName, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { extension, code: code.into(), message: message.into() }
    }
}
