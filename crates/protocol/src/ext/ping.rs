//! `ping` and `pong`: whether anybody is still there.

use serde::{Deserialize, Serialize};

use crate::ids::RequestId;

/// A sign of life is asked for. Sent only to extensions that announce the capability `ping`, and only when something was
/// written to them and nothing came back for a while. Answered by `pong`, at once, whatever else is being worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ping {
    /// Ties the answer to this frame.
    pub id: RequestId,
}

/// A sign of life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Pong {
    /// The `id` of the `ping` this answers.
    pub id: RequestId,
}
