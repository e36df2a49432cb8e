//! What the user says while the agent works, and how it comes into the transcript.

use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;

use super::Turn;
use super::state::Input;
use crate::agent::Prompt;
use crate::queue::Taken;
use crate::session::SessionError;

/// What the model is told when the user wants an end and says nothing else.
const FINISH: &str =
    "Stop here and call no more tools. Say in a few sentences what is done and what is left to do.";

impl Turn {
    /// Takes what the user said meanwhile, unless it was the user's wish to stop: then it waits on.
    pub(super) fn take_queued(&self, stopping: bool) -> Input {
        if self.cancel.is_cancelled() {
            let over = stopping && self.agent.queues.close_if_none_wait();
            self.now().over = over;
            return if over { Input::Taken { any: false } } else { Input::Cancelled };
        }
        if let Some(hint) = self.agent.queues.take_interrupt() {
            return self.come_to_an_end(hint, stopping);
        }
        if stopping {
            self.begin_anew();
        }
        let taken = match stopping {
            true => self.agent.queues.take_or_close(),
            false => self.agent.queues.take_steering(),
        };
        let any = !taken.is_empty();
        if !any && let Some(hint) = self.agent.queues.take_interrupt() {
            return self.come_to_an_end(hint, stopping);
        }
        self.now().over = stopping && !any;
        if !stopping && any {
            let bytes = taken.iter().map(|taken| taken.prompt.text_bytes()).sum();
            self.emitter.emit(AgentEvent::SteeringInjected { count: taken.len() as u64, bytes });
        }
        self.deliver(taken).map_or_else(Input::from, |()| Input::Taken { any })
    }

    /// The user wants an end: what the model is told for the last time.
    fn come_to_an_end(&self, hint: Option<Prompt>, stopping: bool) -> Input {
        if hint.is_none() && stopping {
            return Input::Taken { any: false };
        }
        let hint = hint.unwrap_or_else(|| Prompt::from(FINISH));
        self.say(&hint).map_or_else(Input::from, |()| Input::Interrupted)
    }

    /// Puts messages that waited into the transcript. Those that the session does not take wait on where they waited.
    pub(super) fn deliver(&self, waited: Vec<Taken>) -> Result<(), SessionError> {
        if waited.is_empty() {
            return Ok(());
        }
        let mut waited = waited.into_iter();
        while let Some(taken) = waited.next() {
            if let Err(error) = self.say(&taken.prompt) {
                self.agent.queues.put_back(std::iter::once(taken).chain(waited).collect());
                return Err(error);
            }
        }
        self.agent.queues.announce();
        Ok(())
    }

    /// Puts a message of the user into the transcript. It is on the disk before anything of the answer is shown.
    pub(super) fn say(&self, prompt: &Prompt) -> Result<(), SessionError> {
        let (content, time) = (prompt.content.clone(), self.agent.now());
        let saved =
            self.agent.transcript.add(Message::User { content: content.clone(), time: time.clone() })?;
        self.now().saving.push(saved);
        self.emitter.emit(AgentEvent::UserMessage { content, time });
        Ok(())
    }

    /// Waits until all that the user said is on the disk.
    pub(super) async fn said_is_on_disk(&self) -> Result<(), SessionError> {
        let saving = std::mem::take(&mut self.now().saving);
        for saved in saving {
            saved.on_disk().await?;
        }
        Ok(())
    }
}
