//! `context`: an extension changes one request to the model.
//!
//! ```json
//! {"type":"event_intercept","id":"9","event":"context","step":1,"provider":"anthropic","model":"claude","thinking":"high","options":{"max_tokens":4096},"system":"You are haft.","tools":[{"name":"ls","description":"Lists files.","schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}],"time":"2026-01-01T00:00:00Z"}]}
//! {"type":"event_intercept_response","id":"9","messages":[{"role":"user","content":[{"type":"text","text":"hello"}],"time":"2026-01-01T00:00:00Z"}]}
//! {"type":"event_intercept_response","id":"9","model":"anthropic/claude-mini","thinking":"off","options":{"temperature":0.2}}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, TurnStop, read_field, write_field};
use crate::ext::answer_error::AnswerError;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::message::Message;
use crate::read::null_is_default;
use crate::thinking::ThinkingLevel;

/// Before a request to the model. The session does not change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptContext {
    /// The number of the request since the prompt, from 1.
    pub step: u32,
    /// The provider that receives the request.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// Further options.
    #[serde(default, deserialize_with = "null_is_default")]
    pub options: RequestOptions,
    /// True for the last request of an interrupted run, which offers no tools and gets none.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// The system prompt, which this hook cannot change.
    pub system: String,
    /// The tools that the model is offered, in order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tools: Vec<RequestTool>,
    /// The messages of the request, oldest first, in the form of the session file. The field
    /// `native` is absent.
    pub messages: Vec<Message>,
}

/// Further options of a request. An absent option has its configured or default value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RequestOptions {
    // Without `default`, so that a list is rejected.
    /// The maximum length of the answer in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The temperature: 0 or more, usually at most 1 or 2. Not sent to models that do not accept one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The share of the most likely tokens that an answer is chosen from: more than 0, at most 1. Not sent to models
    /// that accept no temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The texts that end the answer. The answer does not contain them.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// The tool calls that the answer may or must have. `{"tool": NAME}` demands a call of this tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

impl RequestOptions {
    /// Sets [`max_tokens`](Self::max_tokens).
    #[must_use]
    pub fn with_max_tokens(self, max_tokens: impl Into<Option<u64>>) -> Self {
        Self { max_tokens: max_tokens.into(), ..self }
    }

    /// Sets [`temperature`](Self::temperature).
    #[must_use]
    pub fn with_temperature(self, temperature: impl Into<Option<f64>>) -> Self {
        Self { temperature: temperature.into(), ..self }
    }

    /// Sets [`top_p`](Self::top_p).
    #[must_use]
    pub fn with_top_p(self, top_p: impl Into<Option<f64>>) -> Self {
        Self { top_p: top_p.into(), ..self }
    }

    /// Sets [`stop`](Self::stop).
    #[must_use]
    pub fn with_stop(self, stop: Vec<String>) -> Self {
        Self { stop, ..self }
    }

    /// Sets [`tool_choice`](Self::tool_choice).
    #[must_use]
    pub fn with_tool_choice(self, tool_choice: impl Into<Option<ToolChoice>>) -> Self {
        Self { tool_choice: tool_choice.into(), ..self }
    }
}

/// The tool calls that an answer may or must have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides: the default.
    Auto,
    /// No call.
    None,
    /// At least one call, of any tool.
    Required,
    /// A call of this tool.
    Tool(String),
}

/// A tool that a request offers to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestTool {
    /// The tool's name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub schema: RawJson,
}

/// The decision about a request.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextDecision {
    /// The request stays as it is.
    Unchanged,
    /// The request changes.
    Change(Box<ContextChange>),
    /// Ends the turn.
    Stop(TurnStop),
}

/// The changed parts of a request; `None` and an empty list keep a part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextChange {
    /// All messages, oldest first; not empty.
    pub messages: Option<Vec<Message>>,
    /// Another model: `PROVIDER/MODEL`, or an id at the same provider.
    pub model: Option<String>,
    /// Another thinking level.
    pub thinking: Option<ThinkingLevel>,
    /// Other options. They replace all options.
    pub options: Option<RequestOptions>,
    /// Tools to offer in addition. A tool whose name the request has already is ignored.
    pub tools: Vec<RequestTool>,
}

