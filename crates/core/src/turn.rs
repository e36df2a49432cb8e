//! One prompt from beginning to end: asks what the state machine says to ask, and feeds it the answers.

mod ask;
mod compact;
mod request;
mod show;
mod state;
mod tools;

use std::sync::Arc;

use haft_protocol::content::Content;
use haft_protocol::event::{AgentEvent, CompactReason};
use haft_protocol::message::{Message, Stop};
use tokio_util::sync::CancellationToken;

use crate::agent_state::{AgentState, Setup};
use crate::call::Cancelled;
use crate::compact::{CompactError, Compacted};
use crate::emitter::Emitter;
use crate::error::{TurnError, TurnErrorKind};
use crate::hooks::{AgentStart, PromptSection, Refusal, RefusalScope, TurnDecision};
use crate::model::{ModelError, ModelErrorKind};
use crate::queue::{Prompt, Taken};
use crate::run_context::{NoDecision, PANICKED, RunContext};
use crate::session::intervention::{Action, Intervention};
use crate::session::{EntryId, SessionError};
use crate::transcript::Saved;
use ask::PartialAnswer;
use compact::Compactor;
pub(crate) use compact::by_hand as compact;
use show::ShownAnswer;
use state::{Input, State, Then};
use tools::ToolCalls;

/// One run: the driver of the state machine.
pub(crate) struct Turn {
    run: RunContext,
    /// The sections that hooks added to the system prompt, in order.
    sections: Vec<PromptSection>,
    setup: Setup,
    /// The part of an incomplete answer that the user has seen.
    answer: PartialAnswer,
    /// The user's messages on their way to the disk.
    saving: Vec<Saved>,
    /// Where the session stood before what the user said last.
    origin: Option<EntryId>,
    /// The reason why the context could not be summed up in this step.
    not_compacted: Option<CompactError>,
    /// The agent is free for the next run; this one must not touch it any more.
    over: bool,
}

/// Works on one prompt, or on what waits. Every path ends with `done`.
pub(crate) async fn work(
    agent: Arc<AgentState>,
    prompt: Option<Prompt>,
    emitter: Emitter,
    cancel: CancellationToken,
) -> Result<(), TurnError> {
    if !agent.queues.open(emitter.clone(), true) {
        // The observers watch the run that goes on; this one never began.
        let emitter = emitter.without_observers();
        return Err(finish(&emitter, TurnError { step: 0, kind: TurnErrorKind::Busy }));
    }
    let mut turn = Turn::new(agent, emitter.clone(), cancel);
    let outcome = match turn.begin(prompt).await {
        Ok(()) => turn.steps().await,
        Err(kind) => Err(TurnError { step: 0, kind }),
    };
    let outcome = turn.close(outcome).await;
    drop(turn);
    match outcome {
        Ok(()) => {
            emitter.emit(AgentEvent::Done);
            Ok(())
        }
        Err(error) => Err(finish(&emitter, error)),
    }
}

pub(crate) fn reload(agent: &Arc<AgentState>) -> Result<(), TurnErrorKind> {
    // Nobody is told anything meanwhile.
    let (sender, _) = crate::emitter::channel();
    if !agent.queues.open(Emitter::new(Vec::new(), sender), false) {
        return Err(TurnErrorKind::Busy);
    }
    let reloaded = agent.transcript.reload().map_err(unsaved);
    agent.queues.close();
    reloaded
}

/// However a run ends, also when it is dropped: what the user saw is kept, every call has a result, and then the next
/// prompt may come.
impl Drop for Turn {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.put_in_order();
        self.run.agent.queues.close();
    }
}

/// Tells the front end how it ended, unless the user did it.
fn finish(emitter: &Emitter, error: TurnError) -> TurnError {
    if error.kind != TurnErrorKind::Aborted {
        emitter.emit(AgentEvent::Error { message: error.to_string(), stage: error.stage() });
    }
    emitter.emit(AgentEvent::Done);
    error
}

impl Turn {
    fn new(agent: Arc<AgentState>, emitter: Emitter, cancel: CancellationToken) -> Self {
        Self {
            sections: Vec::new(),
            setup: agent.setup(),
            answer: PartialAnswer::default(),
            saving: Vec::new(),
            origin: agent.transcript.session.leaf(),
            not_compacted: None,
            over: false,
            run: RunContext { agent, emitter, cancel, caller: None },
        }
    }

    /// Keeps what the user saw, and gives every call a result.
    fn put_in_order(&mut self) {
        // A session that cannot be written is the next run's first concern.
        drop(self.keep_partial(Stop::Aborted));
        drop(self.settle_calls());
    }

