//! What the model answered, as the hooks leave it.

use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, Stop, text_of, tool_calls_of};

use super::state::Held;
use crate::hooks::{Hooks, ReceivedResponse, Refusal, ResponseDecision};
use crate::model::{ModelInfo, ModelResponse};
use crate::run_context::{NoDecision, PANICKED, RunContext};

/// An answer on its way through the hooks.
pub(super) struct AnswerReview {
    pub(super) response: ModelResponse,
    /// The hooks that changed the answer, in order.
    pub(super) edited_by: Vec<String>,
}

/// The reason why an answer does not become part of the conversation.
pub(super) enum Rejected {
    Cancelled,
    Refused(Refusal),
}

impl AnswerReview {
    pub(super) fn new(response: ModelResponse) -> Self {
        Self { response, edited_by: Vec::new() }
    }

    /// Lets the hooks edit the answer, one after the other.
    ///
    /// # Errors
    /// The first rejection; the hooks behind it are not asked.
    pub(super) async fn ask_hooks(
        &mut self,
        run: &RunContext,
        step: u32,
        answered_by: &ModelInfo,
    ) -> Result<(), Rejected> {
        for hook in run.agent.hooks().after_model_response {
            let received = received(step, answered_by, &self.response);
            let refusal = match run.ask(hook.after_model_response(&run.cancel, &received)).await {
                Ok(ResponseDecision::Keep) => continue,
                Ok(ResponseDecision::Edit { by, content }) => {
                    if content != self.response.content {
                        self.edit(content);
                        self.edited_by.push(by);
                    }
                    continue;
                }
                Ok(ResponseDecision::Refuse(refusal)) => refusal,
                Err(NoDecision::Cancelled) => return Err(Rejected::Cancelled),
                Err(NoDecision::Panicked) => Refusal::of_turn(hook.name(), PANICKED),
            };
            return Err(Rejected::Refused(refusal));
        }
        Ok(())
    }

    /// Replaces the content. The native form goes with it: it can be read by its provider only, and would say what was
    /// changed.
    fn edit(&mut self, content: Vec<AssistantBlock>) {
        self.response.stop = match (tool_calls_of(&content).next(), self.response.stop) {
            (None, Stop::ToolUse) => Stop::End,
            (Some(_), Stop::End) => Stop::ToolUse,
            (_, stop) => stop,
        };
        self.response.native = None;
        self.response.content = content;
    }
}

/// What is held back of an answer until hooks have decided.
pub(super) fn held(hooks: &Hooks) -> Held {
    Held {
        deltas: hooks.after_model_response.iter().any(|hook| hook.holds_back()),
        thinking: !hooks.before_assistant_message.is_empty(),
    }
}

fn received(step: u32, model: &ModelInfo, response: &ModelResponse) -> ReceivedResponse {
    ReceivedResponse {
        step,
        model: model.clone(),
        content: response.content.clone(),
        stop: response.stop,
        usage: response.usage,
    }
}

/// The event about an answer.
pub(super) fn event(response: &ModelResponse) -> AgentEvent {
    let thinks = |block: &AssistantBlock| matches!(block, AssistantBlock::Thinking { .. });
    AgentEvent::ModelResponse {
        text_bytes: text_of(&response.content).len() as u64,
        tool_calls: tool_calls_of(&response.content).count() as u64,
        thinking: response.content.iter().any(thinks),
    }
}
