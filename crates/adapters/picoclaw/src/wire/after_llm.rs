//! `hook.after_llm`: the model has answered. The hook can change the answer before haft uses it.
//!
//! ```json
//! {"jsonrpc":"2.0","id":3,"method":"hook.after_llm","params":{"meta":{…},"model":"m","response":{"content":"Hi!",…},…}}
//! {"jsonrpc":"2.0","id":3,"result":{"action":"modify","response":{"response":{"content":"Hello."}}}}
//! ```
//!
//! The payload of the reply has the shape of the params, so the new text is two levels below
//! `response`.

use std::sync::Arc;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::action::HookAction;
use super::question::{HookQuestion, MalformedReply, ParsedDecision, PayloadShape, ReplyReader, ReplyVerb};
use super::{HookToolCall, LlmResponse, Method, TurnContext, TurnMeta, UsageInfo};
use haft_protocol::RawJson;

/// The params of `hook.after_llm`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AfterLlm {
    /// The turn.
    pub meta: TurnMeta,
    /// The context of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<TurnContext>>,
    /// The model that answered.
    pub model: String,
    /// The answer of the model.
    pub response: LlmResponse,
    /// The channel: `cli`.
    pub channel: String,
    /// The conversation on the channel: `direct`.
    pub chat_id: String,
}

impl AfterLlm {
    /// `meta.TracePath` of this call.
    pub const TRACE_PATH: &'static str = "turn.llm.response";
}

/// The result of `hook.after_llm`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResponseReply {
    /// `continue`, `modify`, `abort_turn` or `hard_abort`.
    pub action: HookAction,
    /// The reason for `abort_turn` or `hard_abort`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The changed answer. Has the shape of the params.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ChangedResponse>,
}

/// `response` of the reply: the params again, of which only the answer can be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ChangedResponse {
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<PartialResponse>,
}

/// The answer as a hook gives it. One with a `finish_reason` is whole: what it leaves out is gone. Of any other, what is
/// left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PartialResponse {
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The model's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// The tool calls of the model; `null` removes them.
    #[serde(deserialize_with = "explicit_null", skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<HookToolCall>>,
    /// The reason why the answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// The usage of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageInfo>,
    /// Same as `reasoning_content`, for other providers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The reasoning in parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<RawJson>,
}

/// Keeps an explicit `null` apart from an absent field: `null` removes the tool calls, absence
/// keeps them.
fn explicit_null<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<HookToolCall>>, D::Error> {
    Vec::deserialize(deserializer).map(Some)
}

/// The decision about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseDecision {
    /// Keeps the answer unchanged.
    Continue,
    /// Replaces the answer. Every call in it has an id, a name, and an object as arguments.
    Modify(Box<LlmResponse>),
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

impl ResponseDecision {
    /// Replaces the answer.
    pub fn modify(response: LlmResponse) -> Self {
        Self::Modify(Box::new(response))
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

/// The maximum number of tool calls in a changed answer, unless the model itself made more.
const MOST_CALLS: usize = 128;

const RESPONSE: PayloadShape = PayloadShape {
    name: "response",
    fields: &["meta", "context", "model", "response", "channel", "chat_id"],
    misnamed: &[
        ("content", "response"),
        ("tool_calls", "response"),
        ("finish_reason", "response"),
        ("reasoning_content", "response"),
    ],
};

impl HookQuestion for AfterLlm {
    type Decision = ResponseDecision;

    const METHOD: Method = Method::AfterLlm;
    const SHAPE: &'static str = r#"{"action":"continue|modify|abort_turn|hard_abort","reason":"…","response":{"response":{"content":"…","tool_calls":[…]}}}"#;

    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<ResponseDecision>, MalformedReply> {
        let reading = ReplyReader::new(self, result);
        let strays = ["content", "tool_calls"];
        let (verb, head) = reading.read_head(|head| head.response.is_some(), "response", &strays)?;
        let reason = head.reason;
        let decision = match verb {
            ReplyVerb::Proceed => match head.response {
                None => ResponseDecision::Continue,
                Some(json) => self.apply_changes(reading.read_payload(&json, &RESPONSE)?, &reading)?,
            },
            ReplyVerb::AbortTurn => ResponseDecision::AbortTurn { reason },
            ReplyVerb::HardAbort => ResponseDecision::HardAbort { reason },
            ReplyVerb::Respond => return Err(reading.unexpected_action(HookAction::Respond)),
            ReplyVerb::DenyTool => return Err(reading.unexpected_action(HookAction::DenyTool)),
        };
        Ok(ParsedDecision::from_decision(decision).with_remark(head.remark))
    }
}

impl AfterLlm {
    fn apply_changes(
        &self,
        ChangedResponse { response }: ChangedResponse,
        reading: &ReplyReader<'_, Self>,
    ) -> Result<ResponseDecision, MalformedReply> {
        let Some(response) = response else { return Ok(ResponseDecision::Continue) };
        let mut merged = merge(&self.response, response);
        let at = "response.response.tool_calls";
        let most = MOST_CALLS.max(self.response.tool_calls.len());
        if merged.tool_calls.len() > most {
            return Err(reading.malformed_reply(format!("{at}: more than {most} calls")));
        }
        for (index, call) in merged.tool_calls.iter_mut().enumerate() {
            self.complete(call)
                .map_err(|detail| reading.malformed_reply(format!("{at}[{index}]{detail}")))?;
        }
        let mut ids = HashSet::with_capacity(merged.tool_calls.len());
        if let Some(index) = merged.tool_calls.iter().position(|call| !ids.insert(&call.id)) {
            return Err(reading.malformed_reply(format!("{at}[{index}].id: another call has it")));
        }
        let own = &self.response;
        let same = merged.content == own.content
            && merged.reasoning_content == own.reasoning_content
            && merged.tool_calls == own.tool_calls;
        Ok(if same { ResponseDecision::Continue } else { ResponseDecision::Modify(Box::new(merged)) })
    }

    /// Fills in the missing fields of a tool call from the model's call. Rejects a call that cannot
    /// be completed.
    fn complete(&self, call: &mut HookToolCall) -> Result<(), String> {
        let own = self.response.tool_calls.iter().find(|own| own.id == call.id);
        if call.id.is_empty() {
            return Err(".id: missing".to_owned());
        }
        if call.function.name.is_empty() {
            let Some(own) = own else { return Err(".function.name: missing".to_owned()) };
            call.function.name.clone_from(&own.function.name);
            if call.function.arguments.is_empty() {
                call.function.clone_from(&own.function);
            }
        }
        if call.kind.is_empty() {
            "function".clone_into(&mut call.kind);
        }
        call.function.read_arguments().map(drop).map_err(|detail| format!(".function.arguments: {detail}"))
    }
}

/// Returns the hook's answer if it is complete; otherwise merges it into the model's answer.
fn merge(own: &LlmResponse, said: PartialResponse) -> LlmResponse {
    let whole = said.finish_reason.is_some();
    let rest = if whole { LlmResponse::default() } else { own.clone() };
    LlmResponse {
        role: own.role.clone(),
        content: said.content.unwrap_or(rest.content),
        reasoning_content: said.reasoning_content.unwrap_or(rest.reasoning_content),
        tool_calls: said.tool_calls.unwrap_or(rest.tool_calls),
        finish_reason: said.finish_reason.unwrap_or(rest.finish_reason),
        usage: said.usage.or(own.usage),
        reasoning: said.reasoning.unwrap_or(rest.reasoning),
        reasoning_details: said.reasoning_details.or(rest.reasoning_details),
    }
}
