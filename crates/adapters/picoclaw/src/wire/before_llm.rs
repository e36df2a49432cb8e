//! `hook.before_llm`: before a request to the model. The hook can change this one request.
//!
//! ```json
//! {"jsonrpc":"2.0","id":2,"method":"hook.before_llm","params":{"meta":{…},"model":"m","messages":[…],"tools":[…],…}}
//! {"jsonrpc":"2.0","id":2,"result":{"action":"modify","request":{"tools":[…]}}}
//! ```

mod edit;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::HookAction;
use super::question::{HookQuestion, MalformedReply, ParsedDecision, PayloadShape, ReplyReader, ReplyVerb};
use super::{HookMessage, Method, ToolDefinition, TurnContext, TurnMeta};
use haft_protocol::RawJson;

pub use edit::{LlmEdit, MessageEdit};

/// The params of `hook.before_llm`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BeforeLlm {
    /// The turn.
    pub meta: TurnMeta,
    /// The context of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<TurnContext>>,
    /// The model.
    pub model: String,
    /// The conversation; the system prompt comes first.
    pub messages: Vec<HookMessage>,
    /// The tools in the request.
    pub tools: Vec<ToolDefinition>,
    /// The options of the request.
    pub options: LlmOptions,
    /// True for the last request of an interrupted turn: it has no tools and asks for a summary.
    pub graceful_terminal: bool,
    /// The channel: `cli`.
    pub channel: String,
    /// The conversation on the channel: `direct`.
    pub chat_id: String,
}

impl BeforeLlm {
    /// `meta.TracePath` of this call.
    pub const TRACE_PATH: &'static str = "turn.llm.request";

    /// Adds a tool, unless the request already has a tool of that name.
    pub fn add_tool(&mut self, tool: ToolDefinition) {
        if !self.tools.iter().any(|offered| offered.function.name == tool.function.name) {
            self.tools.push(tool);
        }
    }
}

/// The options of the answer. What is absent is the provider's own choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LlmOptions {
    /// The output limit in tokens.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    pub max_tokens: Option<u64>,
    /// The temperature, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The key by which a provider can find a cached prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// The name of a thinking level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// True if the provider's own web search is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_search: Option<bool>,
}

/// Reads a number of tokens, including the float form of languages without integers.
fn whole_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| format!("{:.0}", number.as_f64()?).parse().ok());
    let exact =
        whole.filter(|whole| number.as_u64().is_some() || number.as_f64() == format!("{whole}").parse().ok());
    exact
        .map(Some)
        .ok_or_else(|| serde::de::Error::custom(format_args!("{number} is not a number of tokens")))
}

/// The result of `hook.before_llm`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LlmReply {
    /// `continue`, `modify`, `abort_turn` or `hard_abort`.
    pub action: HookAction,
    /// The reason for `abort_turn` or `hard_abort`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The changed request; absent parts keep their values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<PartialRequest>,
}

/// The parts of [`BeforeLlm`] that a hook can change. Others may be there and are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PartialRequest {
    /// The new model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The new conversation. Without a system message the system prompt stays; it cannot be
    /// changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<HookMessage>>,
    /// Tools to add. A hook cannot change or remove a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDefinition>>,
    /// All options; absent options have the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<LlmOptions>,
}

/// The decision about a request to the model.
#[derive(Debug, Clone, PartialEq)]
pub enum LlmDecision {
    /// Sends the request unchanged.
    Continue,
    /// Sends a changed request.
    Modify(LlmEdit),
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

const REQUEST: PayloadShape = PayloadShape {
    name: "request",
    fields: &[
        "meta",
        "context",
        "model",
        "messages",
        "tools",
        "options",
        "graceful_terminal",
        "channel",
        "chat_id",
    ],
    misnamed: &[],
};

impl HookQuestion for BeforeLlm {
    type Decision = LlmDecision;

    const METHOD: Method = Method::BeforeLlm;
    const SHAPE: &'static str = r#"{"action":"continue|modify|abort_turn|hard_abort","reason":"…","request":{"model":"…","messages":[…],"tools":[…],"options":{…}}}"#;

    fn decide(&self, result: &RawJson) -> Result<ParsedDecision<LlmDecision>, MalformedReply> {
        let reading = ReplyReader::new(self, result);
        let strays = ["model", "messages", "tools", "options"];
        let (verb, head) = reading.read_head(|head| head.request.is_some(), "request", &strays)?;
        let reason = head.reason;
        match verb {
            ReplyVerb::Proceed => {
                match head.request {
                    None => Ok(ParsedDecision::from_decision(LlmDecision::Continue)),
                    Some(json) => Ok(edit::edit_request(self, reading.read_payload(&json, &REQUEST)?)
                        .with_remark(head.remark)),
                }
            }
            ReplyVerb::AbortTurn => Ok(ParsedDecision::from_decision(LlmDecision::AbortTurn { reason })),
            ReplyVerb::HardAbort => Ok(ParsedDecision::from_decision(LlmDecision::HardAbort { reason })),
            ReplyVerb::Respond => Err(reading.unexpected_action(HookAction::Respond)),
            ReplyVerb::DenyTool => Err(reading.unexpected_action(HookAction::DenyTool)),
        }
    }
}
