//! `hook.before_tool`: before a tool runs. The hook can change the call, deny it, or answer it
//! itself.
//!
//! ```json
//! {"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{"meta":{…},"tool":"bash","arguments":{"command":"ls"},…}}
//! {"jsonrpc":"2.0","id":4,"result":{"action":"modify","call":{"arguments":{"command":"ls -1"}}}}
//! {"jsonrpc":"2.0","id":4,"result":{"action":"respond","result":{"for_llm":"a\nb"}}}
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::HookAction;
use super::question::{
    HookQuestion, MalformedReply, ParsedDecision, PayloadShape, ReplyHead, ReplyReader, ReplyVerb,
};
use super::{HookToolResult, Method, TurnContext, TurnMeta};
use haft_protocol::RawJson;
use haft_protocol::content::ResolvedPath;
use haft_protocol::foreign::optional_object;

/// The params of `hook.before_tool`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BeforeTool {
    /// The turn.
    pub meta: TurnMeta,
    /// The context of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<TurnContext>>,
    /// The tool.
    pub tool: String,
    /// The arguments.
    #[serde(deserialize_with = "super::deserialize_arguments")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "haft_protocol::foreign::object_schema"))]
    pub arguments: RawJson,
    /// The answer of an earlier hook in place of the tool. Only PicoClaw sends it; haft asks no
    /// further hook after such an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_result: Option<HookToolResult>,
    /// The channel: `cli`.
    pub channel: String,
    /// The conversation on the channel: `direct`.
    pub chat_id: String,
    /// The places that the path arguments of a built-in tool mean. Since haft.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolved_paths: Vec<ResolvedPath>,
}

impl BeforeTool {
    /// `meta.TracePath` of this call.
    pub const TRACE_PATH: &'static str = "turn.tool.before";
}

/// The result of `hook.before_tool`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolReply {
    /// One of the six actions.
    pub action: HookAction,
    /// The reason. The model reads the reason of `deny_tool`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The changed call; absent parts keep their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<PartialCall>,
    /// For `respond`: the result of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<HookToolResult>,
}

/// The parts of [`BeforeTool`] that a hook can change. Others may be there and are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PartialCall {
    /// The new tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The new arguments, complete.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "haft_protocol::foreign::object_schema"))]
    pub arguments: Option<RawJson>,
    /// For `respond`: the result, if `result` is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_result: Option<HookToolResult>,
}

/// The decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolDecision {
    /// Runs the call unchanged.
    Continue,
    /// Changes the call. At least one field is `Some`; a field that is `None` keeps the original
    /// value.
    Modify {
        /// The new tool.
        tool: Option<String>,
        /// The complete new arguments: an object.
        arguments: Option<RawJson>,
    },
    /// Uses this result without running the tool.
    Respond(HookToolResult),
    /// Denies the call.
    Deny {
        /// The reason for the model; may be empty.
        reason: String,
    },
    /// Ends the turn with an error.
    AbortTurn {
        /// The reason; may be empty.
        reason: String,
    },
    /// Ends the turn and discards all of it.
    HardAbort {
        /// The reason; may be empty.
        reason: String,
    },
}

impl ToolDecision {
    /// Runs the call with these arguments: an object.
    pub fn arguments(arguments: impl Into<RawJson>) -> Self {
        Self::Modify { tool: None, arguments: Some(arguments.into()) }
    }

    /// Uses this result without running the tool.
    pub fn respond(result: HookToolResult) -> Self {
        Self::Respond(result)
    }

    /// Denies the call; the model reads the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }

    /// Ends the turn with an error.
    pub fn abort_turn(reason: impl Into<String>) -> Self {
        Self::AbortTurn { reason: reason.into() }
    }

    /// Ends the turn and discards all of it.
    pub fn hard_abort(reason: impl Into<String>) -> Self {
        Self::HardAbort { reason: reason.into() }
    }
}

const CALL: PayloadShape = PayloadShape {
    name: "call",
    fields: &["meta", "context", "tool", "arguments", "hook_result", "channel", "chat_id", "resolved_paths"],
    misnamed: &[
        ("args", "arguments"),
        ("input", "arguments"),
        ("params", "arguments"),
        ("parameters", "arguments"),
    ],
};

/// The shape of `result` for `respond`, and of the result of a tool.
pub(super) const FLAT_RESULT: PayloadShape = PayloadShape {
    name: "result",
    fields: &[
        "for_llm",
        "for_user",
        "silent",
        "is_error",
        "async",
        "media",
        "artifact_tags",
        "response_handled",
    ],
    misnamed: &[("result", "for_llm")],
};

impl HookQuestion for BeforeTool {
    type Decision = ToolDecision;

    const METHOD: Method = Method::BeforeTool;
    const SHAPE: &'static str = r#"{"action":"continue|modify|respond|deny_tool|abort_turn|hard_abort","reason":"…","call":{"tool":"…","arguments":{…}},"result":{"for_llm":"…"}}"#;

    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<ToolDecision>, MalformedReply> {
        let reading = ReplyReader::new(self, result);
        let strays = ["args", "arguments", "modified_args", "tool", "tool_input", "updatedinput"];
        let (verb, head) = reading.read_head(|head| head.call.is_some(), "call", &strays)?;
        let ReplyHead { action, reason, call, result, .. } = head;
        let call = || call.as_ref().map(|json| reading.read_payload::<PartialCall>(json, &CALL)).transpose();
        let decision = match verb {
            ReplyVerb::Proceed => {
                reading.require_plain_answer(action.as_deref(), &CALL)?;
                self.apply_changes(call()?.unwrap_or_default())
            }
            ReplyVerb::Respond => match result {
                Some(json) => ToolDecision::Respond(reading.read_payload(&json, &FLAT_RESULT)?),
                None => match call()?.and_then(|call| call.hook_result) {
                    Some(result) => ToolDecision::Respond(result),
                    None => return Err(reading.malformed_reply("respond without \"result\"")),
                },
            },
            ReplyVerb::DenyTool => ToolDecision::Deny { reason },
            ReplyVerb::AbortTurn => ToolDecision::AbortTurn { reason },
            ReplyVerb::HardAbort => ToolDecision::HardAbort { reason },
        };
        Ok(ParsedDecision::from_decision(decision))
    }
}

impl BeforeTool {
    fn apply_changes(&self, PartialCall { tool, arguments, .. }: PartialCall) -> ToolDecision {
        let tool = tool.filter(|tool| !tool.is_empty() && *tool != self.tool);
        let arguments = arguments.filter(|arguments| !arguments.same_value(&self.arguments));
        match (&tool, &arguments) {
            (None, None) => ToolDecision::Continue,
            _ => ToolDecision::Modify { tool, arguments },
        }
    }
}
