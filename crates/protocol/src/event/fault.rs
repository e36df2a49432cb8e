//! A failure of an extension, as reported in events.

use serde::{Deserialize, Serialize};

use crate::ids::ExtensionName;

/// A failure of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExtensionFault {
    /// The extension that failed.
    pub extension: ExtensionName,
    /// The stable name of the failure, for programs (`hello_timeout`, `frame_not_json`, …).
    pub code: String,
    /// The failure and the next step, for people.
    pub message: String,
}
