//! Runs one prompt from beginning to end: performs the actions of the state machine and feeds it the results.

mod answer;
mod ask;
mod branch;
mod compact;
mod request;
mod settle;
mod show;
mod state;
mod tools;

use std::sync::Arc;

use haft_protocol::content::ContentBlock;
use haft_protocol::event::{AgentEvent, CompactReason};
use haft_protocol::message::{Message, StopCause};
use tokio_util::sync::CancellationToken;

use crate::agent_state::{AgentSetup, AgentState};
use crate::call::CallCancelled;
use crate::compact::{CompactError, CompactionOutcome};
use crate::emitter::{EventEmitter, notify_observers};
use crate::error::{TurnError, TurnErrorKind};
use crate::hooks::{
    AgentStart, AgentStartAdditions, AttributedRefusal, BeforeAgentStart, BeforeTurn, PromptSection, Refusal,
    RefusalScope, TurnDecision, WaitPoint,
};
use crate::model::ModelError;
use crate::queue::{AddMessageError, AddOutcome, DequeuedPrompt, MessageDelivery, Prompt};
use crate::run_context::{NoDecision, PANICKED, RunContext, wait_for_hooks};
use crate::session::entry::CustomMessage;
use crate::session::intervention::{HookIntervention, InterventionAction};
use crate::session::{EntryId, SessionError};
use crate::transcript::PendingSave;
use answer::AnswerDemand;
pub(crate) use answer::OutputSlot;
use ask::IncompleteResponse;
pub(crate) use branch::summarize_branch;
use compact::ContextCompactor;
pub(crate) use compact::run_manual_compaction as compact;
pub(crate) use request::check_options;
use settle::RunSettlement;
use show::ResponseDisplay;
use state::{StepContinuation, TurnInput, TurnPhase};
use tools::ToolCalls;

/// The driver of the state machine for one run.
pub(crate) struct TurnDriver {
    run: RunContext,
    /// The sections that hooks added to the system prompt, in order.
    sections: Vec<PromptSection>,
    setup: AgentSetup,
    /// The part of an incomplete answer that the user has seen.
    answer: IncompleteResponse,
    /// The entry of the last answer.
    recorded: Option<EntryId>,
    /// The user's messages on their way to disk.
    saving: Vec<PendingSave>,
    /// The number of the user's messages that no hook has handled yet.
    unhandled: usize,
    /// The position of the session before the last user message.
    origin: Option<EntryId>,
    /// The reason why the context could not be compacted in this step, or in this run if a summary was refused.
    not_compacted: Option<CompactError>,
    /// True if the agent is free for the next run, so that this run must not change it.
    over: bool,
    /// The number of times that hooks made this run go on.
    continued: u32,
    demand: AnswerDemand,
}

/// Works on a prompt, or on queued messages. Every path ends with `done`.
pub(crate) async fn run_prompt(
    agent: Arc<AgentState>,
    prompt: Option<Prompt>,
    emitter: EventEmitter,
    cancel: CancellationToken,
    output: OutputSlot,
) -> Result<(), TurnError> {
    if !agent.queues.open(emitter.clone(), true) {
        // The observers watch the active run; this run never started.
        let emitter = emitter.without_observers();
        let error = report_failure(&emitter, TurnError { step: 0, kind: TurnErrorKind::Busy });
        emitter.emit(AgentEvent::Done);
        return Err(error);
    }
    emitter.emit(AgentEvent::AgentStart);
    let mut turn = TurnDriver::new(Arc::clone(&agent), emitter.clone(), cancel);
    turn.demand = AnswerDemand::new(&output);
    let begun = turn.begin(prompt).await;
    let is_begun = begun.is_ok();
    let outcome = match begun {
        Ok(()) => {
            turn.run.wait_at(WaitPoint::AgentStart).await;
            turn.run_steps().await
        }
        Err(kind) => Err(TurnError { step: 0, kind }),
    };
    let outcome = turn.close(outcome).await;
    drop(turn);
    if is_begun {
        // An aborted run has a cancelled token, and its end is still handled.
        let error = outcome.as_ref().err().map(TurnError::to_string);
        wait_for_hooks(&agent, &CancellationToken::new(), &WaitPoint::AgentEnd { error }).await;
    }
    let ended = outcome.map_err(|error| report_failure(&emitter, error));
    if agent.queues.is_settled() {
        emitter.emit(AgentEvent::Settled);
    }
    emitter.emit(AgentEvent::Done);
    ended
}

