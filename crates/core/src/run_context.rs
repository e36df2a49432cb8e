//! `RunContext`: the agent, the events and the cancellation of one run, or of one call that an extension makes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use tokio_util::sync::CancellationToken;

use crate::agent_state::AgentState;
use crate::emitter::EventEmitter;
use crate::session::intervention::{HookIntervention, InterventionAction};

/// The context of one run, or of one call of an extension outside of any run.
pub(crate) struct RunContext {
    pub(crate) agent: Arc<AgentState>,
    pub(crate) emitter: EventEmitter,
    pub(crate) cancel: CancellationToken,
    /// The extension whose call this is; `None` in a run.
    pub(crate) caller: Option<ExtensionName>,
}

/// The reason why a hook did not decide. The action that the hook was asked about does not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoDecision {
    Cancelled,
    Panicked,
}

/// The reason of a refusal that stands for a hook that panicked.
pub(crate) const PANICKED: &str = "the hook panicked";

impl RunContext {
    /// Waits for the decision of a hook. A decision that comes after the cancellation does not count.
    pub(crate) async fn await_decision<T>(&self, hook: impl Future<Output = T>) -> Result<T, NoDecision> {
        let hook = AssertUnwindSafe(hook).catch_unwind();
        let decision = self.cancel.run_until_cancelled(hook).await;
        match decision.filter(|_| !self.cancel.is_cancelled()) {
            Some(decision) => decision.map_err(|_| NoDecision::Panicked),
            None => Err(NoDecision::Cancelled),
        }
    }

    /// Notes in the session what hooks did, for people who read it. Calls of extensions are not in the session.
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
        // The decision counts even if it cannot be noted: a session that cannot be written fails at the next entry.
        let _ = note.map(|note| self.agent.transcript.add_custom(note));
    }
}
