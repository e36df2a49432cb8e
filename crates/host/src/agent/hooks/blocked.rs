//! The hook before a tool call where nobody can tell which extensions have to be in place.

use async_trait::async_trait;
use haft_core::hooks::{BeforeToolExecute, ToolDecision};
use haft_protocol::content::ToolCall;
use haft_protocol::names;
use tokio_util::sync::CancellationToken;

/// Refuses every call, whoever makes it.
pub(crate) struct Blocked {
    /// See [`Found::blocked`](crate::Found::blocked).
    pub(crate) why: String,
}

#[async_trait]
impl BeforeToolExecute for Blocked {
    async fn before_tool_execute(&self, _: &CancellationToken, _: &ToolCall) -> ToolDecision {
        let reason = format!("blocked, because {}; the user has been told", self.why);
        ToolDecision::block(names::HAFT, reason)
    }

    fn name(&self) -> &str {
        names::HAFT
    }
}
