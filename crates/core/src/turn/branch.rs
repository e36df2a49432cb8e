//! The summary of a branch that the session leaves.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::TurnDriver;
use super::compact::{CompactionSummary, ContextCompactor, UNKNOWN};
use crate::agent_state::AgentState;
use crate::compact::{CompactError, SummaryMaterial, truncate_summary};
use crate::emitter::EventEmitter;
use crate::session::entry::{BranchSummary, ResponseMetadata, SessionEntry};

/// Asks the model for a summary of entries.
pub(crate) async fn summarize_branch(
    agent: Arc<AgentState>,
    cancel: CancellationToken,
    left: &[Arc<SessionEntry>],
    instructions: Option<String>,
) -> Result<BranchSummary, CompactError> {
    let Some(last) = left.last() else { return Err(CompactError::Nothing) };
    // There is no run, so only the observers receive events.
    let (sender, _) = crate::emitter::event_channel();
    let emitter = EventEmitter::new(agent.current_hooks(), sender);
    if !agent.queues.open(emitter.clone(), false) {
        return Err(CompactError::Busy);
    }
    let turn = TurnDriver::new(agent, emitter, cancel.clone());
    let material = SummaryMaterial::of_branch(left, instructions.as_deref());
    let summary = cancel.run_until_cancelled(turn.context_compactor().summarize_material(&material)).await;
    let (summary, answer) = summary.filter(|_| !cancel.is_cancelled()).ok_or(CompactError::Aborted)??;
    Ok(BranchSummary { summary, from: last.id, by: None, answer })
}

impl ContextCompactor<'_> {
    async fn summarize_material(
        &self,
        material: &SummaryMaterial<'_>,
    ) -> Result<(String, Option<ResponseMetadata>), CompactError> {
        let window = self.setup.model.facts().window.unwrap_or(UNKNOWN);
        let budget = self
            .run
            .agent
            .config
            .compact
            .token_budget(window, self.run.agent.fixed_tokens(self.setup, self.sections));
        let CompactionSummary { text, answer, .. } = self.ask_for_summary(material, &budget).await?;
        match truncate_summary(&text, &budget) {
            text if text.is_empty() => Err(CompactError::Empty),
            text => Ok((text, answer)),
        }
    }
}
