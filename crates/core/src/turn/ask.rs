//! Asking the model: its answer as events, and whole.

use futures::StreamExt;
use futures::future::join;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, Stop, Usage};

use super::Turn;
use super::response::held;
use super::retry::again;
use super::state::{Held, Input};
use crate::model::{ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelResponse};
use crate::session::SessionError;
use crate::session::entry::Answer;
use crate::transcript::Saved;

/// What the user has seen of an answer that is not complete.
#[derive(Default)]
pub(super) struct Partial {
    /// The user was told that there is an answer.
    begun: bool,
    text: String,
    /// Who answers, where the stream says so.
    answering: Option<ModelInfo>,
}

/// Why there is no answer.
enum Unanswered {
    /// The model failed.
    Model(ModelError),
    /// What the user said could not be put on the disk.
    Session(SessionError),
    /// A hook did not want the request.
    Unasked(Input),
}

impl From<ModelError> for Unanswered {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl Turn {
    /// Sends the transcript to the model and waits for the whole answer.
    pub(super) async fn ask(&self, step: u32, last: bool) -> Input {
        let mut asked = self.cancel.run_until_cancelled(self.stream(step, last)).await;
        if let Some(Err(Unanswered::Model(error))) = &asked
            && error.kind == ModelErrorKind::Overflow
            && !self.now().partial.begun
            && !self.cancel.is_cancelled()
        {
            // The next request begins with the preferred model again.
            self.now().partial = Partial::default();
            // Once: a request that is still too long is not made shorter by asking again.
            if let Err(input) = self.compact_after(error.clone()).await {
                return input;
            }
            asked = self.cancel.run_until_cancelled(self.stream(step, last)).await;
        }
        match asked {
            Some(Ok((response, held))) => self.receive(step, response, held).await,
            // Whatever a cancelled request fails with, it is the user who ended it.
            Some(Err(_)) if self.cancel.is_cancelled() => self.aborted().await,
            Some(Err(Unanswered::Model(error))) => {
                // What became of it is not why the run ends: when it cannot be written now it is later.
                if let Ok(Some((_, saved))) = self.keep_partial(Stop::Error) {
                    let _ = saved.on_disk().await;
                }
                Input::Failed(error)
            }
            Some(Err(Unanswered::Session(error))) => error.into(),
            Some(Err(Unanswered::Unasked(input))) => input,
            None => self.aborted().await,
        }
    }

    /// The whole answer, and what of it the user was not told while it came.
    async fn stream(&self, step: u32, last: bool) -> Result<(ModelResponse, Held), Unanswered> {
        let hooks = self.agent.hooks();
        let held = held(&hooks);
        let request = self.request(step, last, &hooks.before_model_request).await;
        let (model, request) = request.map_err(Unanswered::Unasked)?;
        let info = model.info();
        self.now().asked = Some(info.clone());
        let mut events = model.stream(self.cancel.clone(), request).await?;
        // The request is on its way while the disk writes what it is about.
        let (mut next, said) = join(events.next(), self.said_is_on_disk()).await;
        said.map_err(Unanswered::Session)?;
        while let Some(event) = next {
            if let Some(response) = self.pass_on(event?, held) {
                return Ok((response, held));
            }
            next = events.next().await;
        }
        let text = format!("the answer of {info} ended without its final event; try again");
        Err(ModelError::new(ModelErrorKind::Truncated, text).into())
    }