pub(crate) fn reload(agent: &Arc<AgentState>) -> Result<(), TurnErrorKind> {
    // No one receives events of this run.
    let (sender, _) = crate::emitter::event_channel();
    if !agent.queues.open(EventEmitter::new(Vec::new(), sender), false) {
        return Err(TurnErrorKind::Busy);
    }
    let reloaded = agent.transcript.reload().map_err(session_error);
    agent.queues.close();
    reloaded
}

/// Adds a custom message to an idle session, or queues it for the active run.
pub(crate) fn add_message(
    agent: &Arc<AgentState>,
    message: CustomMessage,
) -> Result<MessageDelivery, AddMessageError> {
    let time = agent.current_time();
    let added = agent.queues.add_or_push(message.clone().into(), || {
        agent.transcript.complete_calls(|| agent.current_time())?;
        // The entry survives the end of the program; that is enough for it.
        agent.transcript.add_custom_message(message.clone(), time.clone()).map(|saved| saved.entry())
    });
    match added? {
        AddOutcome::Queued(queued) => Ok(MessageDelivery::Queued(queued)),
        AddOutcome::Added(entry) => {
            let (entry, event) = (entry.map_err(AddMessageError::Session)?, message.into_event(time));
            notify_observers(&agent.current_hooks(), &event);
            Ok(MessageDelivery::Added { entry, event: Box::new(event) })
        }
    }
}

/// True if the model has not answered the last message.
pub(crate) fn is_answer_due(agent: &AgentState) -> bool {
    match agent.transcript.messages().last() {
        Some(Message::User { .. } | Message::Tool(_)) => true,
        Some(Message::Assistant(_)) | None => false,
    }
}

/// At the end of a run, even if it is dropped: content that the user saw is kept, every call has a result, and then the
/// next prompt can start.
impl Drop for TurnDriver {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.save_interrupted();
        self.run.agent.queues.close();
    }
}

/// Reports the error to the front end, unless the user aborted the run.
fn report_failure(emitter: &EventEmitter, error: TurnError) -> TurnError {
    if error.kind != TurnErrorKind::Aborted {
        let (stage, advice) = (error.error_stage(), error.advice());
        emitter.emit(AgentEvent::Error { message: error.to_string(), stage, advice });
    }
    error
}

impl TurnDriver {
    fn new(agent: Arc<AgentState>, emitter: EventEmitter, cancel: CancellationToken) -> Self {
        Self {
            sections: Vec::new(),
            setup: agent.setup(),
            answer: IncompleteResponse::default(),
            recorded: None,
            saving: Vec::new(),
            unhandled: 0,
            origin: agent.transcript.session.leaf(),
            not_compacted: None,
            over: false,
            continued: 0,
            demand: AnswerDemand::default(),
            run: RunContext { agent, emitter, cancel, caller: None },
        }
    }

    /// Keeps the content that the user saw, and adds missing results of calls.
    fn save_interrupted(&mut self) {
        // The next run handles a session that cannot be written.
        drop(self.keep_partial(StopCause::Aborted));
        drop(self.settle_calls());
    }

    /// Syncs the session and reports its repairs before the end of the run is reported.
    async fn close(&mut self, outcome: Result<(), TurnError>) -> Result<(), TurnError> {
        if !self.over {
            self.save_interrupted();
        }
        let kept = self.run.agent.transcript.session.flush().await;
        self.emit_repairs();
        outcome.and(kept.map_err(|error| TurnError { step: 0, kind: session_error(error) }))
    }

