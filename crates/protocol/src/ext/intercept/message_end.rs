//! `message_end`: an extension changes an answer of the model before it is stored.
//!
//! ```json
//! {"type":"event_intercept","id":"10","event":"message_end","step":1,"provider":"anthropic","model":"claude","content":[{"type":"text","text":"KEY=abc"}],"stop":"end","usage":{"input":9,"output":3,"cache_read":0,"cache_write":0,"cost_usd":0.0}}
//! {"type":"event_intercept_response","id":"10","content":[{"type":"text","text":"KEY=[hidden]"}]}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, TurnStop, read_field};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::message::{AssistantBlock, StopCause, TokenUsage};

/// After an answer of the model is complete, before it is stored and its tools are called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptMessageEnd {
    /// The number of the request since the prompt, from 1.
    pub step: u32,
    /// The provider of the model that answered.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The current blocks of the answer: text, thinking and tool calls, in order.
    pub content: Vec<AssistantBlock>,
    /// The reason why the model stopped.
    pub stop: StopCause,
    /// The usage of the request.
    pub usage: TokenUsage,
}

/// The decision about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageEndDecision {
    /// The answer stays as it is.
    Unchanged,
    /// The answer has these blocks.
    Replace {
        /// All blocks, in order; not empty.
        content: Vec<AssistantBlock>,
    },
    /// Ends the turn.
    Stop(TurnStop),
}

impl InterceptHook for InterceptMessageEnd {
    type Decision = MessageEndDecision;

    const KIND: InterceptKind = InterceptKind::MessageEnd;

    fn read(mut response: EventInterceptResponse) -> Result<MessageEndDecision, AnswerError> {
        if let Some(stop) = TurnStop::read(&mut response)? {
            return Ok(MessageEndDecision::Stop(stop));
        }
        if response.is_blocking() {
            return Err(AnswerError::new("message_end cannot block; intercept assistant_message for that"));
        }
        match read_field::<Vec<AssistantBlock>>("content", response.content)? {
            None => Ok(MessageEndDecision::Unchanged),
            Some(content) if content.is_empty() => Err(AnswerError::new("content: an answer needs a block")),
            Some(content) => Ok(MessageEndDecision::Replace { content }),
        }
    }

    fn respond(decision: MessageEndDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            MessageEndDecision::Unchanged => {}
            MessageEndDecision::Replace { content } => response.content = RawJson::from_value(&content).ok(),
            MessageEndDecision::Stop(stop) => stop.write(&mut response),
        }
        response
    }
}
