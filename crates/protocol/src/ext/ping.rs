//! `ping` and `pong`: a check that the extension still responds.

use serde::{Deserialize, Serialize};

use crate::ids::RequestId;

/// Asks for a sign of life. Sent only to extensions with the capability `ping` that have work to do
/// and send nothing. The extension answers with `pong` at once, even during other work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ping {
    /// The id for the response.
    pub id: RequestId,
}

/// The response to `ping`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pong {
    /// The `id` of the `ping`.
    pub id: RequestId,
}