    /// Reports the repairs of the session's file, each once.
    fn emit_repairs(&self) {
        let repaired = self.run.agent.transcript.session.take_repair_events();
        repaired.into_iter().for_each(|event| self.run.emitter.emit(event));
    }

    /// Adds the initial messages to the transcript and asks the hooks for the system prompt.
    async fn begin(&mut self, prompt: Option<Prompt>) -> Result<(), TurnErrorKind> {
        if prompt.as_ref().is_some_and(Prompt::is_empty) {
            return Err(TurnErrorKind::EmptyPrompt);
        }
        self.emit_repairs();
        self.settle_calls().map_err(session_error)?;
        if prompt.is_none() && self.run.agent.queues.queued_messages().is_empty() {
            // The request must end with the user's message, not with an incomplete answer.
            self.run.agent.transcript.rewind_failed_response().map_err(session_error)?;
        }
        // Done before messages are taken, so that they stay in the queue if this fails.
        self.note_setup().map_err(session_error)?;
        self.mark_origin();
        let waited = self.run.agent.queues.take_first(prompt.is_some());
        let resumes = waited.is_empty() && prompt.is_none();
        let mut said: Vec<ContentBlock> =
            waited.iter().flat_map(|taken| taken.prompt.content.clone()).collect();
        if resumes && !is_answer_due(&self.run.agent) {
            return Err(TurnErrorKind::NothingToDo);
        }
        self.deliver_queued(waited).map_err(session_error)?;
        if let Some(prompt) = prompt {
            self.add_user_message(&prompt).map_err(session_error)?;
            said.extend(prompt.content);
        }
        let AgentStartAdditions { sections, messages } = self.collect_additions(said).await;
        self.sections = sections;
        // The messages of a resumed prompt are in the conversation since its first run.
        let mut added = messages.into_iter().map(Prompt::from).filter(|added| !resumes && !added.is_empty());
        added.try_for_each(|message| self.add_user_message(&message)).map_err(session_error)
    }

    /// Asks the hooks for additions, each with the sections of those before it.
    async fn collect_additions(&mut self, prompt: Vec<ContentBlock>) -> AgentStartAdditions {
        let tools = self.run.agent.tools().offered_specs(&self.setup);
        let mut start = AgentStart { prompt, system_prompt: String::new() };
        let mut all = AgentStartAdditions::default();
        for hook in self.run.agent.current_hooks::<dyn BeforeAgentStart>() {
            start.system_prompt = self.run.agent.system_prompt().render(&tools, &all.sections);
            let added = self.run.await_decision(hook.before_agent_start(&self.run.cancel, &start)).await;
            let AgentStartAdditions { sections, messages } = added.unwrap_or_default();
            all.sections.extend(sections);
            all.messages.extend(messages);
        }
        all
    }

    async fn run_steps(&mut self) -> Result<(), TurnError> {
        let mut state = TurnPhase::initial();
        loop {
            for _ in 0..std::mem::take(&mut self.unhandled) {
                self.run.wait_at(WaitPoint::UserMessage).await;
            }
            let input = match &state {
                TurnPhase::Starting { step, .. } => self.start(*step).await,
                TurnPhase::Asking { step, last } => self.request_response(*step, *last).await,
                TurnPhase::Showing { response, held, .. } => {
                    let entry = self.recorded;
                    ResponseDisplay { run: &self.run, response, entry, held: *held }.show().await
                }
                TurnPhase::Executing { calls, cut, .. } => {
                    ToolCalls { run: &self.run, setup: &self.setup }.execute(calls, *cut).await
                }
                TurnPhase::Ended { stop, error, then, .. } => self.end(*stop, error.clone(), then).await,
                TurnPhase::Between { stopping: true, step } => self.settle_run(*step).await,
                TurnPhase::Between { stopping: false, .. } => self.take_queued(false),
                TurnPhase::Done(outcome) => return outcome.clone(),
            };
            self.emit_repairs();
            state = state.next(input, self.run.agent.config.max_steps);
        }
    }

