//! Points of a run at which the agent waits for hooks that decide nothing.

use async_trait::async_trait;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::StopCause;
use tokio_util::sync::CancellationToken;

use super::UNNAMED_HOOK;

/// A point of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitPoint {
    /// The agent begins to work on a prompt, after [`BeforeAgentStart`](super::BeforeAgentStart).
    AgentStart,
    /// A message of the user entered the transcript. The next step waits.
    UserMessage,
    /// The model begins to answer. The rest of the answer waits.
    AssistantStart,
    /// A tool has finished. Its result waits.
    ToolEnd {
        /// The id of the tool call.
        id: ToolCallId,
        /// The tool that ran.
        name: String,
        /// The duration in milliseconds.
        duration_ms: u64,
    },
    /// A step is finished, including its tools.
    TurnEnd {
        /// The reason.
        stop: StopCause,
        /// The error message, if there was an error.
        error: Option<String>,
    },
    /// The agent has stopped, also after an error or an abort. The end of the run waits.
    AgentEnd {
        /// The error message, if there was an error.
        error: Option<String>,
    },
}

/// Hook at the points of a run. All such hooks run at the same time, and the agent waits for all of them. A panic is
/// ignored.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{CancellationToken, OnWaitPoint, WaitPoint};
///
/// /// Writes its notes before the run ends.
/// struct Notes;
///
/// #[async_trait]
/// impl OnWaitPoint for Notes {
///     async fn on_wait_point(&self, _: &CancellationToken, point: &WaitPoint) {
///         if let WaitPoint::AgentEnd { error } = point {
///             println!("done: {error:?}");
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait OnWaitPoint: Send + Sync {
    /// Handles the point. An aborted run cancels the token, except at [`WaitPoint::AgentEnd`].
    async fn on_wait_point(&self, cancel: &CancellationToken, point: &WaitPoint);

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}
