//! `hook.before_llm`: the model is about to be called. The hook may change what is sent this once.
//!
//! ```json
//! {"jsonrpc":"2.0","id":2,"method":"hook.before_llm","params":{"meta":{…},"model":"m","messages":[…],"tools":[…],…}}
//! {"jsonrpc":"2.0","id":2,"result":{"action":"modify","request":{"tools":[…]}}}
//! ```

mod edit;

use serde::{Deserialize, Serialize};

use super::action::HookAction;
use super::question::{HookQuestion, MalformedReply, ParsedDecision, PayloadShape, ReplyReader, ReplyVerb};
use super::{HookMessage, Method, ToolDefinition, TurnContext, TurnMeta};
use crate::json::RawJson;

pub use edit::{LlmEdit, MessageEdit};

/// The params of `hook.before_llm`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct BeforeLlm {
    /// Which turn.
    pub meta: TurnMeta,
    /// The context of the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Box<TurnContext>>,
    /// The model.
    pub model: String,
    /// The conversation, the system prompt first.
    pub messages: Vec<HookMessage>,
    /// The tools that the model is offered.
    pub tools: Vec<ToolDefinition>,
    /// The options of the answer.
    pub options: LlmOptions,
    /// The last call of a turn that was interrupted: no tools, a summary is wanted.
    pub graceful_terminal: bool,
    /// The channel: `cli`.
    pub channel: String,
    /// The conversation on the channel: `direct`.
    pub chat_id: String,
}

impl BeforeLlm {
    /// `meta.TracePath` of this question.
    pub const TRACE_PATH: &'static str = "turn.llm.request";

    /// Offers one more tool, unless one of that name is offered already.
    pub fn add_tool(&mut self, tool: ToolDefinition) {
        if !self.tools.iter().any(|offered| offered.function.name == tool.function.name) {
            self.tools.push(tool);
        }
    }
}

/// The options of the answer. What is absent is the provider's own choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct LlmOptions {
    /// The most tokens that it may write.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    pub max_tokens: Option<u64>,
    /// From 0 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The key by which a provider may find a cached prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// The thinking level: the name of a level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// True if the provider searches the web itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_search: Option<bool>,
}

/// A number of tokens, also as languages write it that have only floats.
fn whole_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let whole = number.as_u64().or_else(|| format!("{:.0}", number.as_f64()?).parse().ok());
    let exact =
        whole.filter(|whole| number.as_u64().is_some() || number.as_f64() == format!("{whole}").parse().ok());
    exact.map(Some).ok_or_else(|| serde::de::Error::custom(format_args!("{number} is no number of tokens")))
}

/// The result of `hook.before_llm`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct LlmReply {
    /// `continue`, `modify`, `abort_turn` or `hard_abort`.
    pub action: HookAction,
    /// Why it aborts.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The request to send instead; what is absent stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<PartialRequest>,
}

/// The parts of [`BeforeLlm`] that a hook can change. Others may be there and are ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct PartialRequest {
    /// Another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conversation. Without any system message the system prompt stays; it cannot be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<HookMessage>>,
    /// Tools. Those that are not offered yet are added; none is changed or taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolDefinition>>,
    /// All options; one that is not among them is left to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<LlmOptions>,
}

/// The decision about a call of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum LlmDecision {
    /// It is made as it is.
    Continue,
    /// It is made otherwise.
    Modify(LlmEdit),
    /// The turn ends with an error.
    AbortTurn {
        /// Why, possibly empty.
        reason: String,
    },
    /// The turn ends and nothing of it stays.
    HardAbort {
        /// Why, possibly empty.
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
