//! A tool whose calls end after a while: whoever waits behind one for a file must not wait for ever.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use haft_core::tool::{Failure, Tool, ToolContext, ToolOutput, ToolSpec};
use haft_protocol::content::ToolCall;
use haft_protocol::defence::{Defence, is_up};
use tokio::time::timeout;

use crate::timeouts::LEASE_GRACE;

/// See the module.
pub(super) struct Leased {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) time: Duration,
}

#[async_trait]
impl Tool for Leased {
    fn spec(&self) -> Arc<ToolSpec> {
        self.tool.spec()
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        let cancel = context.cancel.child_token();
        let mut inner = context;
        inner.cancel = cancel.clone();
        let name = call.name.clone();
        let mut work = pin!(self.tool.execute(inner, call));
        if !is_up(Defence::Leases) {
            return work.await;
        }
        if let Ok(output) = timeout(self.time, work.as_mut()).await {
            return output;
        }
        cancel.cancel();
        // It says how far it got, or is dropped, and its place in the queue with it.
        match timeout(LEASE_GRACE, work).await {
            Ok(output) if !output.is_error => output,
            Ok(_) | Err(_) => ToolOutput::failed(Failure::TimedOut, self.late(&name)),
        }
    }
}

impl Leased {
    fn late(&self, name: &str) -> String {
        let seconds = self.time.as_secs_f64();
        format!(
            "{name} was not done within {seconds} s and was given up; may have done part of its work or all of it"
        )
    }
}
