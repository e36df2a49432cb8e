//! Replies to `hello` and `ping`.

use serde::{Deserialize, Serialize};

/// The server and its capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HelloData {
    /// The version of the protocol: 1.
    pub protocol_version: u32,
    /// The version of haft.
    pub version: String,
    /// The provider of the session's model.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The capabilities beyond zot's RPC mode. Names never change. Since haft.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The current session: commands without `session` apply to it. Since haft.
    #[serde(default)]
    pub session: String,
}

/// The reply to `ping`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PongData {
    /// Always `true`.
    pub pong: bool,
}
