//! `set_status`: texts of an extension in the status line, shown with its name.

use serde::{Deserialize, Serialize};

use crate::read::null_is_default;

/// Sets, changes or removes a text in the status line. All texts disappear when the process of the
/// extension ends. Sent only to hosts with the capability `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetStatus {
    /// The key of the text, chosen by the extension: `[A-Za-z0-9_-]`, at most 64 characters.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub key: String,
    /// The text, one line. Absent or empty removes it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub text: String,
}
