//! One prompt from beginning to end: asks what the state machine says to ask, and feeds it the answers.

mod ask;
mod gate;
mod show;
mod state;
mod tools;

use std::sync::Arc;

use futures::FutureExt;
use haft_protocol::content::Content;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{Message, ToolMessage};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::agent::{Inner, Prompt};
use crate::emitter::Emitter;
use crate::error::{TurnError, TurnErrorKind};
use crate::hooks::{AgentStart, PromptSection, TurnDecision};
use state::{Input, State};

/// What every part of one run shares.
pub(crate) struct Turn {
    agent: Arc<Inner>,
    emitter: Emitter,
    cancel: CancellationToken,
    /// What hooks added to the system prompt, in order.
    sections: Vec<PromptSection>,
}

/// Works on one prompt. Every path ends with `done`.
pub(crate) async fn work(
    agent: Arc<Inner>,
    prompt: Prompt,
    emitter: Emitter,
    cancel: CancellationToken,
) -> Result<(), TurnError> {
    let Ok(busy) = agent.busy.clone().try_lock_owned() else {
        // The observers watch the run that goes on; this one never began.
        let emitter = emitter.without_observers();
        return Err(finish(&emitter, TurnError { step: 0, kind: TurnErrorKind::Busy }));
    };
    let transcript = OpenTranscript { agent: agent.clone(), _busy: busy };
    // A transcript that the builder was given may come from a program that died.
    close_dangling_calls(&agent);
    let message = Message::User { content: prompt.content.clone(), time: (agent.clock)() };
    if let Message::User { content, time } = message.clone() {
        emitter.emit(AgentEvent::UserMessage { content, time });
    }
    agent.push(message);
    let mut turn = Turn { agent, emitter: emitter.clone(), cancel, sections: Vec::new() };
    turn.sections = turn.ask_for_sections(prompt).await;
    let outcome = turn.steps().await;
    drop(transcript);
    match outcome {
        Ok(()) => {
            emitter.emit(AgentEvent::Done);
            Ok(())
        }
        Err(error) => Err(finish(&emitter, error)),
    }
}

/// The transcript while a prompt is worked on. However that ends, a dropped run included, every call has a result
/// in the end, and then the next prompt may come.
struct OpenTranscript {
    agent: Arc<Inner>,
    _busy: OwnedMutexGuard<()>,
}

impl Drop for OpenTranscript {
    fn drop(&mut self) {
        close_dangling_calls(&self.agent);
    }
}

/// A transcript in which a call has no result is refused by every provider: calls that never ran get one here.
fn close_dangling_calls(agent: &Inner) {
    let messages = agent.messages();
    let answered = messages.iter().rev().take_while(|message| matches!(message, Message::Tool(_))).count();
    let Some(Message::Assistant(last)) = messages.iter().rev().nth(answered) else { return };
    for call in last.tool_calls().skip(answered) {
        agent.push(Message::Tool(ToolMessage {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: vec![Content::text(NOT_RUN)],
            is_error: true,
            extension: None,
            details: None,
            time: (agent.clock)(),
        }));
    }
}

/// Tells the front end how it ended, unless the user did it.
fn finish(emitter: &Emitter, error: TurnError) -> TurnError {
    if error.kind != TurnErrorKind::Aborted {
        emitter.emit(AgentEvent::Error { message: error.to_string() });
    }
    emitter.emit(AgentEvent::Done);
    error
}

impl Turn {
    async fn ask_for_sections(&self, prompt: Prompt) -> Vec<PromptSection> {
        let tools = self.agent.tools().set.specs();
        let mut start = AgentStart { prompt: prompt.content, system_prompt: String::new() };
        let mut sections = Vec::new();
        for hook in self.agent.hooks().before_agent_start {
            start.system_prompt = self.agent.system.render(&tools, &sections);
            let added = self.settle(hook.before_agent_start(&self.cancel, &start)).await;
            sections.extend(added.unwrap_or_default());
        }
        sections
    }

    async fn steps(&self) -> Result<(), TurnError> {
        let mut state = State::Starting { step: 1 };
        loop {
            let input = match &state {
                State::Starting { step } => self.start(*step).await,
                State::Asking { .. } => self.ask().await,
                State::Showing { response, held, .. } => self.show(response, *held).await,
                State::Executing { calls, cut, .. } => self.execute(calls, *cut).await,
                State::Ended { stop, error, .. } => {
                    self.emitter.emit(AgentEvent::TurnEnd { stop: *stop, error: error.clone() });
                    Input::Noted
                }
                State::Done(outcome) => return outcome.clone(),
            };
            state = state.next(input, self.agent.max_steps);
        }
    }

    /// Asks the hooks whether this step may begin.
    async fn start(&self, step: u32) -> Input {
        let hooks = self.agent.hooks();
        self.emitter.watched_by(hooks.observers);
        self.emitter.emit(AgentEvent::TurnStart { step });
        for hook in hooks.before_turn {
            match self.settle(hook.before_turn(&self.cancel, step)).await {
                Some(TurnDecision::Allow) => {}
                Some(TurnDecision::Block { by, reason }) => return Input::Blocked { by, reason },
                None if self.cancel.is_cancelled() => return Input::Cancelled,
                None => {
                    return Input::Blocked {
                        by: PANICKED.to_owned(),
                        reason: "the hook panicked".to_owned(),
                    };
                }
            }
        }
        if self.cancel.is_cancelled() { Input::Cancelled } else { Input::Allowed }
    }

    /// Waits for a hook: `None` when the run is cancelled meanwhile (whatever the hook decides, the action it was
    /// asked about does not happen) or when the hook panics (then it did not allow anything either).
    async fn settle<T>(&self, hook: impl Future<Output = T>) -> Option<T> {
        let hook = std::panic::AssertUnwindSafe(hook).catch_unwind();
        let decision = self.cancel.run_until_cancelled(hook).await?;
        decision.ok().filter(|_| !self.cancel.is_cancelled())
    }
}

/// Who is named when a hook panicked and so cannot name itself.
const PANICKED: &str = "a hook";

/// The result of a call that was not begun when the turn ended.
const NOT_RUN: &str = "not run: the turn ended first";
