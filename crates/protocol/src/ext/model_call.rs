//! Calls of `host_call` about the tools and models of the agent: `call_tool`, with the permission
//! `session.control`, and `complete`, with the permission `model.call`. They require the capability
//! `models`.
//!
//! ```json
//! {"type":"host_call","id":"c1","call":"call_tool","args":{"name":"grep","args":{"pattern":"TODO"}}}
//! {"type":"host_result","id":"c1","content":[{"type":"text","text":"src/a.rs:3: // TODO"}]}
//! {"type":"host_call","id":"c2","call":"complete","args":{"messages":[{"role":"user","content":"Name this session."}]}}
//! {"type":"progress","id":"c2","value":{"text":"Baking"}}
//! {"type":"host_result","id":"c2","content":[],"value":{"text":"Baking bread","model":"anthropic/claude","stop":"end","usage":{"input":9,"output":3,"cache_read":0,"cache_write":0,"cost_usd":0.0}}}
//! ```

use serde::{Deserialize, Serialize};

use super::{HostCallKind, MessageRole};
use crate::error::without_position;
use crate::ids::RequestId;
use crate::json::RawJson;
use crate::message::{StopCause, TokenUsage};
use crate::read::null_is_default;
use crate::thinking::ThinkingLevel;

/// A call about the tools or models of the agent, with its arguments.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "call", content = "args", rename_all = "snake_case")]
pub enum AgentCall {
    /// Runs a tool that the model gets, under the same gates as a call of the model.
    CallTool(CallToolArgs),
    /// Asks a model, outside of the conversation.
    Complete(CompleteCall),
}

/// The arguments of `call_tool`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallToolArgs {
    /// The name of the tool.
    pub name: String,
    /// The arguments of the tool.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub args: RawJson,
}

/// The arguments of `complete`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompleteCall {
    /// The model, by id or as `PROVIDER/MODEL`; absent: the model of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// The messages, oldest first. The last one is of the role `user`.
    pub messages: Vec<CompletionMessage>,
    /// Further options.
    #[serde(default, deserialize_with = "null_is_default")]
    pub options: CompletionOptions,
}

/// A message for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionMessage {
    /// The author.
    pub role: MessageRole,
    /// The text.
    pub content: String,
}

/// Further options of `complete`. An absent option has the configured or default value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionOptions {
    /// The maximum length of the answer in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The temperature. Not sent to models that do not accept one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The thinking level; absent: `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingLevel>,
}

/// The value of `complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionData {
    /// The text of the answer.
    pub text: String,
    /// The model that answered, as `PROVIDER/MODEL`.
    pub model: String,
    /// The reason why the answer ended.
    pub stop: StopCause,
    /// The usage, which the session counts, too.
    pub usage: TokenUsage,
}

/// A part of the value of a `host_call` that is not answered yet: for `complete`, the next piece of
/// the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostCallProgress {
    /// The `id` of the `host_call`.
    pub id: RequestId,
    /// For `complete`: an object with the next piece of the answer as `text`.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub value: RawJson,
}

/// The value of a [`HostCallProgress`] of `complete`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionPiece {
    /// The next piece of the answer.
    pub text: String,
}

impl CompletionMessage {
    /// Creates a message of the user.
    pub fn from_user(content: impl Into<String>) -> Self {
        Self { role: MessageRole::User, content: content.into() }
    }

    /// Creates a message of the model.
    pub fn from_assistant(content: impl Into<String>) -> Self {
        Self { role: MessageRole::Assistant, content: content.into() }
    }
}

impl AgentCall {
    /// Reads the arguments of a call. Returns `None` for the other calls.
    ///
    /// # Errors
    /// The invalid argument, as text.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other calls do not concern the agent")]
    pub fn read(kind: HostCallKind, args: &RawJson) -> Option<Result<Self, String>> {
        let read = match kind {
            HostCallKind::CallTool => args.read().map(Self::CallTool),
            HostCallKind::Complete => args.read().map(Self::Complete),
            _ => return None,
        };
        Some(read.map_err(|error| without_position(&error)).and_then(Self::check_values))
    }

    fn check_values(self) -> Result<Self, String> {
        match &self {
            Self::Complete(CompleteCall { messages, options, .. }) => {
                let ends_with_user = messages.last().is_some_and(|last| last.role == MessageRole::User);
                if !ends_with_user {
                    return Err("the last message must have the role `user`".to_owned());
                }
                if messages.iter().any(|message| message.content.trim().is_empty()) {
                    return Err("`content` of a message is empty".to_owned());
                }
                if options.temperature.is_some_and(|temperature| temperature < 0.0) {
                    return Err("`temperature` is negative".to_owned());
                }
                Ok(self)
            }
            Self::CallTool(_) => Ok(self),
        }
    }

    /// Returns the kind of the call.
    pub const fn kind(&self) -> HostCallKind {
        match self {
            Self::CallTool(_) => HostCallKind::CallTool,
            Self::Complete(_) => HostCallKind::Complete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &str, expect: Result<(), &str>) {
        let read = AgentCall::read(HostCallKind::Complete, &RawJson::parse(args).unwrap()).unwrap();
        assert_eq!(read.map(drop), expect.map_err(str::to_owned), "{args}");
    }

    #[test]
    fn completion_needs_a_question_of_the_user() {
        check(r#"{"messages":[{"role":"user","content":"hi"}],"options":null}"#, Ok(()));
        check(r#"{"messages":[]}"#, Err("the last message must have the role `user`"));
        let answered = r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}"#;
        check(answered, Err("the last message must have the role `user`"));
        check(r#"{"messages":[{"role":"user","content":" "}]}"#, Err("`content` of a message is empty"));
        let cold = r#"{"messages":[{"role":"user","content":"hi"}],"options":{"temperature":-1}}"#;
        check(cold, Err("`temperature` is negative"));
    }
}
