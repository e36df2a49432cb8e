//! What the model answered, as the hooks leave it.

use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, Stop, text_of, tool_calls_of};

use super::Turn;
use super::state::{Held, Input};
use crate::call::PANICKED;
use crate::hooks::{Hooks, ReceivedResponse, ResponseDecision};
use crate::model::{ModelInfo, ModelResponse};
use crate::session::intervention::Action;

/// A hook does not want an answer.
struct Unwanted {
    by: String,
    reason: String,
    /// It does not want anything of the turn.
    hard: bool,
}

impl Turn {
    /// Lets the hooks decide about an answer, and puts what they leave into the transcript.
    pub(super) async fn receive(&self, step: u32, mut response: ModelResponse, held: Held) -> Input {
        let mut edited_by = Vec::new();
        let answered_by = self.answered_by();
        for hook in self.agent.hooks().after_model_response {
            let received = received(step, &answered_by, &response);
            let unwanted = match self.settle(hook.after_model_response(&self.cancel, &received)).await {
                Some(ResponseDecision::Keep) => continue,
                Some(ResponseDecision::Edit { by, content }) => {
                    if content != response.content {
                        response = edited(response, content);
                        edited_by.push(by);
                    }
                    continue;
                }
                Some(ResponseDecision::AbortTurn { by, reason }) => Unwanted { by, reason, hard: false },
                Some(ResponseDecision::HardAbort { by, reason }) => Unwanted { by, reason, hard: true },
                None if self.cancel.is_cancelled() => return self.aborted().await,
                None => Unwanted { by: hook.name().to_owned(), reason: PANICKED.to_owned(), hard: false },
            };
            return self.put_aside(&response, unwanted).await;
        }
        if let Err(error) = self.record(&response).await {
            return error.into();
        }
        if !edited_by.is_empty() {
            self.remark(None, Action::AnswerEdited, edited_by);
        }
        self.emitter.emit(told(&response));
        Input::Answered { response, held }
    }

    /// Keeps an answer in the log that no part of the conversation shall be: it was paid for.
    async fn put_aside(&self, response: &ModelResponse, unwanted: Unwanted) -> Input {
        let Unwanted { by, reason, hard } = unwanted;
        let before = self.agent.transcript.session.leaf();
        if let Err(error) = self.record(response).await {
            return error.into();
        }
        if hard {
            return Input::Discarded { by, reason };
        }
        match self.leave(before, Action::AnswerDropped, &by) {
            Ok(()) => Input::Blocked { by, reason },
            Err(error) => error.into(),
        }
    }
}

/// What is held back of an answer until hooks have decided.
pub(super) fn held(hooks: &Hooks) -> Held {
    let answers = hooks.after_model_response.iter().any(|hook| hook.holds_back());
    match (answers, !hooks.before_assistant_message.is_empty()) {
        (false, false) => Held::Nothing,
        (true, false) => Held::Deltas,
        (false, true) => Held::Thinking,
        (true, true) => Held::Both,
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

/// What observers are told of an answer.
fn told(response: &ModelResponse) -> AgentEvent {
    let thinks = |block: &AssistantBlock| matches!(block, AssistantBlock::Thinking { .. });
    AgentEvent::ModelResponse {
        text_bytes: text_of(&response.content).len() as u64,
        tool_calls: tool_calls_of(&response.content).count() as u64,
        thinking: response.content.iter().any(thinks),
    }
}

/// The answer with another content. What only its provider could read again would say what was changed.
fn edited(response: ModelResponse, content: Vec<AssistantBlock>) -> ModelResponse {
    let stop = match (tool_calls_of(&content).next(), response.stop) {
        (None, Stop::ToolUse) => Stop::End,
        (Some(_), Stop::End) => Stop::ToolUse,
        (_, stop) => stop,
    };
    ModelResponse { content, stop, native: None, ..response }
}
