//! Compacts the context: when it is full, when the provider rejects a request as too long, or at the user's request.

use std::sync::Arc;

use futures::StreamExt;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::{AgentEvent, CompactReason};
use haft_protocol::message::{Message, StopCause, text_of};
use haft_protocol::thinking::ThinkingLevel;
use tokio_util::sync::CancellationToken;

use super::ask::retry_event;
use super::{TurnDriver, with_causes};
use crate::agent_state::{AgentSetup, AgentState};
use crate::compact::{
    self, CompactError, CompactionOutcome, PendingCompaction, RetentionLimits, SummaryMaterial, TokenBudget,
    TouchedFiles, entry_tokens, find_cut, previous_compaction, summary_prompt, truncate_summary,
};
use crate::emitter::EventEmitter;
use crate::hooks::{BeforeCompact, CompactDecision, PromptSection};
use crate::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelId, ModelRequest, ModelResponse, RequestOptions,
    stream_response,
};
use crate::run_context::{NoDecision, RunContext};
use crate::session::entry::{Compaction, ResponseMetadata};
use crate::session::{SessionError, compaction_text};
use crate::stats::text_tokens;

/// The minimum context in tokens; a smaller context is not checked against the window.
const SMALL: u64 = 2_000;

/// The number of attempts with a shorter request for a summary.
const ATTEMPTS: u64 = 3;

pub(super) struct CompactionSummary {
    pub(super) text: String,
    by: Option<String>,
    pub(super) answer: Option<ResponseMetadata>,
}

impl CompactionSummary {
    /// True if the model reached its output limit before the end of the summary.
    fn is_cut_off(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.stop == StopCause::Length)
    }
}

/// A planned compaction.
struct CompactionPlan {
    compacting: PendingCompaction,
    budget: TokenBudget,
}

/// Compacts the context at the user's request.
pub(crate) async fn run_manual_compaction(
    agent: Arc<AgentState>,
    cancel: CancellationToken,
    instructions: Option<String>,
) -> Result<CompactionOutcome, CompactError> {
    // There is no run, so only the observers receive events.
    let (sender, _) = crate::emitter::event_channel();
    let emitter = EventEmitter::new(agent.current_hooks(), sender);
    if !agent.queues.open(emitter.clone(), false) {
        return Err(CompactError::Busy);
    }
    let mut turn = TurnDriver::new(agent, emitter, cancel);
    turn.emit_repairs();
    let outcome = turn.compact_manually(instructions).await;
    turn.emit_repairs();
    outcome
}

/// The compaction of an agent's context.
pub(super) struct ContextCompactor<'a> {
    pub(super) run: &'a RunContext,
    pub(super) setup: &'a AgentSetup,
    pub(super) sections: &'a [PromptSection],
}

