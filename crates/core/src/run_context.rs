//! `RunContext`: the agent, events and cancellation of one run or of one extension's call.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::join_all;
use haft_protocol::ids::{ExtensionName, ToolCallId};
use tokio_util::sync::CancellationToken;

use crate::agent_state::AgentState;
use crate::emitter::EventEmitter;
use crate::hooks::{OnWaitPoint, WaitPoint};
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

    /// Waits until all hooks have handled a point of the run, or the run is cancelled.
    pub(crate) async fn wait_at(&self, point: WaitPoint) {
        if self.caller.is_none() {
            self.cancel.run_until_cancelled(wait_for_hooks(&self.agent, &self.cancel, &point)).await;
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

/// Waits until all hooks have handled a point of a run.
pub(crate) async fn wait_for_hooks(agent: &AgentState, cancel: &CancellationToken, point: &WaitPoint) {
    let hooks = agent.current_hooks::<dyn OnWaitPoint>();
    let waits = hooks.iter().map(|hook| AssertUnwindSafe(hook.on_wait_point(cancel, point)).catch_unwind());
    // A hook that panicked has nothing to decide.
    _ = join_all(waits).await;
}