    /// Shows one event, unless it is held back; returns the answer when it is complete.
    fn pass_on(&self, event: ModelEvent, held: Held) -> Option<ModelResponse> {
        if event.is_answer() && !std::mem::replace(&mut self.now().partial.begun, true) {
            self.emitter.emit(AgentEvent::AssistantStart);
        }
        let shown = match event {
            ModelEvent::Text(_) | ModelEvent::Thinking(_) if held.words() => None,
            ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallArgs { .. }
            | ModelEvent::ToolCallEnd { .. }
                if held.calls() =>
            {
                None
            }
            ModelEvent::Text(delta) => {
                self.now().partial.text.push_str(&delta);
                Some(AgentEvent::TextDelta { delta })
            }
            ModelEvent::Thinking(delta) => Some(AgentEvent::ThinkingDelta { delta }),
            ModelEvent::ToolCallStart { id, name } => Some(AgentEvent::ToolUseStart { id, name }),
            ModelEvent::ToolCallArgs { id, delta } => Some(AgentEvent::ToolUseArgs { id, delta }),
            ModelEvent::ToolCallEnd { id } => Some(AgentEvent::ToolUseEnd { id }),
            ModelEvent::Retry { attempt, delay, message, max_attempts, kind } => {
                // The next attempt begins anew.
                self.now().partial.text.clear();
                Some(again(attempt, delay, message, max_attempts, kind))
            }
            ModelEvent::Fallback { from, to, message } => {
                self.now().partial.text.clear();
                Some(AgentEvent::ModelFallback { from: from.to_string(), to: to.to_string(), message })
            }
            ModelEvent::Answering(info) => {
                self.now().partial.answering = Some(info);
                None
            }
            ModelEvent::Done(response) => return Some(response),
        };
        if let Some(event) = shown {
            self.emitter.emit(event);
        }
        None
    }

    /// Puts a whole answer into the transcript; the last of a turn is on the disk before it counts as given.
    pub(super) async fn record(&self, response: &ModelResponse) -> Result<(), SessionError> {
        let by = self.answered_by();
        self.now().partial = Partial::default();
        let message = AssistantMessage {
            content: response.content.clone(),
            time: self.agent.now(),
            native: response.native.clone(),
        };
        let answer = answer(by, response.stop, response.usage);
        self.agent.transcript.keep(Message::Assistant(message), Some(answer))?.on_disk().await?;
        let cumulative = self.agent.transcript.usage();
        self.emitter.emit(AgentEvent::Usage { usage: response.usage, cumulative });
        Ok(())
    }

    /// Who answers: who says so, or else who was asked.
    pub(super) fn answered_by(&self) -> ModelInfo {
        let now = self.now();
        let known = now.partial.answering.as_ref().or(now.asked.as_ref()).cloned();
        known.unwrap_or_else(|| now.setup.model.info())
    }

    /// The user stopped the answer.
    pub(super) async fn aborted(&self) -> Input {
        let kept = match self.keep_partial(Stop::Aborted) {
            Ok(None) => return Input::Cancelled,
            Ok(Some((message, saved))) => saved.on_disk().await.map(|()| message),
            Err(error) => Err(error),
        };
        match kept {
            Ok(AssistantMessage { content, time, .. }) => {
                self.emitter.emit(AgentEvent::AssistantMessage { content, time });
                Input::Cancelled
            }
            Err(error) => error.into(),
        }
    }

    /// What the user has seen of an answer that will not be complete stays in the transcript. What was held back does
    /// not, nor what the user was not told in words: thinking without its signature and calls without all of their
    /// arguments are refused by servers.
    pub(super) fn keep_partial(&self, stop: Stop) -> Result<Option<(AssistantMessage, Saved)>, SessionError> {
        let by = self.answered_by();
        let Partial { text, .. } = std::mem::take(&mut self.now().partial);
        if text.trim().is_empty() {
            return Ok(None);
        }
        let content = vec![AssistantBlock::Text { text }];
        let message = AssistantMessage { content, time: self.agent.now(), native: None };
        let answer = answer(by, stop, Usage::default());
        let saved = self.agent.transcript.keep(Message::Assistant(message.clone()), Some(answer))?;
        Ok(Some((message, saved)))
    }
}

fn answer(by: ModelInfo, stop: Stop, usage: Usage) -> Answer {
    Answer { provider: by.provider, model: by.model, stop, usage }
}
