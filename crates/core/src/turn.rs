//! One prompt from beginning to end: asks what the state machine says to ask, and feeds it the answers.

mod ask;
mod show;
mod state;
mod tools;

use std::sync::Arc;

use futures::FutureExt;
use haft_protocol::content::Content;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{Message, ToolMessage};
use tokio_util::sync::CancellationToken;

use crate::agent::{Inner, Prompt};
use crate::emitter::Emitter;
use crate::error::{TurnError, TurnErrorKind};
use crate::hooks::{AgentStart, TurnDecision};
use crate::prompt::append_section;
use state::{Input, State};

/// What every part of one run shares.
pub(crate) struct Turn {
    agent: Arc<Inner>,
    emitter: Emitter,
    cancel: CancellationToken,
    system: String,
}

/// Works on one prompt. Every path ends with `done`.
pub(crate) async fn work(
    agent: Arc<Inner>,
    prompt: Prompt,
    emitter: Emitter,
    cancel: CancellationToken,
) -> Result<(), TurnError> {
    let Ok(_busy) = agent.busy.clone().try_lock_owned() else {
        return Err(finish(&emitter, TurnError { step: 0, kind: TurnErrorKind::Busy }));
    };
    let message = Message::User { content: prompt.content.clone(), time: (agent.clock)() };
    if let Message::User { content, time } = message.clone() {
        emitter.emit(AgentEvent::UserMessage { content, time });
    }
    agent.push(message);
    let mut turn = Turn { agent, emitter: emitter.clone(), cancel, system: String::new() };
    turn.system = turn.system_prompt(prompt).await;
    let outcome = turn.steps().await;
    turn.close_dangling_calls();
    match outcome {
        Ok(()) => {
            emitter.emit(AgentEvent::Done);
            Ok(())
        }
        Err(error) => Err(finish(&emitter, error)),
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
    async fn system_prompt(&self, prompt: Prompt) -> String {
        let mut system = self.agent.system.render(&self.agent.tools().set.specs());
        let hooks = self.agent.hooks().before_agent_start;
        let mut start = AgentStart { prompt: prompt.content, system_prompt: String::new() };
        for hook in hooks {
            start.system_prompt.clone_from(&system);
            let sections = self.settle(hook.before_agent_start(&self.cancel, &start)).await;
            for section in sections.unwrap_or_default() {
                append_section(&mut system, &section);
            }
        }
        system
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
        self.emitter.emit(AgentEvent::TurnStart { step });
        for hook in self.agent.hooks().before_turn {
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

    /// A transcript in which a call has no result is refused by every provider: calls that never ran get one here.
    fn close_dangling_calls(&self) {
        let messages = self.agent.messages();
        let answered =
            messages.iter().rev().take_while(|message| matches!(message, Message::Tool(_))).count();
        let Some(Message::Assistant(last)) = messages.iter().rev().nth(answered) else { return };
        for call in last.tool_calls().skip(answered) {
            self.agent.push(Message::Tool(ToolMessage {
                call_id: call.id.clone(),
                name: call.name.clone(),
                content: vec![Content::text("not run: the turn ended first")],
                is_error: true,
                time: (self.agent.clock)(),
            }));
        }
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
