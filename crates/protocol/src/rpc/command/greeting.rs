//! `hello`, `ping`, `shutdown`: the start and the end of a connection.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Introduces the client and its capabilities.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HelloCommand {
    /// The token; required if the process was started with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<AuthToken>,
    /// The client's name and version, for the log. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientInfo>,
    /// True if the client answers `ui_request`. Otherwise every question gets its default at once.
    /// Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ui: Option<bool>,
    /// The tools whose calls the client wants to approve, in every session; `"*"` for all. Absent:
    /// unchanged, at first none; `[]`: none. A client that names a tool must answer `ui_request`,
    /// as with `ui`. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve: Option<Vec<String>>,
}

/// A client's name and version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(expecting = "an object")]
pub struct ClientInfo {
    /// The client's name.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub name: String,
    /// The client's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The token that allows a client to drive the process. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct AuthToken(pub String);

impl fmt::Debug for AuthToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Asks for a sign of life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PingCommand {}

/// Ends the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShutdownCommand {}
