//! Requests and their responses, paired by type, so that a caller knows the type of the response.

use super::answer_error::AnswerError;
use super::command::{CommandAction, CommandInvoked, CommandResponse};
use super::completion::{CommandCompletions, CommandCompletionsResponse, CompletionItem};
use super::ext_call::{ExtensionCall, ExtensionCallKind, ExtensionCallResult, ShortcutCall};
use super::intercept::{EventIntercept, EventInterceptResponse, InterceptHook};
use super::tool::{ToolCallFrame, ToolResultFrame};
use super::{ExtensionFrame, HostFrame};
use crate::ids::{RequestId, ToolCallId};
use crate::json::RawJson;

/// A request of the host to an extension. [`InvokeCommand`], [`QueryCompletions`], [`CallTool`],
/// [`PressShortcut`] and every [`InterceptHook`](super::InterceptHook) implement it.
pub trait HostQuery: Sized {
    /// The decoded response.
    type Answer: Send + 'static;

    /// Converts the request to its frame.
    fn into_frame(self, id: RequestId) -> HostFrame;

    /// Reads the response to this request.
    ///
    /// # Errors
    /// [`AnswerError`] if the response is of another kind or does not fit the request.
    fn read_answer(response: QueryResponse) -> Result<Self::Answer, AnswerError>;
}

/// A call of a command: [`CommandInvoked`] without its id. The response is a [`CommandAction`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvokeCommand {
    /// The name of the command, without the slash.
    pub name: String,
    /// The text after the name, trimmed.
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

/// A request for the completions of a command: [`CommandCompletions`] without its id. The response
/// contains the items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryCompletions {
    /// The name of the command, without the slash.
    pub name: String,
    /// The text after the name, up to the cursor.
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

/// A call of a tool: [`ToolCallFrame`] without its id. The response is a [`ToolResultFrame`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTool {
    /// The name of the tool.
    pub name: String,
    /// The arguments: an object.
    pub args: RawJson,
    /// The model's id of the call, for extensions with the capability `tools_2`.
    pub tool_id: Option<ToolCallId>,
}

impl HostQuery for CallTool {
    type Answer = ToolResultFrame;

    fn into_frame(self, id: RequestId) -> HostFrame {
        HostFrame::ToolCall(ToolCallFrame { id, name: self.name, args: self.args, tool_id: self.tool_id })
    }

    fn read_answer(response: QueryResponse) -> Result<ToolResultFrame, AnswerError> {
        let QueryResponse::Tool(result) = response else {
            return Err(AnswerError::wrong_kind("tool_result"));
        };
        Ok(result)
    }
}

/// A press of a shortcut: [`ExtensionCall`] without its id. The inner error is the extension's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressShortcut {
    /// The name of the shortcut, as registered.
    pub name: String,
    /// The id of the session in which the user pressed the key, if one is open.
    pub session: Option<String>,
}

impl HostQuery for PressShortcut {
    type Answer = Result<(), String>;

    fn into_frame(self, id: RequestId) -> HostFrame {
        let Self { name, session } = self;
        // A name always has a JSON form.
        let args = RawJson::from_value(&ShortcutCall { name }).unwrap_or_default();
        let call = ExtensionCallKind::Shortcut.name().to_owned();
        HostFrame::ExtCall(ExtensionCall { id, call, args, session })
    }

    fn read_answer(response: QueryResponse) -> Result<Self::Answer, AnswerError> {
        let QueryResponse::Call(ExtensionCallResult { error, .. }) = response else {
            return Err(AnswerError::wrong_kind("ext_result"));
        };
        Ok(if error.is_empty() { Ok(()) } else { Err(error) })
    }
}

/// A frame that answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryResponse {
    /// The response to `command_invoked`.
    Command(CommandResponse),
    /// The response to `command_completions`.
    Completions(CommandCompletionsResponse),
    /// The response to `tool_call`.
    Tool(ToolResultFrame),
    /// The response to `event_intercept`.
    Intercept(Box<EventInterceptResponse>),
    /// The response to `ext_call`.
    Call(ExtensionCallResult),
}

impl QueryResponse {
    /// Returns the id of the request.
    pub fn id(&self) -> &RequestId {
        match self {
            Self::Command(response) => &response.id,
            Self::Completions(response) => &response.id,
            Self::Tool(result) => &result.id,
            Self::Intercept(response) => &response.id,
            Self::Call(result) => &result.id,
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
            QueryResponse::Call(result) => Self::ExtResult(result),
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
            "" => H::read(*response),
            error => Err(AnswerError::new(format!("failed to decide: {error}"))),
        }
    }
}
