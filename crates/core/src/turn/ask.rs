//! Asking the model: its answer as events, and whole.

use futures::StreamExt;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message};

use super::Turn;
use super::state::Input;
use crate::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelResponse};

/// What has come of an answer that is not complete.
#[derive(Default)]
struct Partial {
    started: bool,
    text: String,
}

impl Turn {
    /// Sends the transcript to the model and waits for the whole answer.
    pub(super) async fn ask(&self) -> Input {
        // With an interceptor about, nothing of the text is shown before it decided.
        let held = !self.agent.hooks().before_assistant_message.is_empty();
        let mut partial = Partial::default();
        match self.cancel.run_until_cancelled(self.stream(held, &mut partial)).await {
            Some(Ok(response)) => {
                self.record(&response);
                Input::Answered { response, held }
            }
            // Whatever a cancelled request fails with, it is the user who ended it.
            Some(Err(_)) if self.cancel.is_cancelled() => self.keep(partial, held),
            Some(Err(error)) => Input::Failed(error),
            None => self.keep(partial, held),
        }
    }

    async fn stream(&self, held: bool, partial: &mut Partial) -> Result<ModelResponse, ModelError> {
        let tools = self.agent.tools().set.specs();
        let request = ModelRequest {
            system: self.agent.system.render(&tools, &self.sections),
            messages: self.agent.messages(),
            tools,
            thinking: self.agent.thinking,
        };
        let mut events = self.agent.model.stream(self.cancel.clone(), request).await?;
        while let Some(event) = events.next().await {
            match self.pass_on(event?, held, partial) {
                Some(response) => return Ok(response),
                None => continue,
            }
        }
        let info = self.agent.model.info();
        Err(ModelError::new(
            ModelErrorKind::Truncated,
            format!(
                "the answer of {}/{} ended without its final event; try again",
                info.provider, info.model
            ),
        ))
    }

    /// Shows one event, unless it is held back; returns the answer when it is complete.
    fn pass_on(&self, event: ModelEvent, held: bool, partial: &mut Partial) -> Option<ModelResponse> {
        if !partial.started && event.is_answer() {
            partial.started = true;
            self.emitter.emit(AgentEvent::AssistantStart);
        }
        let shown = match event {
            ModelEvent::Text(delta) => {
                partial.text.push_str(&delta);
                (!held).then_some(AgentEvent::TextDelta { delta })
            }
            ModelEvent::Thinking(delta) => (!held).then_some(AgentEvent::ThinkingDelta { delta }),
            ModelEvent::ToolCallStart { id, name } => Some(AgentEvent::ToolUseStart { id, name }),
            ModelEvent::ToolCallArgs { id, delta } => Some(AgentEvent::ToolUseArgs { id, delta }),
            ModelEvent::ToolCallEnd { id } => Some(AgentEvent::ToolUseEnd { id }),
            ModelEvent::Retry { attempt, delay, message } => {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                Some(AgentEvent::Retry { attempt, delay_ms, message })
            }
            ModelEvent::Fallback { from, to, message } => {
                Some(AgentEvent::ModelFallback { from: from.to_string(), to: to.to_string(), message })
            }
            ModelEvent::Done(response) => return Some(response),
        };
        if let Some(event) = shown {
            self.emitter.emit(event);
        }
        None
    }

    fn record(&self, response: &ModelResponse) {
        let cumulative = self.agent.add_usage(response.usage);
        self.emitter.emit(AgentEvent::Usage { usage: response.usage, cumulative });
        self.agent.push(Message::Assistant(AssistantMessage {
            content: response.content.clone(),
            time: (self.agent.clock)(),
            native: response.native.clone(),
        }));
    }

    /// What the user has seen of an aborted answer stays in the transcript; what was held back does not.
    fn keep(&self, partial: Partial, held: bool) -> Input {
        if !held && !partial.text.trim().is_empty() {
            let content = vec![AssistantBlock::Text { text: partial.text }];
            let time = (self.agent.clock)();
            self.emitter.emit(AgentEvent::AssistantMessage { content: content.clone(), time: time.clone() });
            self.agent.push(Message::Assistant(AssistantMessage { content, time, native: None }));
        }
        Input::Cancelled
    }
}
