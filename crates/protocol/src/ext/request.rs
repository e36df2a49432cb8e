//! Questions and their answers, paired by type: whoever asks knows what the answer looks like.

use super::answer::AnswerError;
use super::command::{CommandAction, CommandInvoked, CommandResponse};
use super::completion::{CommandCompletions, CommandCompletionsResponse, CompletionItem};
use super::intercept::{EventIntercept, EventInterceptResponse, InterceptHook};
use super::tool::{ToolCallFrame, ToolResultFrame};
use super::{ExtensionFrame, HostFrame};
use crate::ids::RequestId;
use crate::json::RawJson;

/// A question the host asks an extension. Implemented by [`InvokeCommand`], [`CompleteCommand`], [`CallTool`] and every
/// [`InterceptHook`](super::InterceptHook).
pub trait HostQuery: Sized {
    /// The meaning of the answer.
    type Answer: Send + 'static;

    /// The frame that asks.
    fn into_frame(self, id: RequestId) -> HostFrame;

    /// Reads the response to this question.
    ///
    /// # Errors
    /// [`AnswerError`] when the response is of another kind or does not fit the question.
    fn read_answer(response: QueryResponse) -> Result<Self::Answer, AnswerError>;
}

/// Run a command: [`CommandInvoked`] without its id. Answered by a [`CommandAction`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvokeCommand {
    /// The command, without the slash.
    pub name: String,
    /// Everything after the name, trimmed.
    pub args: String,
}

impl HostQuery for InvokeCommand {
    type Answer = CommandAction;

    fn into_frame(self, id: RequestId) -> HostFrame {
        HostFrame::CommandInvoked(CommandInvoked { id, name: self.name, args: self.args })
    }

    fn read_answer(response: QueryResponse) -> Result<CommandAction, AnswerError> {
        let QueryResponse::Command(response) = response else {
            return Err(AnswerError::wrong_kind("command_response"));
        };
        response.try_into()
    }
}

/// A request for the completions of a command: [`CommandCompletions`] without its id. Answered by the items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryCompletions {
    /// The command, without the slash.
    pub name: String,
    /// The text behind it, up to the cursor.
    pub prefix: String,
}

impl HostQuery for QueryCompletions {
    type Answer = Vec<CompletionItem>;

    fn into_frame(self, id: RequestId) -> HostFrame {
        HostFrame::CommandCompletions(CommandCompletions { id, name: self.name, prefix: self.prefix })
    }

    fn read_answer(response: QueryResponse) -> Result<Vec<CompletionItem>, AnswerError> {
        let QueryResponse::Completions(response) = response else {
            return Err(AnswerError::wrong_kind("command_completions_response"));
        };
        Ok(response.items)
    }
}

/// Call a tool: [`ToolCall`] without its id. Answered by a [`ToolResult`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTool {
    /// The tool.
    pub name: String,
    /// The arguments: an object.
    pub args: RawJson,
}

impl HostQuery for CallTool {
    type Answer = ToolResultFrame;

    fn into_frame(self, id: RequestId) -> HostFrame {
        HostFrame::ToolCall(ToolCallFrame { id, name: self.name, args: self.args })
    }

    fn read_answer(response: QueryResponse) -> Result<ToolResultFrame, AnswerError> {
        let QueryResponse::Tool(result) = response else {
            return Err(AnswerError::wrong_kind("tool_result"));
        };
        Ok(result)
    }
}

/// A frame that answers a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryResponse {
    /// Answers `command_invoked`.
    Command(CommandResponse),
    /// Answers `command_completions`.
    Completions(CommandCompletionsResponse),
    /// Answers `tool_call`.
    Tool(ToolResultFrame),
    /// Answers `event_intercept`.
    Intercept(EventInterceptResponse),
}

impl QueryResponse {
    /// The question this answers.
    pub fn id(&self) -> &RequestId {
        match self {
            Self::Command(response) => &response.id,
            Self::Completions(response) => &response.id,
            Self::Tool(result) => &result.id,
            Self::Intercept(response) => &response.id,
        }
    }
}

impl From<QueryResponse> for ExtensionFrame {
    fn from(response: QueryResponse) -> Self {
        match response {
            QueryResponse::Command(response) => Self::CommandResponse(response),
            QueryResponse::Completions(response) => Self::CommandCompletionsResponse(response),
            QueryResponse::Tool(result) => Self::ToolResult(result),
            QueryResponse::Intercept(response) => Self::EventInterceptResponse(response),
        }
    }
}

impl<H: InterceptHook> HostQuery for H {
    type Answer = H::Decision;

    fn into_frame(self, id: RequestId) -> HostFrame {
        HostFrame::EventIntercept(EventIntercept { id, intercept: self.into() })
    }

    fn read_answer(response: QueryResponse) -> Result<Self::Answer, AnswerError> {
        let QueryResponse::Intercept(response) = response else {
            return Err(AnswerError::wrong_kind("event_intercept_response"));
        };
        match response.error.as_str() {
            "" => H::read(response),
            error => Err(AnswerError::new(format!("failed to decide: {error}"))),
        }
    }
}