impl InterceptHook for InterceptContext {
    type Decision = ContextDecision;

    const KIND: InterceptKind = InterceptKind::Context;

    fn read(mut response: EventInterceptResponse) -> Result<ContextDecision, AnswerError> {
        if let Some(stop) = TurnStop::read(&mut response)? {
            return Ok(ContextDecision::Stop(stop));
        }
        if response.is_blocking() {
            return Err(AnswerError::new("context cannot block; intercept turn_start for that"));
        }
        let change = ContextChange {
            messages: read_field("messages", response.messages)?,
            model: read_field("model", response.model)?,
            thinking: read_field("thinking", response.thinking)?,
            options: read_field("options", response.options)?,
            tools: read_field("tools", response.tools)?.unwrap_or_default(),
        };
        Ok(change.into())
    }

    fn respond(decision: ContextDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            ContextDecision::Unchanged => {}
            ContextDecision::Change(change) => {
                let ContextChange { messages, model, thinking, options, tools } = *change;
                response.messages = write_field(messages);
                response.model = write_field(model);
                response.thinking = write_field(thinking);
                response.options = write_field(options);
                response.tools = write_field((!tools.is_empty()).then_some(tools));
            }
            ContextDecision::Stop(stop) => stop.write(&mut response),
        }
        response
    }
}

impl From<ContextChange> for ContextDecision {
    fn from(change: ContextChange) -> Self {
        if change == ContextChange::default() { Self::Unchanged } else { Self::Change(change.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<ContextDecision, &str>) {
        let response: EventInterceptResponse =
            serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        match (InterceptContext::read(response), expect) {
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (read, expect) => {
                assert_eq!(
                    read.as_ref().map_err(ToString::to_string),
                    expect.as_ref().map_err(ToString::to_string),
                    "{fields}"
                );
                let again = InterceptContext::respond(read.clone().unwrap(), RequestId::new("1"));
                assert_eq!(InterceptContext::read(again), read, "{fields}");
            }
        }
    }

    #[test]
    fn reads_each_part_of_a_change() {
        let change = |change: ContextChange| Ok(ContextDecision::Change(change.into()));
        check("", Ok(ContextDecision::Unchanged));
        check(
            r#","messages":null,"model":null,"thinking":null,"options":null,"tools":[]"#,
            Ok(ContextDecision::Unchanged),
        );
        let messages = Some(Vec::new());
        check(r#","messages":[]"#, change(ContextChange { messages, ..ContextChange::default() }));
        let model = Some("anthropic/claude".to_owned());
        check(r#","model":"anthropic/claude""#, change(ContextChange { model, ..ContextChange::default() }));
        let thinking = Some(ThinkingLevel::Low);
        check(r#","thinking":"low""#, change(ContextChange { thinking, ..ContextChange::default() }));
        let options = Some(RequestOptions { max_tokens: Some(9), ..RequestOptions::default() });
        check(
            r#","options":{"max_tokens":9}"#,
            change(ContextChange { options, ..ContextChange::default() }),
        );
        let schema = RawJson::empty_object();
        let tools = vec![RequestTool { name: "look".into(), description: "Looks.".into(), schema }];
        check(
            r#","tools":[{"name":"look","description":"Looks.","schema":{}}]"#,
            change(ContextChange { tools, ..ContextChange::default() }),
        );
    }

    #[test]
    fn rejects_block_and_wrong_parts() {
        check(r#","block":true"#, Err("context cannot block; intercept turn_start for that"));
        check(r#","model":7"#, Err("model: invalid type"));
        check(r#","thinking":"much""#, Err("thinking: unknown variant"));
        check(r#","options":{"max_tokens":-1}"#, Err("options: "));
        check(r#","tools":[{"name":"look","description":"","schema":[]}]"#, Err("tools: "));
    }
}