    /// Before the end of the run is told, all of it is on the disk, and what had to be mended for that is known.
    async fn close(&mut self, outcome: Result<(), TurnError>) -> Result<(), TurnError> {
        if !self.over {
            self.put_in_order();
        }
        let kept = self.run.agent.transcript.session.flush().await;
        self.tell_repairs();
        outcome.and(kept.map_err(|error| TurnError { step: 0, kind: unsaved(error) }))
    }

    /// Tells what was wrong with the session's file and has been mended, once each.
    fn tell_repairs(&self) {
        let repaired = self.run.agent.transcript.session.take_repair_events();
        repaired.into_iter().for_each(|event| self.run.emitter.emit(event));
    }

    /// Puts into the transcript what the run begins with, and asks the hooks for the system prompt.
    async fn begin(&mut self, prompt: Option<Prompt>) -> Result<(), TurnErrorKind> {
        self.tell_repairs();
        self.settle_calls().map_err(unsaved)?;
        if prompt.is_none() && self.run.agent.queues.waiting().is_empty() {
            // The last message of the user is to be answered, and not half an answer of the provider.
            self.run.agent.transcript.leave_failed().map_err(unsaved)?;
        }
        // Before anything is taken: what waits when this fails waits on.
        self.note_setup().map_err(unsaved)?;
        self.begin_anew();
        let waited = self.run.agent.queues.take_first(prompt.is_some());
        let mut said: Vec<Content> = waited.iter().flat_map(|taken| taken.prompt.content.clone()).collect();
        if waited.is_empty() && prompt.is_none() && !self.is_answer_due() {
            return Err(TurnErrorKind::NothingToDo);
        }
        self.deliver(waited).map_err(unsaved)?;
        if let Some(prompt) = prompt {
            self.say(&prompt).map_err(unsaved)?;
            said.extend(prompt.content);
        }
        self.sections = self.ask_for_sections(said).await;
        Ok(())
    }

    /// True if the model has not answered the last message.
    fn is_answer_due(&self) -> bool {
        match self.run.agent.transcript.messages().last() {
            Some(Message::User { .. } | Message::Tool(_)) => true,
            Some(Message::Assistant(_)) | None => false,
        }
    }

    async fn ask_for_sections(&mut self, prompt: Vec<Content>) -> Vec<PromptSection> {
        let tools = self.run.agent.tools().offered(&self.setup);
        let mut start = AgentStart { prompt, system_prompt: String::new() };
        let mut sections = Vec::new();
        for hook in self.run.agent.hooks().before_agent_start {
            start.system_prompt = self.run.agent.config.system.render(&tools, &sections);
            let added = self.run.ask(hook.before_agent_start(&self.run.cancel, &start)).await;
            sections.extend(added.unwrap_or_default());
        }
        sections
    }

    async fn steps(&mut self) -> Result<(), TurnError> {
        let mut state = State::first();
        loop {
            let input = match &state {
                State::Starting { step, .. } => self.start(*step).await,
                State::Asking { step, last } => self.ask(*step, *last).await,
                State::Showing { response, held, .. } => {
                    ShownAnswer { run: &self.run, response, held: *held }.show().await
                }
                State::Executing { calls, cut, .. } => {
                    ToolCalls { run: &self.run, setup: &self.setup }.execute(calls, *cut).await
                }
                State::Ended { stop, error, then, .. } => self.end(*stop, error.clone(), then).await,
                State::Between { stopping, .. } => self.take_queued(*stopping),
                State::Done(outcome) => return outcome.clone(),
            };
            self.tell_repairs();
            state = state.next(input, self.run.agent.config.max_steps);
        }
    }

    /// The seam before each call of the model: what was changed since the last one counts from here on, and the hooks
    /// decide whether this step may begin.
    async fn start(&mut self, step: u32) -> Input {
        let hooks = self.run.agent.hooks();
        self.run.emitter.watched_by(hooks.observers);
        if let Err(error) = self.note_setup() {
            return error.into();
        }
        self.run.emitter.emit(AgentEvent::TurnStart { step });
        for hook in hooks.before_turn {
            let refusal = match self.run.ask(hook.before_turn(&self.run.cancel, step)).await {
                Ok(TurnDecision::Allow) => continue,
                Ok(TurnDecision::Block { by, reason }) => Refusal::of_turn(by, reason),
                Err(NoDecision::Cancelled) => return Input::Cancelled,
                Err(NoDecision::Panicked) => Refusal::of_turn(A_HOOK, PANICKED),
            };
            return refused(&self.run, refusal);
        }
        if self.run.cancel.is_cancelled() {
            return Input::Cancelled;
        }
        self.compact_if_full().await.err().unwrap_or(Input::Allowed)
    }