    /// Starts a step: applies changes since the last step, and asks the hooks whether the step can start.
    async fn start(&mut self, step: u32) -> TurnInput {
        self.run.emitter.set_observers(self.run.agent.current_hooks());
        if let Err(error) = self.note_setup() {
            return error.into();
        }
        self.run.emitter.emit(AgentEvent::TurnStart { step });
        for hook in self.run.agent.current_hooks::<dyn BeforeTurn>() {
            let refusal = match self.run.await_decision(hook.before_turn(&self.run.cancel, step)).await {
                Ok(TurnDecision::Allow) => continue,
                Ok(TurnDecision::Block { reason }) => Refusal::for_turn(reason),
                Err(NoDecision::Cancelled) => return TurnInput::Cancelled,
                Err(NoDecision::Panicked) => Refusal::for_turn(PANICKED),
            };
            return record_refusal(&self.run, refusal.attribute_to(hook.name()));
        }
        if self.run.cancel.is_cancelled() {
            return TurnInput::Cancelled;
        }
        self.compact_if_full().await.err().unwrap_or(TurnInput::Allowed)
    }

    /// Reports the end of a step after every call has a result.
    async fn end(&mut self, stop: StopCause, error: Option<String>, then: &StepContinuation) -> TurnInput {
        let settled = self.settle_calls();
        self.run.emitter.emit(AgentEvent::TurnEnd { stop, error: error.clone() });
        self.run.wait_at(WaitPoint::TurnEnd { stop, error }).await;
        if let Err(error) = settled {
            return error.into();
        }
        match then {
            // Compacts now so that the next prompt does not wait. The work is done, so an abort changes nothing.
            StepContinuation::Finish(Ok(())) | StepContinuation::Stop => match self.compact_if_full().await {
                Err(TurnInput::Unsaved(error)) => TurnInput::Unsaved(error),
                Ok(()) | Err(_) => TurnInput::EndReported,
            },
            StepContinuation::Finish(Err(_)) | StepContinuation::Step => TurnInput::EndReported,
            StepContinuation::Discard { by, reason } => self.discard_turn(by.clone(), reason.clone()),
        }
    }

    /// Applies the agent's current settings to this step and records changes in the log.
    fn note_setup(&mut self) -> Result<(), SessionError> {
        let setup = self.run.agent.setup();
        let (changes, settings) = setup.changes_since(&self.run.agent.transcript.settings());
        self.setup = setup;
        match changes.is_empty() {
            true => Ok(()),
            false => self.run.agent.transcript.record_settings(changes, settings),
        }
    }

    fn settle_calls(&self) -> Result<(), SessionError> {
        self.run.agent.transcript.complete_calls(|| self.run.agent.current_time())
    }

    /// Takes the message of haft, of a hook or of the user that continues a run which would stop. Without one, the run ends.
    async fn settle_run(&mut self, step: u32) -> TurnInput {
        let settlement = RunSettlement { run: &self.run, continued: self.continued };
        // Without a step for the correction, the program gets the answer as it is.
        let may_correct = self.run.agent.config.max_steps.is_none_or(|limit| step < limit);
        let correction = may_correct.then(|| settlement.find_correction(&mut self.demand)).flatten();
        let (text, next) = match correction {
            Some(correction) => (correction, TurnInput::Corrected),
            None => {
                let Some(text) = settlement.find_continuation().await else { return self.take_queued(true) };
                self.continued += 1;
                (text, TurnInput::Taken { any: true })
            }
        };
        self.mark_origin();
        let added = self.add_user_message(&Prompt::from(text));
        added.map_or_else(TurnInput::from, |()| next)
    }

