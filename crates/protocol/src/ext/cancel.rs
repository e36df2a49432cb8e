//! `cancel`: the host no longer waits for a response.

use serde::{Deserialize, Serialize};

use crate::ids::RequestId;

/// The host no longer waits for the response to a `tool_call`, `command_invoked` or
/// `event_intercept`. The extension should stop the work. It may still answer, and the host ignores
/// that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CancelRequest {
    /// The `id` of the request.
    pub id: RequestId,
}