    /// Reports the end of a step, when every call has a result.
    async fn end(&mut self, stop: Stop, error: Option<String>, then: &Then) -> Input {
        let settled = self.settle_calls();
        self.run.emitter.emit(AgentEvent::TurnEnd { stop, error });
        if let Err(error) = settled {
            return error.into();
        }
        match then {
            // So that the next prompt need not wait for it. The work is done, so that an abort changes nothing.
            Then::Finish(Ok(())) | Then::Stop => match self.compact_if_full().await {
                Err(Input::Unsaved(error)) => Input::Unsaved(error),
                Ok(()) | Err(_) => Input::Noted,
            },
            Then::Finish(Err(_)) | Then::Step => Input::Noted,
            Then::Discard { by, reason } => self.discard(by.clone(), reason.clone()),
        }
    }

    /// From here on the step works with what the agent was last given; the log is told what is new.
    fn note_setup(&mut self) -> Result<(), SessionError> {
        let setup = self.run.agent.setup();
        let (changes, settings) = setup.changes(&self.run.agent.transcript.settings());
        self.setup = setup;
        match changes.is_empty() {
            true => Ok(()),
            false => self.run.agent.transcript.note(changes, settings),
        }
    }

    fn settle_calls(&self) -> Result<(), SessionError> {
        self.run.agent.transcript.settle(|| self.run.agent.now())
    }

    /// Takes what the user said meanwhile, unless it was the user's wish to stop: then it waits on.
    fn take_queued(&mut self, stopping: bool) -> Input {
        if self.run.cancel.is_cancelled() {
            let over = stopping && self.run.agent.queues.close_if_none_wait();
            self.over = over;
            return if over { Input::Taken { any: false } } else { Input::Cancelled };
        }
        if let Some(hint) = self.run.agent.queues.take_interrupt() {
            return self.come_to_an_end(hint, stopping);
        }
        if stopping {
            self.begin_anew();
        }
        let taken = match stopping {
            true => self.run.agent.queues.take_or_close(),
            false => self.run.agent.queues.take_steering(),
        };
        let any = !taken.is_empty();
        if !any && let Some(hint) = self.run.agent.queues.take_interrupt() {
            return self.come_to_an_end(hint, stopping);
        }
        self.over = stopping && !any;
        if !stopping && any {
            let bytes = taken.iter().map(|taken| taken.prompt.text_bytes()).sum();
            self.run.emitter.emit(AgentEvent::SteeringInjected { count: taken.len() as u64, bytes });
        }
        self.deliver(taken).map_or_else(Input::from, |()| Input::Taken { any })
    }

    /// The user wants an end: what the model is told for the last time.
    fn come_to_an_end(&mut self, hint: Option<Prompt>, stopping: bool) -> Input {
        if hint.is_none() && stopping {
            return Input::Taken { any: false };
        }
        let hint = hint.unwrap_or_else(|| Prompt::from(FINISH));
        self.say(&hint).map_or_else(Input::from, |()| Input::Interrupted)
    }

    /// Puts messages that waited into the transcript. Those that the session does not take wait on where they waited.
    fn deliver(&mut self, waited: Vec<Taken>) -> Result<(), SessionError> {
        if waited.is_empty() {
            return Ok(());
        }
        let mut waited = waited.into_iter();
        while let Some(taken) = waited.next() {
            if let Err(error) = self.say(&taken.prompt) {
                self.run.agent.queues.put_back(std::iter::once(taken).chain(waited).collect());
                return Err(error);
            }
        }
        self.run.agent.queues.announce();
        Ok(())
    }

    /// Puts a message of the user into the transcript. It is on the disk before anything of the answer is shown.
    fn say(&mut self, prompt: &Prompt) -> Result<(), SessionError> {
        let (content, time) = (prompt.content.clone(), self.run.agent.now());
        let saved =
            self.run.agent.transcript.add(Message::User { content: content.clone(), time: time.clone() })?;
        self.saving.push(saved);
        self.run.emitter.emit(AgentEvent::UserMessage { content, time });
        Ok(())
    }