    /// Takes queued user messages. If the user asked to stop, they stay in the queue.
    fn take_queued(&mut self, stopping: bool) -> TurnInput {
        if self.run.cancel.is_cancelled() {
            let over = stopping && self.run.agent.queues.close_if_empty();
            self.over = over;
            return if over { TurnInput::Taken { any: false } } else { TurnInput::Cancelled };
        }
        if let Some(hint) = self.run.agent.queues.take_interrupt() {
            return self.finish_interrupted(hint, stopping);
        }
        if stopping {
            self.mark_origin();
        }
        let taken = match stopping {
            true => self.run.agent.queues.take_or_close(),
            false => self.run.agent.queues.take_steering(),
        };
        let any = !taken.is_empty();
        if !any && let Some(hint) = self.run.agent.queues.take_interrupt() {
            return self.finish_interrupted(hint, stopping);
        }
        self.over = stopping && !any;
        if !stopping && any {
            let bytes = taken.iter().map(|taken| taken.prompt.text_bytes()).sum();
            self.run.emitter.emit(AgentEvent::SteeringInjected { count: taken.len() as u64, bytes });
        }
        self.deliver_queued(taken).map_or_else(TurnInput::from, |()| TurnInput::Taken { any })
    }

    /// Handles an interruption: adds the last message for the model.
    fn finish_interrupted(&mut self, hint: Option<Prompt>, stopping: bool) -> TurnInput {
        if hint.is_none() && stopping {
            return TurnInput::Taken { any: false };
        }
        let hint = hint.unwrap_or_else(|| Prompt::from(FINISH));
        self.add_user_message(&hint).map_or_else(TurnInput::from, |()| TurnInput::Interrupted)
    }

    /// Adds queued messages to the transcript. Messages that cannot be written return to their queue.
    fn deliver_queued(&mut self, waited: Vec<DequeuedPrompt>) -> Result<(), SessionError> {
        if waited.is_empty() {
            return Ok(());
        }
        let mut waited = waited.into_iter();
        while let Some(taken) = waited.next() {
            if let Err(error) = self.add_user_message(&taken.prompt) {
                self.run.agent.queues.requeue(std::iter::once(taken).chain(waited).collect());
                return Err(error);
            }
        }
        self.run.agent.queues.emit_queue_update();
        Ok(())
    }

    /// Adds a message to the transcript. It is on disk before any part of the answer is shown.
    fn add_user_message(&mut self, prompt: &Prompt) -> Result<(), SessionError> {
        let (content, time) = (prompt.content.clone(), self.run.agent.current_time());
        let transcript = &self.run.agent.transcript;
        let (saved, event) = match prompt.to_custom() {
            Some(message) => {
                let saved = transcript.add_custom_message(message.clone(), time.clone())?;
                (saved, message.into_event(time))
            }
            None => {
                let message = Message::User { content: content.clone(), time: time.clone() };
                let saved = transcript.add(message)?;
                let entry = Some(saved.entry().to_string());
                (saved, AgentEvent::UserMessage { content, time, entry })
            }
        };
        self.saving.push(saved);
        self.unhandled += 1;
        self.run.emitter.emit(event);
        Ok(())
    }

    /// Waits until all user messages are on disk.
    async fn wait_prompts_saved(&mut self) -> Result<(), SessionError> {
        let saving = std::mem::take(&mut self.saving);
        for saved in saving {
            saved.wait_synced().await?;
        }
        Ok(())
    }

    /// Marks the position to which a discarded turn returns.
    fn mark_origin(&mut self) {
        self.origin = self.run.agent.transcript.session.leaf();
    }

    fn discard_turn(&self, by: String, reason: String) -> TurnInput {
        if let Err(error) = self.rewind_to(self.origin, InterventionAction::Discarded, &by) {
            return error.into();
        }
        self.run.emitter.emit(AgentEvent::TurnDiscarded { by, reason });
        TurnInput::EndReported
    }

    /// Moves the session back to its position before the turn, and records the hook that requested it. The abandoned
    /// entries stay in the log, on their own branch.
    fn rewind_to(
        &self,
        to: Option<EntryId>,
        action: InterventionAction,
        by: &str,
    ) -> Result<(), SessionError> {
        let note = HookIntervention { call_id: None, action, by: vec![by.to_owned()] };
        self.run.agent.transcript.rewind_to(to, note.to_custom())
    }

