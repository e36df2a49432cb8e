//! `set_status`: what an extension keeps saying in the status line, beside its name.

use serde::{Deserialize, Serialize};

use crate::read::null_is_default;

/// One of the extension's items in the status line: it is there from here on, says something else, or is taken away. All of
/// them go when the extension does. Sent only to hosts that announce the capability `status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SetStatus {
    /// Which item: the extension's own name for it, `[A-Za-z0-9_-]`, at most 64 characters.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub key: String,
    /// The text, one line. Absent or empty takes the item away.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub text: String,
}
