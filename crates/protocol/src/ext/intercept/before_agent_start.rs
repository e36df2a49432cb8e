//! `before_agent_start`: an extension adds a section to the system prompt before the agent works on
//! a prompt.
//!
//! ```json
//! {"type":"event_intercept","id":"4","event":"before_agent_start","prompt":"weather?","system_prompt":"You are …"}
//! {"type":"event_intercept_response","id":"4","append_system_prompt":"Ask `weather` before you guess."}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;

/// Before the agent works on a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptBeforeAgentStart {
    /// The user's prompt.
    pub prompt: String,
    /// The current system prompt, including sections of earlier extensions.
    pub system_prompt: String,
}

/// The decision about the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BeforeAgentStartDecision {
    /// Adds nothing.
    Unchanged,
    /// Appends this section, under the extension's name.
    Append {
        /// The section's text.
        text: String,
    },
    /// The whole prompt, as newer zot extensions send it. haft appends the part after the original
    /// prompt.
    Whole {
        /// The original prompt, followed by the addition.
        system_prompt: String,
    },
}

impl InterceptHook for InterceptBeforeAgentStart {
    type Decision = BeforeAgentStartDecision;

    const KIND: InterceptKind = InterceptKind::BeforeAgentStart;

    fn read(response: EventInterceptResponse) -> Result<BeforeAgentStartDecision, AnswerError> {
        if response.is_blocking() {
            return Err(AnswerError::new("before_agent_start cannot block; intercept turn_start for that"));
        }
        Ok(match (response.append_system_prompt, response.system_prompt) {
            (text, _) if !text.is_empty() => BeforeAgentStartDecision::Append { text },
            (_, Some(system_prompt)) => BeforeAgentStartDecision::Whole { system_prompt },
            (_, None) => BeforeAgentStartDecision::Unchanged,
        })
    }

    fn respond(decision: BeforeAgentStartDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            BeforeAgentStartDecision::Unchanged => {}
            BeforeAgentStartDecision::Append { text } => response.append_system_prompt = text,
            BeforeAgentStartDecision::Whole { system_prompt } => response.system_prompt = Some(system_prompt),
        }
        response
    }
}
