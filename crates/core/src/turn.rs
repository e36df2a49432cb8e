//! One prompt from beginning to end: asks what the state machine says to ask, and feeds it the answers.

mod ask;
mod compact;
mod leave;
mod request;
mod response;
mod retry;
mod said;
mod show;
mod skip;
mod state;
mod tools;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::content::Content;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{Message, Stop};
use tokio_util::sync::CancellationToken;

use crate::agent::{Inner, Prompt, Setup};
use crate::call::{Calling, Cancelled, PANICKED, settle};
use crate::compact::CompactError;
use crate::emitter::Emitter;
use crate::error::{TurnError, TurnErrorKind};
use crate::hooks::{AgentStart, PromptSection, TurnDecision};
use crate::model::ModelInfo;
use crate::session::intervention::Action;
use crate::session::{EntryId, SessionError};
use crate::transcript::Saved;
use ask::Partial;
pub(crate) use compact::by_hand as compact;
use state::{Input, State, Then};

/// What every part of one run shares.
pub(crate) struct Turn {
    agent: Arc<Inner>,
    emitter: Emitter,
    cancel: CancellationToken,
    /// What hooks added to the system prompt, in order.
    sections: Vec<PromptSection>,
    now: Mutex<Now>,
}

/// What changes from step to step.
struct Now {
    /// What the step works with.
    setup: Setup,
    /// What the user has seen of an answer that is not complete.
    partial: Partial,
    /// What the user said and is on its way to the disk.
    saving: Vec<Saved>,
    /// Where the session stood before what the user said last.
    origin: Option<EntryId>,
    /// Who was asked in this step; the setup's model, unless a hook named another.
    asked: Option<ModelInfo>,
    /// Why the context could not be summed up in this step.
    not_compacted: Option<CompactError>,
    /// The agent is free for the next run; this one must not touch it any more.
    over: bool,
}

