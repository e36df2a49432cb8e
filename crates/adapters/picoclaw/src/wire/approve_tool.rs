//! `hook.approve_tool`: the hook approves or denies the final form of a tool call.
//!
//! ```json
//! {"jsonrpc":"2.0","id":6,"method":"hook.approve_tool","params":{"meta":{…},"tool":"bash","arguments":{"command":"ls"},…}}
//! {"jsonrpc":"2.0","id":6,"result":{"approved":false,"reason":"not today"}}
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::fold::ObjectFields;
use super::question::{HookQuestion, MalformedReply, ParsedDecision, ReplyReader};
use super::{Method, TurnContext, TurnMeta};
use haft_protocol::RawJson;
use haft_protocol::content::ResolvedPath;

/// The params of `hook.approve_tool`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ApproveTool {
    /// The turn.
    pub meta: TurnMeta,
    /// The context of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<TurnContext>>,
    /// The tool.
    pub tool: String,
    /// The arguments in their final form.
    #[serde(deserialize_with = "super::deserialize_arguments")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "haft_protocol::foreign::object_schema"))]
    pub arguments: RawJson,
    /// The channel: `cli`.
    pub channel: String,
    /// The conversation on the channel: `direct`.
    pub chat_id: String,
    /// The places that the path arguments of a built-in tool mean. Since haft.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolved_paths: Vec<ResolvedPath>,
}

impl ApproveTool {
    /// `meta.TracePath` of this call.
    pub const TRACE_PATH: &'static str = "turn.tool.approve";
}

/// The result of `hook.approve_tool`. There is no action: everything except `"approved":true`
/// denies. A contradicting field beside it, such as `"action":"deny_tool"`, also denies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, expecting = "an object")]
pub struct ApprovalReply {
    /// True if the tool may run.
    pub approved: bool,
    /// The reason for a denial, as the model reads it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Approves the call. The call runs if all other approvers agree.
    Approve,
    /// Denies the call.
    Deny {
        /// The reason for the model; may be empty.
        reason: String,
    },
}

impl ApprovalDecision {
    /// Denies the call; the model reads the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: reason.into() }
    }
}

impl HookQuestion for ApproveTool {
    type Decision = ApprovalDecision;

    const METHOD: Method = Method::ApproveTool;
    const SHAPE: &'static str = r#"{"approved":true|false,"reason":"…"}"#;

    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<ApprovalDecision>, MalformedReply> {
        let reading = ReplyReader::new(self, result);
        let ApprovalReply { approved, reason } = reading.read()?;
        if approved {
            return Ok(match reading.dissenting_field() {
                None => ParsedDecision::from_decision(ApprovalDecision::Approve),
                Some(word) => {
                    let mut decided = ParsedDecision::from_decision(ApprovalDecision::Deny { reason });
                    let detail = format!("{word:?} contradicts the approval, which denies");
                    decided.add_report(reading.malformed_reply(detail).to_string());
                    decided
                }
            });
        }
        let mut decided = ParsedDecision::from_decision(ApprovalDecision::Deny { reason });
        if ObjectFields::parse(result.as_str()).is_ok_and(|fields| !fields.has("approved")) {
            decided.add_report(reading.malformed_reply("no \"approved\", which denies").to_string());
        }
        Ok(decided)
    }
}
