//! Replies to `hello` and `ping`.

use serde::{Deserialize, Serialize};

/// The server and its capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HelloData {
    /// The version of the protocol: 1.
    pub protocol_version: u32,
    /// The version of haft.
    pub version: String,
    /// The provider of the session's model.
    pub provider: String,
    /// The session's model, as its provider calls it.
    pub model: String,
    /// Capabilities of this haft beyond zot's RPC mode: words that stay. Since haft.
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// The session that commands mean which name none. Since haft.
    #[serde(default)]
    pub session: String,
}

/// A sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PongData {
    /// Always `true`.
    pub pong: bool,
}
