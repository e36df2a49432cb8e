//! `tool_call`: an extension allows, changes or blocks a tool call.
//!
//! ```json
//! {"type":"event_intercept","id":"1","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
//! {"type":"event_intercept_response","id":"1","modified_args":{"command":"ls -1"}}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::content::ResolvedPath;
use crate::ext::answer_error::AnswerError;
use crate::ids::{ExtensionName, RequestId, ToolCallId};
use crate::json::RawJson;

/// Before a tool runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterceptToolCall {
    /// The model's id of the call; for a `host_call`, an id of the host.
    pub tool_id: ToolCallId,
    /// The name of the tool.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub tool_name: String,
    /// The current arguments: the model's, or those of an earlier interceptor. Arguments of built-in
    /// tools are in their canonical form.
    #[serde(deserialize_with = "crate::json::object")]
    #[schemars(schema_with = "crate::json::object_schema")]
    pub tool_args: RawJson,
    /// The extension that runs the tool with `host_call`. Absent for calls of the model, and for
    /// interceptors without `host_services`. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<ExtensionName>,
    /// The places that the path arguments of a built-in tool mean. Empty for tools without paths and
    /// for tools of extensions. Since haft.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved_paths: Vec<ResolvedPath>,
}

/// The meaning of a response to `tool_call`, before the host validates it for the role of the
/// extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCallDecision {
    /// Runs the call with the original arguments.
    Allow,
    /// Runs the call with these arguments.
    Rewrite {
        /// An object that fits the tool's schema.
        args: RawJson,
    },
    /// Blocks the call.
    Block {
        /// The text for the model.
        reason: String,
    },
}

impl InterceptHook for InterceptToolCall {
    type Decision = ToolCallDecision;

    const KIND: InterceptKind = InterceptKind::ToolCall;

    fn read(response: EventInterceptResponse) -> Result<ToolCallDecision, AnswerError> {
        if response.is_blocking() {
            return Ok(ToolCallDecision::Block { reason: response.reason });
        }
        match response.modified_args {
            None => Ok(ToolCallDecision::Allow),
            Some(args) if args.is_object() => Ok(ToolCallDecision::Rewrite { args }),
            Some(args) => {
                let start: String = args.as_str().chars().take(40).collect();
                Err(AnswerError::new(format!("modified_args must be a JSON object, not {start}")))
            }
        }
    }

    fn respond(decision: ToolCallDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            ToolCallDecision::Allow => {}
            ToolCallDecision::Rewrite { args } => response.modified_args = Some(args),
            ToolCallDecision::Block { reason } => {
                response.block = Some(true);
                response.reason = reason;
            }
        }
        response
    }
}
