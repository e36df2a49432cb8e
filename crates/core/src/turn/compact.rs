//! Summing up the context: when it is full, when the provider says that it is too long, when the user wants it.

use std::sync::Arc;

use futures::StreamExt;
use haft_protocol::content::Content;
use haft_protocol::event::{AgentEvent, CompactReason};
use haft_protocol::message::{Message, text_of};
use haft_protocol::thinking::Thinking;
use tokio_util::sync::CancellationToken;

use super::ask::again;
use super::{Turn, with_causes};
use crate::agent_state::{AgentState, Setup};
use crate::compact::{
    self, Budget, CompactError, Compacted, Compacting, Files, Keep, cut, previous, question, tokens_of,
    within,
};
use crate::emitter::Emitter;
use crate::hooks::{CompactDecision, PromptSection};
use crate::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelRequest, ModelResponse, RequestOptions,
};
use crate::run_context::{NoDecision, RunContext};
use crate::session::SessionError;
use crate::session::entry::{Answer, Compaction};
use crate::stats::of_text;

/// Less than this is not worth asking how large the window is.
const SMALL: u64 = 2_000;

/// The number of times that a request for a summary is made shorter.
const ATTEMPTS: u64 = 3;

struct Summary {
    text: String,
    by: Option<String>,
    answer: Option<Answer>,
}

/// A compaction that is about to be carried out.
struct Plan {
    compacting: Compacting,
    budget: Budget,
    /// Tokens that the system prompt and the tools take.
    fixed: u64,
}

/// Sums up because the user wants it.
pub(crate) async fn by_hand(
    agent: Arc<AgentState>,
    cancel: CancellationToken,
    instructions: Option<String>,
) -> Result<Compacted, CompactError> {
    // Nobody holds a run: only the observers are told.
    let (sender, _) = crate::emitter::channel();
    let emitter = Emitter::new(agent.hooks().observers, sender);
    if !agent.queues.open(emitter.clone(), false) {
        return Err(CompactError::Busy);
    }
    let mut turn = Turn::new(agent, emitter, cancel);
    turn.tell_repairs();
    let outcome = turn.compact_by_hand(instructions).await;
    turn.tell_repairs();
    outcome
}

/// The work of summing up the context.
pub(super) struct Compactor<'a> {
    pub(super) run: &'a RunContext,
    pub(super) setup: &'a Setup,
    pub(super) sections: &'a [PromptSection],
}