/// Works on one prompt, or on what waits. Every path ends with `done`.
pub(crate) async fn work(
    agent: Arc<Inner>,
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

/// Goes on with what the session says by now.
pub(crate) fn reload(agent: &Arc<Inner>) -> Result<(), TurnErrorKind> {
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
        if self.now().over {
            return;
        }
        self.put_in_order();
        self.agent.queues.close();
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
    fn new(agent: Arc<Inner>, emitter: Emitter, cancel: CancellationToken) -> Self {
        let now = Now {
            setup: agent.setup(),
            partial: Partial::default(),
            saving: Vec::new(),
            origin: agent.transcript.session.leaf(),
            asked: None,
            not_compacted: None,
            over: false,
        };
        Self { agent, emitter, cancel, sections: Vec::new(), now: Mutex::new(now) }
    }

    /// What the user saw is kept, and every call has a result.
    fn put_in_order(&self) {
        // A session that cannot be written is the next run's first concern.
        drop(self.keep_partial(Stop::Aborted));
        drop(self.settle_calls());
    }

    /// Before the end of the run is told, all of it is on the disk, and what had to be mended for that is known.
    async fn close(&self, outcome: Result<(), TurnError>) -> Result<(), TurnError> {
        if !self.now().over {
            self.put_in_order();
        }
        let kept = self.agent.transcript.session.flush().await;
        self.tell_repairs();
        outcome.and(kept.map_err(|error| TurnError { step: 0, kind: unsaved(error) }))
    }

    /// Tells what was wrong with the session's file and has been mended, once each.
    fn tell_repairs(&self) {
        let repaired = self.agent.transcript.session.take_repair_events();
        repaired.into_iter().for_each(|event| self.emitter.emit(event));
    }

    /// Puts into the transcript what the run begins with, and asks the hooks for the system prompt.
    async fn begin(&mut self, prompt: Option<Prompt>) -> Result<(), TurnErrorKind> {
        self.tell_repairs();
        self.settle_calls().map_err(unsaved)?;
        if prompt.is_none() && self.agent.queues.waiting().is_empty() {
            // The last message of the user is to be answered, and not half an answer of the provider.
            self.agent.transcript.leave_failed().map_err(unsaved)?;
        }
        // Before anything is taken: what waits when this fails waits on.
        self.note_setup().map_err(unsaved)?;
        self.begin_anew();
        let waited = self.agent.queues.take_first(prompt.is_some());
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

    /// Whether the model has not answered the last message.
    fn is_answer_due(&self) -> bool {
        match self.agent.transcript.messages().last() {
            Some(Message::User { .. } | Message::Tool(_)) => true,
            Some(Message::Assistant(_)) | None => false,
        }
    }

    async fn ask_for_sections(&self, prompt: Vec<Content>) -> Vec<PromptSection> {
        let tools = self.agent.tools().offered(&self.setup());
        let mut start = AgentStart { prompt, system_prompt: String::new() };
        let mut sections = Vec::new();
        for hook in self.agent.hooks().before_agent_start {
            start.system_prompt = self.agent.system.render(&tools, &sections);
            let added = self.settle(hook.before_agent_start(&self.cancel, &start)).await;
            sections.extend(added.unwrap_or_default());
        }
        sections
    }

    async fn steps(&self) -> Result<(), TurnError> {
        let mut state = State::first();
        loop {
            let input = match &state {
                State::Starting { step, .. } => self.start(*step).await,
                State::Asking { step, last } => self.ask(*step, *last).await,
                State::Showing { response, held, .. } => self.show(response, *held).await,
                State::Executing { calls, cut, .. } => self.execute(calls, *cut).await,
                State::Ended { stop, error, then, .. } => self.end(*stop, error.clone(), then).await,
                State::Between { stopping, .. } => self.take_queued(*stopping),
                State::Done(outcome) => return outcome.clone(),
            };
            self.tell_repairs();
            state = state.next(input, self.agent.max_steps);
        }
    }

    /// The seam before each call of the model: what was changed since the last one counts from here on, and the hooks
    /// decide whether this step may begin.
    async fn start(&self, step: u32) -> Input {
        let hooks = self.agent.hooks();
        self.emitter.watched_by(hooks.observers);
        if let Err(error) = self.note_setup() {
            return error.into();
        }
        self.emitter.emit(AgentEvent::TurnStart { step });
        for hook in hooks.before_turn {
            match self.settle(hook.before_turn(&self.cancel, step)).await {
                Some(TurnDecision::Allow) => {}
                Some(TurnDecision::Block { by, reason }) => return self.blocked(by, reason),
                None if self.cancel.is_cancelled() => return Input::Cancelled,
                None => return self.blocked(A_HOOK.to_owned(), PANICKED.to_owned()),
            }
        }
        if self.cancel.is_cancelled() {
            return Input::Cancelled;
        }
        self.compact_if_full().await.err().unwrap_or(Input::Allowed)
    }

    /// A hook does not want the step.
    fn blocked(&self, by: String, reason: String) -> Input {
        self.remark(None, Action::TurnEnded, vec![by.clone()]);
        Input::Blocked { by, reason }
    }

    /// Notes in the session what hooks did, for people who read it.
    fn remark(&self, call: Option<&ToolCallId>, action: Action, by: Vec<String>) {
        self.calling().remark(call, action, by);
    }

    /// Where its tool calls are made.
    fn calling(&self) -> Calling<'_> {
        Calling { agent: &self.agent, emitter: &self.emitter, cancel: &self.cancel, caller: None }
    }

    /// Reports the end of a step, when every call has a result.
    async fn end(&self, stop: Stop, error: Option<String>, then: &Then) -> Input {
        let settled = self.settle_calls();
        self.emitter.emit(AgentEvent::TurnEnd { stop, error });
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
    fn note_setup(&self) -> Result<(), SessionError> {
        let setup = self.agent.setup();
        let (changes, settings) = setup.changes(&self.agent.transcript.settings());
        self.now().setup = setup;
        match changes.is_empty() {
            true => Ok(()),
            false => self.agent.transcript.note(changes, settings),
        }
    }

    fn settle_calls(&self) -> Result<(), SessionError> {
        self.agent.transcript.settle(|| self.agent.now())
    }

    fn setup(&self) -> Setup {
        self.now().setup.clone()
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a hook: `None` when the run is cancelled meanwhile (whatever the hook decides, the action it was
    /// asked about does not happen) or when the hook panics (then it did not allow anything either).
    async fn settle<T>(&self, hook: impl Future<Output = T>) -> Option<T> {
        settle(&self.cancel, hook).await
    }
}

/// Who is named when a hook panicked and so cannot name itself.
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
