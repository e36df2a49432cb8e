//! `RunContext`: the agent, events and cancellation of one run or of one extension's call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use tokio_util::sync::CancellationToken;

use crate::agent_state::AgentState;
use crate::emitter::EventEmitter;
use crate::session::intervention::{HookIntervention, InterventionAction};

/// The context of one run, or of one extension's call outside of a run.
pub(crate) struct RunContext {
    pub(crate) agent: Arc<AgentState>,
    pub(crate) emitter: EventEmitter,
    pub(crate) cancel: CancellationToken,
    /// The extension that makes the call; `None` in a run.
    pub(crate) caller: Option<ExtensionName>,
}

/// The reasons why a hook made no decision. The action does not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoDecision {
    Cancelled,
    Panicked,
}

/// The reason of the refusal when a hook panicked.
pub(crate) const PANICKED: &str = "the hook panicked";

impl RunContext {
    /// Waits for the decision of a hook. A decision after the cancellation does not count.
    pub(crate) async fn await_decision<T>(&self, hook: impl Future<Output = T>) -> Result<T, NoDecision> {
        let hook = AssertUnwindSafe(hook).catch_unwind();
        let decision = self.cancel.run_until_cancelled(hook).await;
        match decision.filter(|_| !self.cancel.is_cancelled()) {
            Some(decision) => decision.map_err(|_| NoDecision::Panicked),
            None => Err(NoDecision::Cancelled),
        }
    }

    /// Records the intervention of hooks in the session, for people who read the log. Calls of extensions are not
    /// recorded.
    pub(crate) fn record_intervention(
        &self,
        call: Option<&ToolCallId>,
        action: InterventionAction,
        by: Vec<String>,
    ) {
        if self.caller.is_some() {
            return;
        }
        let note = HookIntervention { call_id: call.cloned(), action, by }.to_custom();
        // The decision applies even if it cannot be recorded. If the session cannot be written, the next entry fails.
        let _ = note.map(|note| self.agent.transcript.add_custom(note));
    }
}