impl Compactor<'_> {
    /// Sums up the context and reports the outcome; `None` if there is no need, or nothing that it would make shorter.
    pub(super) async fn compact(
        &self,
        reason: CompactReason,
        instructions: Option<String>,
    ) -> Option<Result<Compacted, CompactError>> {
        let plan = self.plan(reason, instructions)?;
        Some(self.carry_out(plan).await)
    }

    /// Plans a compaction; `None` if there is no need, or nothing that it would make shorter.
    fn plan(&self, reason: CompactReason, instructions: Option<String>) -> Option<Plan> {
        let (tally, messages) = self.run.agent.transcript.tally();
        let said = tally.context(&messages, None).tokens;
        if reason == CompactReason::Threshold && said < SMALL {
            return None;
        }
        let known = self.setup.model.facts().window;
        let fixed = self.fixed_tokens();
        let tokens = if tally.is_counted() { said } else { said + fixed };
        let window = match reason {
            CompactReason::Threshold => known?,
            // Whatever was thought of the window: it is smaller than this.
            CompactReason::Overflow => known.map_or(tokens, |known| known.min(tokens)),
            CompactReason::Manual => known.unwrap_or_else(|| tokens.max(UNKNOWN)),
        };
        let budget = self.run.agent.config.compact.budget(window, fixed);
        if reason == CompactReason::Threshold && tokens < budget.full {
            return None;
        }
        let entries = self.run.agent.transcript.session.branch();
        let all: u64 = entries.iter().map(|entry| tokens_of(entry)).sum();
        let usual = match reason {
            // Somebody who asks wants it shorter, however short it is.
            CompactReason::Manual => budget.keep.min(all / 2),
            CompactReason::Threshold | CompactReason::Overflow => budget.keep,
        };
        let at = cut(&entries, Keep { usual, at_most: budget.keep_at_most });
        let summed_up: u64 = entries.iter().take(at).map(|entry| tokens_of(entry)).sum();
        let worth = if reason == CompactReason::Threshold { budget.summary / 2 } else { 1 };
        if summed_up < worth.max(1) {
            return None;
        }
        let before = previous(&entries);
        let files = Files::of(entries.get(..at).unwrap_or_default(), before);
        let previous_summary = before.map(|before| before.summary.clone());
        let compacting = Compacting {
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
        Some(Plan { compacting, budget, fixed })
    }

    fn fixed_tokens(&self) -> u64 {
        let tools = self.run.agent.tools().offered(self.setup);
        let system = of_text(&self.run.agent.config.system.render(&tools, self.sections));
        let tools = tools
            .iter()
            .map(|tool| of_text(&tool.name) + of_text(&tool.description) + of_text(tool.schema.as_str()));
        system + tools.sum::<u64>()
    }

    async fn carry_out(&self, plan: Plan) -> Result<Compacted, CompactError> {
        let (reason, tokens_before) = (plan.compacting.reason, plan.compacting.tokens_before);
        self.run.emitter.emit(AgentEvent::CompactionStart { reason });
        let Plan { compacting, budget, fixed } = plan;
        // Until something is written it can be cancelled.
        let outcome = match self.run.cancel.run_until_cancelled(self.sum_up(compacting, &budget)).await {
            Some(Err(_)) if self.run.cancel.is_cancelled() => Err(CompactError::Aborted),
            Some(Ok((compacting, summary))) => self.put_in_place(compacting, summary, fixed).await,
            Some(Err(error)) => Err(error),
            None => Err(CompactError::Aborted),
        };
        let done = outcome.as_ref().ok();
        let by = match &outcome {
            Ok(Compacted { by, .. }) => by.clone(),
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

    async fn sum_up(
        &self,
        compacting: Compacting,
        budget: &Budget,
    ) -> Result<(Compacting, Summary), CompactError> {
        let (compacting, replaced) = self.ask_hooks(compacting).await?;
        let mut summary = match replaced {
            Some(summary) => summary,
            None => self.ask_for_summary(&compacting, budget).await?,
        };
        summary.text = within(&summary.text, budget);
        if summary.text.is_empty() {
            return Err(CompactError::Empty);
        }
        Ok((compacting, summary))
    }

    /// Writes the summary into the log; from here on the context is the shorter one.
    async fn put_in_place(
        &self,
        compacting: Compacting,
        summary: Summary,
        fixed: u64,
    ) -> Result<Compacted, CompactError> {
        let Summary { text, by, answer } = summary;
        let usage = answer.as_ref().map(|answer| answer.usage);
        let asked = answer.clone();
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
        let before = self.run.agent.transcript.messages().len();
        let saved = self.run.agent.transcript.compact(compaction).map_err(lost)?;
        if let Some(usage) = usage {
            self.run.emitter.emit(AgentEvent::Usage { usage, cumulative: self.run.agent.transcript.usage() });
        }
        saved.on_disk().await.map_err(lost)?;
        let (tally, messages) = self.run.agent.transcript.tally();
        let tokens_after = tally.context(&messages, None).tokens + fixed;
        // The summary itself is one message.
        let kept = messages.len().saturating_sub(1);
        Ok(Compacted {
            summary: text,
            tokens_before: compacting.tokens_before,
            tokens_after,
            messages_summed_up: before.saturating_sub(kept) as u64,
            messages_kept: kept as u64,
            by,
            answer: asked,
        })
    }

    /// Asks every hook: what is summed up, and the summary if one of them wrote it.
    async fn ask_hooks(&self, compacting: Compacting) -> Result<(Compacting, Option<Summary>), CompactError> {
        let mut replaced: Option<(Compacting, Summary)> = None;
        for hook in self.run.agent.hooks().before_compact {
            match self.run.ask(hook.before_compact(&self.run.cancel, &compacting)).await {
                Ok(CompactDecision::Cancel { by, reason }) => {
                    return Err(CompactError::Refused { by, reason });
                }
                Ok(CompactDecision::Replace { by, summary, first_kept }) if replaced.is_none() => {
                    let kept = match first_kept {
                        Some(first) => compacting.clone().keeping_from(first),
                        None => Some(compacting.clone()),
                    };
                    if let Some(kept) = kept {
                        let summary = Summary { text: summary, by: Some(by), answer: None };
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

    async fn ask_for_summary(
        &self,
        compacting: &Compacting,
        budget: &Budget,
    ) -> Result<Summary, CompactError> {
        let mut nth = 1;
        loop {
            match self.summarise(question(compacting, budget, nth)).await {
                Err(error) if error.kind == ModelErrorKind::Overflow && nth < 1 << ATTEMPTS => nth *= 2,
                outcome => return outcome.map_err(CompactError::Model),
            }
        }
    }

    async fn summarise(&self, question: String) -> Result<Summary, ModelError> {
        let setup = self.setup;
        let said = Message::User { content: vec![Content::text(question)], time: self.run.agent.now() };
        let request = ModelRequest {
            system: compact::SYSTEM.to_owned(),
            messages: Arc::new(vec![said]),
            tools: Vec::new(),
            // To sum up is not hard, and the user waits.
            thinking: Thinking::Off,
            options: RequestOptions::default(),
        };
        let asked = setup.model.info();
        let mut answering = asked.clone();
        let mut events = setup.model.stream(self.run.cancel.clone(), request).await?;
        while let Some(event) = events.next().await {
            match event? {
                ModelEvent::Done(response) => return Ok(summary(answering, response)),
                ModelEvent::Answering(info) => answering = info,
                ModelEvent::Fallback { from, to, message } => {
                    let (from, to) = (from.to_string(), to.to_string());
                    self.run.emitter.emit(AgentEvent::ModelFallback { from, to, message });
                }
                ModelEvent::Retry { attempt, delay, message, max_attempts, kind } => {
                    self.run.emitter.emit(again(attempt, delay, message, max_attempts, kind));
                }
                ModelEvent::Text(_)
                | ModelEvent::Thinking(_)
                | ModelEvent::ToolCallStart { .. }
                | ModelEvent::ToolCallArgs { .. }
                | ModelEvent::ToolCallEnd { .. } => {}
            }
        }
        let text = format!("the answer of {asked} ended without its final event; try again");
        Err(ModelError::new(ModelErrorKind::Truncated, text))
    }
}

/// The size that an unknown window is assumed to have, when the user wants less in it.
const UNKNOWN: u64 = 32_000;

fn summary(by: ModelInfo, response: ModelResponse) -> Summary {
    let ModelInfo { provider, model } = by;
    let answer = Answer { provider, model, stop: response.stop, usage: response.usage };
    Summary { text: text_of(&response.content), by: None, answer: Some(answer) }
}

pub(super) fn lost(error: SessionError) -> CompactError {
    CompactError::Session { reason: with_causes(error) }
}