    fn context_compactor(&self) -> ContextCompactor<'_> {
        ContextCompactor { run: &self.run, setup: &self.setup, sections: &self.sections }
    }

    async fn compact_manually(
        &mut self,
        instructions: Option<String>,
    ) -> Result<CompactionOutcome, CompactError> {
        self.settle_calls().map_err(compact::compact_session_error)?;
        // The log records the summarizing model with the summary. It becomes the session's model only when it receives
        // a request.
        let outcome = self.context_compactor().compact(CompactReason::Manual, instructions).await;
        outcome.unwrap_or(Err(CompactError::Nothing))
    }

    /// Compacts the context if it is close to the window's limit. A failure is reported and the turn continues: the
    /// provider decides whether the request is too long.
    ///
    /// # Errors
    /// The input that ends the turn.
    async fn compact_if_full(&mut self) -> Result<(), TurnInput> {
        if self.not_compacted.as_ref().is_some_and(CompactError::is_bad_summary) {
            return Ok(());
        }
        self.not_compacted = None;
        if !self.run.agent.config.compact.auto {
            return Ok(());
        }
        match self.context_compactor().compact(CompactReason::Threshold, None).await {
            Some(outcome) => self.note_compaction(outcome),
            None => Ok(()),
        }
    }

    /// Compacts the context after the provider rejected the request as too long.
    ///
    /// # Errors
    /// The input that ends the turn: the rejection, if compaction did not help.
    async fn compact_after_overflow(&mut self, overflow: ModelError) -> Result<(), TurnInput> {
        let fails = |why: &CompactError| {
            TurnInput::Failed(ModelError { message: format!("{overflow}; {why}"), ..overflow.clone() })
        };
        if let Some(why) = &self.not_compacted {
            return Err(fails(why));
        }
        let outcome = match self.run.agent.config.compact.auto {
            true => self.context_compactor().compact(CompactReason::Overflow, None).await,
            false => None,
        };
        let Some(outcome) = outcome else { return Err(TurnInput::Failed(overflow)) };
        self.note_compaction(outcome)?;
        self.not_compacted.as_ref().map_or(Ok(()), |why| Err(fails(why)))
    }

    /// Handles the outcome of a compaction.
    ///
    /// # Errors
    /// The input that ends the turn.
    fn note_compaction(&mut self, outcome: Result<CompactionOutcome, CompactError>) -> Result<(), TurnInput> {
        let Err(error) = outcome else { return Ok(()) };
        if self.run.cancel.is_cancelled() {
            return Err(TurnInput::Cancelled);
        }
        if let CompactError::Session { reason } = error {
            return Err(TurnInput::Unsaved(TurnErrorKind::Session { reason }));
        }
        self.not_compacted = Some(error);
        Ok(())
    }
}

/// Records a refusal of the turn in the session. A discarded turn is recorded when the session moves back.
fn record_refusal(run: &RunContext, refusal: AttributedRefusal) -> TurnInput {
    if refusal.scope == RefusalScope::Turn {
        run.record_intervention(None, InterventionAction::TurnEnded, vec![refusal.by.clone()]);
    }
    TurnInput::Refused(refusal)
}

/// The message for the model after an interruption without a hint.
const FINISH: &str =
    "Stop here and call no more tools. Say in a few sentences what is done and what is left to do.";

impl From<CallCancelled> for TurnInput {
    fn from(_: CallCancelled) -> Self {
        Self::Cancelled
    }
}

impl From<SessionError> for TurnInput {
    fn from(error: SessionError) -> Self {
        Self::Unsaved(session_error(error))
    }
}

fn session_error(error: SessionError) -> TurnErrorKind {
    TurnErrorKind::Session { reason: with_causes(error) }
}

/// Returns the error with its causes, which include the system's error.
fn with_causes(error: SessionError) -> String {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    reason
}