impl ContextCompactor<'_> {
    /// Compacts the context and reports the outcome; returns `None` if compaction is not needed or would not shorten
    /// the context.
    pub(super) async fn compact(
        &self,
        reason: CompactReason,
        instructions: Option<String>,
    ) -> Option<Result<CompactionOutcome, CompactError>> {
        let plan = self.plan(reason, instructions)?;
        Some(self.execute_plan(plan).await)
    }

    /// Plans a compaction; returns `None` if compaction is not needed or would not shorten the context.
    fn plan(&self, reason: CompactReason, instructions: Option<String>) -> Option<CompactionPlan> {
        let (tally, messages) = self.run.agent.transcript.tally();
        if reason == CompactReason::Threshold && tally.context_usage(&messages, None).tokens < SMALL {
            return None;
        }
        let tokens = self.context_tokens();
        let known = self.setup.model.facts().window;
        let window = match reason {
            CompactReason::Threshold => known?,
            // The actual window is smaller than this, whatever its known size.
            CompactReason::Overflow => known.map_or(tokens, |known| known.min(tokens)),
            CompactReason::Manual => known.unwrap_or_else(|| tokens.max(UNKNOWN)),
        };
        let budget = self
            .run
            .agent
            .config
            .compact
            .token_budget(window, self.run.agent.fixed_tokens(self.setup, self.sections));
        if reason == CompactReason::Threshold && tokens < budget.full {
            return None;
        }
        let entries = self.run.agent.transcript.session.branch();
        let all: u64 = entries.iter().map(|entry| entry_tokens(entry)).sum();
        let usual = match reason {
            // A user's request shortens the context even if it is short.
            CompactReason::Manual => budget.keep.min(all / 2),
            CompactReason::Threshold | CompactReason::Overflow => budget.keep,
        };
        let at = find_cut(&entries, RetentionLimits { usual, at_most: budget.keep_at_most });
        let summed_up: u64 = entries.iter().take(at).map(|entry| entry_tokens(entry)).sum();
        let worth = if reason == CompactReason::Threshold { budget.summary / 2 } else { 1 };
        if summed_up < worth.max(1) {
            return None;
        }
        let before = previous_compaction(&entries);
        let files = TouchedFiles::from_entries(entries.get(..at).unwrap_or_default(), before);
        let previous_summary = before.map(|before| before.summary.clone());
        let compacting = PendingCompaction {
            reason,
            instructions: instructions.filter(|text| !text.trim().is_empty()),
            tokens_before: tokens,
            window: known,
            first_kept: entries.get(at).map(|entry| entry.id),
            previous_summary,
            files_read: files.read,
            files_modified: files.modified,
            entries,
        };
        Some(CompactionPlan { compacting, budget })
    }

    fn context_tokens(&self) -> u64 {
        self.run.agent.context_usage(self.setup, self.sections).tokens
    }

    async fn execute_plan(&self, plan: CompactionPlan) -> Result<CompactionOutcome, CompactError> {
        let (reason, tokens_before) = (plan.compacting.reason, plan.compacting.tokens_before);
        self.run.emitter.emit(AgentEvent::CompactionStart { reason });
        let CompactionPlan { compacting, budget } = plan;
        // The compaction can be cancelled until something is written.
        let outcome = match self.run.cancel.run_until_cancelled(self.summarize(compacting, &budget)).await {
            Some(Err(_)) if self.run.cancel.is_cancelled() => Err(CompactError::Aborted),
            Some(Ok((compacting, summary))) => self.apply_summary(compacting, summary).await,
            Some(Err(error)) => Err(error),
            None => Err(CompactError::Aborted),
        };
        let done = outcome.as_ref().ok();
        let by = match &outcome {
            Ok(CompactionOutcome { by, .. }) => by.clone(),
            Err(CompactError::Refused { by, .. }) => Some(by.clone()),
            Err(_) => None,
        };
        self.run.emitter.emit(AgentEvent::CompactionEnd {
            summary: done.map(|done| done.summary.clone()),
            tokens_before,
            tokens_after: done.map(|done| done.tokens_after),
            messages_summed_up: done.map(|done| done.messages_summed_up),
            messages_kept: done.map(|done| done.messages_kept),
            by,
            error: outcome.as_ref().err().map(ToString::to_string),
        });
        outcome
    }

    async fn summarize(
        &self,
        compacting: PendingCompaction,
        budget: &TokenBudget,
    ) -> Result<(PendingCompaction, CompactionSummary), CompactError> {
        let (compacting, replaced) = self.ask_hooks(compacting).await?;
        let mut summary = match replaced {
            Some(summary) => summary,
            None => self.ask_for_summary(&SummaryMaterial::of_compaction(&compacting), budget).await?,
        };
        summary.text = truncate_summary(&summary.text, budget);
        if summary.text.is_empty() {
            return Err(CompactError::Empty);
        }
        Ok((compacting, summary))
    }

    /// Writes the summary to the log; the context is the shorter one from here on.
    async fn apply_summary(
        &self,
        compacting: PendingCompaction,
        summary: CompactionSummary,
    ) -> Result<CompactionOutcome, CompactError> {
        let CompactionSummary { text, by, answer } = summary;
        let usage = answer.as_ref().map(|answer| answer.usage);
        let asked = answer.clone();
        let replaced = compacting.replaced_tokens();
        let compaction = Compaction {
            summary: text.clone(),
            first_kept: compacting.first_kept,
            tokens_before: compacting.tokens_before,
            files_read: compacting.files_read,
            files_modified: compacting.files_modified,
            by: by.clone(),
            answer,
            used: None,
            settings: Default::default(),
        };
        let summary = text_tokens(&compaction_text(&compaction));
        if summary >= replaced {
            return Err(CompactError::NotShorter { summary, replaced });
        }
        let before = self.run.agent.transcript.messages().len();
        let saved = self.run.agent.transcript.compact(compaction).map_err(compact_session_error)?;
        if let Some(usage) = usage {
            self.run.emitter.emit(AgentEvent::Usage { usage, cumulative: self.run.agent.transcript.usage() });
        }
        saved.wait_synced().await.map_err(compact_session_error)?;
        let tokens_after = self.context_tokens();
        // The summary itself is one message.
        let kept = self.run.agent.transcript.messages().len().saturating_sub(1);
        Ok(CompactionOutcome {
            summary: text,
            tokens_before: compacting.tokens_before,
            tokens_after,
            messages_summed_up: before.saturating_sub(kept) as u64,
            messages_kept: kept as u64,
            by,
            answer: asked,
        })
    }

    /// Asks all hooks about the kept part and for a summary.
    async fn ask_hooks(
        &self,
        compacting: PendingCompaction,
    ) -> Result<(PendingCompaction, Option<CompactionSummary>), CompactError> {
        let mut replaced: Option<(PendingCompaction, CompactionSummary)> = None;
        for hook in self.run.agent.current_hooks::<dyn BeforeCompact>() {
            match self.run.await_decision(hook.before_compact(&self.run.cancel, &compacting)).await {
                Ok(CompactDecision::Cancel { reason }) => {
                    let by = hook.name().to_owned();
                    return Err(CompactError::Refused { by, reason });
                }
                Ok(CompactDecision::Replace { summary, first_kept }) if replaced.is_none() => {
                    let kept = match first_kept {
                        Some(first) => compacting.clone().with_first_kept(first),
                        None => Some(compacting.clone()),
                    };
                    if let Some(kept) = kept {
                        let by = Some(hook.name().to_owned());
                        let summary = CompactionSummary { text: summary, by, answer: None };
                        replaced = Some((kept, summary));
                    } else if let Some(first) = first_kept {
                        hook.cut_refused(first);
                    }
                }
                Ok(CompactDecision::Default | CompactDecision::Replace { .. }) => {}
                Err(NoDecision::Cancelled) => return Err(CompactError::Aborted),
                Err(NoDecision::Panicked) => {}
            }
        }
        Ok(replaced.map_or((compacting, None), |(kept, summary)| (kept, Some(summary))))
    }

    pub(super) async fn ask_for_summary(
        &self,
        material: &SummaryMaterial<'_>,
        budget: &TokenBudget,
    ) -> Result<CompactionSummary, CompactError> {
        let mut nth = 1;
        loop {
            match self.stream_summary(summary_prompt(material, budget, nth)).await {
                Err(error) if error.kind == ModelErrorKind::Overflow && nth < 1 << ATTEMPTS => nth *= 2,
                Ok(summary) if summary.is_cut_off() => return Err(CompactError::CutOff),
                outcome => return outcome.map_err(CompactError::Model),
            }
        }
    }

    async fn stream_summary(&self, question: String) -> Result<CompactionSummary, ModelError> {
        let setup = self.setup;
        let said = Message::User {
            content: vec![ContentBlock::text(question)],
            time: self.run.agent.current_time(),
        };
        let request = ModelRequest {
            system: compact::SYSTEM.to_owned(),
            messages: Arc::new(vec![said]),
            tools: Vec::new(),
            // A summary needs no thinking, and the user waits.
            thinking: ThinkingLevel::Off,
            options: RequestOptions::default(),
            output_schema: None,
            review: self.run.agent.request_review(),
        };
        let asked = setup.model.info();
        let mut answering = asked.clone();
        let cancel = self.run.cancel.clone();
        let mut events = stream_response(setup.model.as_ref(), cancel, request).await?;
        while let Some(event) = events.next().await {
            match event? {
                ModelEvent::Done(response) => return Ok(summary_from_response(answering, response)),
                ModelEvent::Answering(info) => answering = info,
                ModelEvent::Fallback { from, to, message } => {
                    let (from, to) = (from.to_string(), to.to_string());
                    self.run.emitter.emit(AgentEvent::ModelFallback { from, to, message });
                }
                ModelEvent::Retry { attempt, delay, message, max_attempts, kind } => {
                    self.run.emitter.emit(retry_event(attempt, delay, message, max_attempts, kind));
                }
                ModelEvent::Text(_)
                | ModelEvent::Thinking(_)
                | ModelEvent::ToolCallStart { .. }
                | ModelEvent::ToolCallArgs { .. }
                | ModelEvent::ToolCallEnd { .. } => {}
            }
        }
        let text = format!("the answer from {asked} ended without its final event; try again");
        Err(ModelError::new(ModelErrorKind::Truncated, text))
    }
}

/// The assumed window in tokens if the size is unknown.
pub(super) const UNKNOWN: u64 = 32_000;

fn summary_from_response(by: ModelId, response: ModelResponse) -> CompactionSummary {
    let ModelId { provider, model } = by;
    let answer = ResponseMetadata { provider, model, stop: response.stop, usage: response.usage };
    CompactionSummary { text: text_of(&response.content), by: None, answer: Some(answer) }
}

pub(super) fn compact_session_error(error: SessionError) -> CompactError {
    CompactError::Session { reason: with_causes(error) }
}
