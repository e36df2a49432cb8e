//! `hook.after_tool`: a tool has run. The hook can change its result before the model sees it.
//!
//! ```json
//! {"jsonrpc":"2.0","id":5,"method":"hook.after_tool","params":{"meta":{…},"tool":"bash","arguments":{…},"result":{…},…}}
//! {"jsonrpc":"2.0","id":5,"result":{"action":"modify","result":{"result":{"for_llm":"…"}}}}
//! ```
//!
//! The payload of the reply has the shape of the params, so the new text is two levels below `result`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::HookAction;
use super::before_tool::FLAT_RESULT;
use super::question::{HookQuestion, MalformedReply, ParsedDecision, PayloadShape, ReplyReader, ReplyVerb};
use super::{HookToolResult, Method, TurnContext, TurnMeta};
use haft_protocol::RawJson;

/// The params of `hook.after_tool`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AfterTool {
    /// The turn.
    pub meta: TurnMeta,
    /// The context of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<TurnContext>>,
    /// The tool that ran.
    pub tool: String,
    /// The arguments that the tool got.
    #[serde(deserialize_with = "super::deserialize_arguments")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "haft_protocol::foreign::object_schema"))]
    pub arguments: RawJson,
    /// The result of the call.
    pub result: HookToolResult,
    /// The duration in nanoseconds.
    pub duration: u64,
    /// The channel: `cli`.
    pub channel: String,
    /// The conversation on the channel: `direct`.
    pub chat_id: String,
}

impl AfterTool {
    /// `meta.TracePath` of this call.
    pub const TRACE_PATH: &'static str = "turn.tool.after";
}

/// The result of `hook.after_tool`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResultReply {
    /// `continue`, `modify`, `abort_turn` or `hard_abort`.
    pub action: HookAction,
    /// The reason for `abort_turn` or `hard_abort`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The changed result. Has the shape of the params.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ChangedResult>,
}

/// `result` of the reply: the params again, of which only what came of the call can be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChangedResult {
    /// The result of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<PartialResult>,
}

/// The result of a call as a hook gives it. One with `for_llm`, `silent`, `is_error` and `async` is whole: what it
/// leaves out is gone. Of any other, what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PartialResult {
    /// The text for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_llm: Option<String>,
    /// The text for the user, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_user: Option<String>,
    /// True if the user sees nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<bool>,
    /// True if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// True if the tool is still running and its result comes later.
    #[serde(rename = "async", skip_serializing_if = "Option::is_none")]
    pub is_async: Option<bool>,
    /// Images and files; `null` removes them.
    #[serde(deserialize_with = "explicit_null", skip_serializing_if = "Option::is_none")]
    pub media: Option<Vec<String>>,
    /// The locations of the files; `null` removes them.
    #[serde(deserialize_with = "explicit_null", skip_serializing_if = "Option::is_none")]
    pub artifact_tags: Option<Vec<String>>,
    /// True if the user has already seen the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_handled: Option<bool>,
}

/// Keeps an explicit `null` apart from an absent field: `null` removes the media, absence keeps
/// them.
fn explicit_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    Vec::deserialize(deserializer).map(Some)
}

/// The decision about the result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultDecision {
    /// Keeps the result unchanged.
    Continue,
    /// Replaces the result.
    Modify(HookToolResult),
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

impl ResultDecision {
    /// Replaces the result.
    pub fn modify(result: HookToolResult) -> Self {
        Self::Modify(result)
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

const RESULT: PayloadShape = PayloadShape {
    name: "result",
    fields: &["meta", "context", "tool", "arguments", "result", "duration", "channel", "chat_id"],
    misnamed: &[
        ("for_llm", "result"),
        ("for_user", "result"),
        ("silent", "result"),
        ("is_error", "result"),
        ("media", "result"),
        ("response_handled", "result"),
    ],
};

impl HookQuestion for AfterTool {
    type Decision = ResultDecision;

    const METHOD: Method = Method::AfterTool;
    const SHAPE: &'static str = r#"{"action":"continue|modify|abort_turn|hard_abort","reason":"…","result":{"result":{"for_llm":"…","is_error":false}}}"#;

    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<ResultDecision>, MalformedReply> {
        let reading = ReplyReader::new(self, result);
        let (verb, head) = reading.read_head(|head| head.result.is_some(), "result", FLAT_RESULT.fields)?;
        let reason = head.reason;
        let decision = match verb {
            ReplyVerb::Proceed => match head.result {
                None => ResultDecision::Continue,
                Some(json) => self.apply_changes(reading.read_payload(&json, &RESULT)?),
            },
            ReplyVerb::AbortTurn => ResultDecision::AbortTurn { reason },
            ReplyVerb::HardAbort => ResultDecision::HardAbort { reason },
            ReplyVerb::Respond => return Err(reading.unexpected_action(HookAction::Respond)),
            ReplyVerb::DenyTool => return Err(reading.unexpected_action(HookAction::DenyTool)),
        };
        Ok(ParsedDecision::from_decision(decision).with_remark(head.remark))
    }
}

impl AfterTool {
    fn apply_changes(&self, ChangedResult { result }: ChangedResult) -> ResultDecision {
        let merged = result.map(|said| merge(&self.result, said)).filter(|merged| *merged != self.result);
        merged.map_or(ResultDecision::Continue, ResultDecision::Modify)
    }
}

/// Returns the hook's result if it is complete; otherwise merges it into the tool's result.
fn merge(own: &HookToolResult, said: PartialResult) -> HookToolResult {
    let PartialResult { for_llm, silent, is_error, is_async, .. } = &said;
    let whole = for_llm.is_some() && silent.is_some() && is_error.is_some() && is_async.is_some();
    let rest = if whole { HookToolResult::default() } else { own.clone() };
    HookToolResult {
        for_llm: said.for_llm.unwrap_or(rest.for_llm),
        for_user: said.for_user.unwrap_or(rest.for_user),
        silent: said.silent.unwrap_or(rest.silent),
        is_error: said.is_error.unwrap_or(rest.is_error),
        is_async: said.is_async.unwrap_or(rest.is_async),
        media: said.media.unwrap_or(rest.media),
        artifact_tags: said.artifact_tags.unwrap_or(rest.artifact_tags),
        response_handled: said.response_handled.unwrap_or(rest.response_handled),
    }
}
