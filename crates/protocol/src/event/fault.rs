//! A failure of an extension, as it is told.

use serde::{Deserialize, Serialize};

use crate::ids::ExtensionName;

/// One attributed failure of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ExtensionFault {
    /// Whose failure.
    pub extension: ExtensionName,
    /// The stable name of the case, for programs (`hello_timeout`, `frame_not_json`, …).
    pub code: String,
    /// What failed and what to do next, for people.
    pub message: String,
}