    /// Waits until all that the user said is on the disk.
    async fn said_is_on_disk(&mut self) -> Result<(), SessionError> {
        let saving = std::mem::take(&mut self.saving);
        for saved in saving {
            saved.on_disk().await?;
        }
        Ok(())
    }

    /// Marks the place that the session goes back to when the turn is discarded.
    fn begin_anew(&mut self) {
        self.origin = self.run.agent.transcript.session.leaf();
    }

    fn discard(&self, by: String, reason: String) -> Input {
        if let Err(error) = self.leave(self.origin, Action::Discarded, &by) {
            return error.into();
        }
        self.run.emitter.emit(AgentEvent::TurnDiscarded { by, reason });
        Input::Noted
    }

    /// Continues from where the session stood before, and notes the hook that wanted that. What was left stays in the
    /// session's log, on a branch of its own.
    fn leave(&self, to: Option<EntryId>, action: Action, by: &str) -> Result<(), SessionError> {
        let note = Intervention { call_id: None, action, by: vec![by.to_owned()] };
        self.run.agent.transcript.leave(to, note.to_custom())
    }

    fn compactor(&self) -> Compactor<'_> {
        Compactor { run: &self.run, setup: &self.setup, sections: &self.sections }
    }

    async fn compact_by_hand(&mut self, instructions: Option<String>) -> Result<Compacted, CompactError> {
        self.settle_calls().map_err(compact::lost)?;
        // The model that sums up is noted with the summary: it becomes the session's only when it is asked something.
        let outcome = self.compactor().compact(CompactReason::Manual, instructions).await;
        outcome.unwrap_or(Err(CompactError::Nothing))
    }

    /// Sums up if the context has come near the window. A failure is reported, and the turn continues: the provider
    /// decides whether the request is too long.
    ///
    /// # Errors
    /// The input that ends the turn.
    async fn compact_if_full(&mut self) -> Result<(), Input> {
        self.not_compacted = None;
        if !self.run.agent.config.compact.auto {
            return Ok(());
        }
        match self.compactor().compact(CompactReason::Threshold, None).await {
            Some(outcome) => self.note_compaction(outcome),
            None => Ok(()),
        }
    }

    /// Sums up because the provider refused the request.
    ///
    /// # Errors
    /// The input that ends the turn: the refusal itself, if nothing could be done about it.
    async fn compact_after(&mut self, overflow: ModelError) -> Result<(), Input> {
        let fails = |why: &CompactError| {
            let message = format!("{overflow}; {why}");
            Input::Failed(ModelError::new(ModelErrorKind::Overflow, message))
        };
        if let Some(why) = &self.not_compacted {
            return Err(fails(why));
        }
        let outcome = match self.run.agent.config.compact.auto {
            true => self.compactor().compact(CompactReason::Overflow, None).await,
            false => None,
        };
        let Some(outcome) = outcome else { return Err(Input::Failed(overflow)) };
        self.note_compaction(outcome)?;
        self.not_compacted.as_ref().map_or(Ok(()), |why| Err(fails(why)))
    }

    /// Takes the outcome of summing up.
    ///
    /// # Errors
    /// The input that ends the turn.
    fn note_compaction(&mut self, outcome: Result<Compacted, CompactError>) -> Result<(), Input> {
        let Err(error) = outcome else { return Ok(()) };
        if self.run.cancel.is_cancelled() {
            return Err(Input::Cancelled);
        }
        if let CompactError::Session { reason } = error {
            return Err(Input::Unsaved(TurnErrorKind::Session { reason }));
        }
        self.not_compacted = Some(error);
        Ok(())
    }
}

/// Notes a refusal of the turn in the session. A discarded turn is noted when the session goes back.
fn refused(run: &RunContext, refusal: Refusal) -> Input {
    if refusal.scope == RefusalScope::Turn {
        run.note(None, Action::TurnEnded, vec![refusal.by.clone()]);
    }
    Input::Refused(refusal)
}

/// The message for the model when the user wants an end and says nothing else.
const FINISH: &str =
    "Stop here and call no more tools. Say in a few sentences what is done and what is left to do.";

/// The name of a hook that panicked and so cannot name itself.
const A_HOOK: &str = "a hook";

impl From<Cancelled> for Input {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<SessionError> for Input {
    fn from(error: SessionError) -> Self {
        Self::Unsaved(unsaved(error))
    }
}

fn unsaved(error: SessionError) -> TurnErrorKind {
    TurnErrorKind::Session { reason: with_causes(error) }
}

/// The error with its causes, since what the system said is one of them.
fn with_causes(error: SessionError) -> String {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    reason
}
