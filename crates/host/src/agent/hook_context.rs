//! The parts of a host that the hooks of its extensions share, and the handling of a block after a failure.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::hooks::AfterBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::agent::gates::{FailureConsequence, GateMonitor};
use crate::agent::managed_extension::ManagedExtension;
use crate::agent::tool::ResultFiles;
use crate::extension::frontend::{FaultReporter, GateChoice};
use crate::supervision::host_context::HostContext;

/// The host, for the hooks of its gates.
#[async_trait]
pub(crate) trait GateHost: Send + Sync {
    /// Restarts the extension at the person's request. A failure is reported.
    async fn restart_gate(&self, name: &ExtensionName);

    /// Returns the names of all tools; `None` while they are not all known.
    fn tool_names(&self) -> Option<Vec<String>>;
}

pub(crate) struct HookContext {
    pub(crate) shared: Arc<HostContext>,
    pub(crate) gates: Arc<GateMonitor>,
    pub(crate) results: Arc<ResultFiles>,
    pub(crate) host: Arc<dyn GateHost>,
}

impl HookContext {
    pub(crate) fn reporter(&self, name: &ExtensionName) -> FaultReporter {
        self.shared.reporter(name)
    }

    /// Returns the consequence of a block. After too many failures, the person decides.
    pub(crate) async fn after_block(
        &self,
        cancel: &CancellationToken,
        entry: &ManagedExtension,
    ) -> AfterBlock {
        let name = entry.name();
        let asking = match self.gates.consequence_of_failure(name) {
            FailureConsequence::Nothing => return AfterBlock::GoOn,
            FailureConsequence::Stop { reason } => return stop(&reason),
            FailureConsequence::Ask(asking) => asking,
        };
        let answer = self.shared.frontend.ask_about_failing_gate(cancel, asking.failing_gate());
        // A front end that never answers must not hold the call forever.
        let choice = timeout(entry.timeouts.approval, answer).await.unwrap_or(GateChoice::Stop);
        let reason = asking.failing_gate().reason.clone();
        asking.record_choice(choice);
        match choice {
            GateChoice::Stop => return stop(&reason),
            GateChoice::Restart => self.host.restart_gate(name).await,
            GateChoice::ContinueWithout => {
                self.reporter(name).emit(AgentEvent::GateOff { extension: name.clone(), reason });
            }
        }
        AfterBlock::GoOn
    }
}

fn stop(reason: &str) -> AfterBlock {
    AfterBlock::AbortAgent { reason: format!("the gate keeps failing: {reason}") }
}
