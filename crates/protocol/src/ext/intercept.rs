//! `event_intercept` and `event_intercept_response`: an extension blocks or changes an action
//! before it happens.
//!
//! Each hook is one file in `intercept/`, with its request and its decision, and one line of the
//! macro `hooks!`.
//!
//! # How to add a hook
//!
//! `CONTRIBUTING.md` of the repository lists all steps. The steps in this crate:
//!
//! 1. Write `intercept/<name>.rs`: the request (struct `Intercept<Name>`), the decision (enum), and
//!    `impl InterceptHook` for the request. Put an example of both lines at the top of the file.
//! 2. Add one line to `hooks!`, `mod <name>;`, and a re-export of both types.
//! 3. If the response needs a new field, add it to [`EventInterceptResponse`] as an optional field.
//! 4. If zot does not have the hook, add a constant to [`capability`](crate::ext::capability).

mod approve;
mod assistant_message;
mod before_agent_start;
mod before_compact;
mod before_fork;
mod before_provider_request;
mod before_settle;
mod before_switch;
mod before_tree;
mod context;
mod input;
mod message_end;
mod project_trust;
mod resources;
mod stop;
mod tool_call;
mod tool_result;
mod turn_start;
mod user_bash;
mod wait;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::answer_error::AnswerError;
use crate::content::Image;
use crate::ids::RequestId;
use crate::json::{RawJson, optional_array, optional_object};
use crate::named_enum::named_enum;
use crate::read::{self, null_is_default};
use crate::reader::{CheckedJson, JsonText, OBJECT};

pub use approve::{ApproveDecision, InterceptApprove};
pub use assistant_message::{AssistantMessageDecision, InterceptAssistantMessage};
pub use before_agent_start::{
    BeforeAgentStartDecision, InterceptBeforeAgentStart, MAX_START_MESSAGES, StartMessage,
};
pub use before_compact::{BeforeCompactDecision, CompactEntry, InterceptBeforeCompact};
pub use before_fork::{BeforeForkDecision, InterceptBeforeFork};
pub use before_provider_request::{BeforeProviderRequestDecision, InterceptBeforeProviderRequest};
pub use before_settle::{BeforeSettleDecision, InterceptBeforeSettle};
pub use before_switch::{BeforeSwitchDecision, InterceptBeforeSwitch, SwitchReason};
pub use before_tree::{BeforeTreeDecision, InterceptBeforeTree};
pub use context::{
    ContextChange, ContextDecision, InterceptContext, RequestOptions, RequestTool, ToolChoice,
};
pub use input::{InputDecision, InterceptInput};
pub use message_end::{InterceptMessageEnd, MessageEndDecision};
pub use project_trust::{InterceptProjectTrust, ProjectTrustDecision, TrustOpinion};
pub use resources::{
    InterceptResources, MAX_RESOURCE_PATH, MAX_RESOURCE_PATHS, ResourcesDecision, ResourcesReason,
};
pub use stop::{StopScope, TurnStop};
pub use tool_call::{InterceptToolCall, ToolCallAnswer, ToolCallDecision};
pub use tool_result::{InterceptToolResult, ToolResultChange, ToolResultDecision};
pub use turn_start::{InterceptTurnStart, TurnStartDecision};
pub use user_bash::{InterceptUserBash, UserBashDecision, UserBashResult};
pub use wait::{
    InterceptAgentEnd, InterceptAgentStart, InterceptMessageStart, InterceptSessionShutdown,
    InterceptSessionStart, InterceptToolEnd, InterceptTurnEnd, MessageRole, SessionShutdownReason,
    SessionStartReason,
};

/// One hook: its request, its decision, and the wire form of the decision.
pub trait InterceptHook: Into<Intercept> {
    /// The decision of the extension.
    type Decision: Send + 'static;

    /// The kind of the hook.
    const KIND: InterceptKind;

    /// Reads a response to this hook as a decision.
    ///
    /// # Errors
    /// [`AnswerError`] if the response does not fit the hook. The caller's failure policy then
    /// decides.
    fn read(response: EventInterceptResponse) -> Result<Self::Decision, AnswerError>;

    /// Converts a decision to its wire form.
    fn respond(decision: Self::Decision, id: RequestId) -> EventInterceptResponse;
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident($question:ident) = $event:literal,)*) => {
        /// The request of a hook; `event` on the wire.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "event")]
        pub enum Intercept {
            $($(#[$doc])* #[serde(rename = $event)] $hook($question),)*
        }

        impl Intercept {
            /// Returns the kind of the hook.
            pub const fn kind(&self) -> InterceptKind {
                match self { $(Self::$hook(_) => InterceptKind::$hook,)* }
            }

            fn from_fields<'de, D: Deserializer<'de>>(event: &str, fields: D) -> Result<Self, D::Error> {
                match event {
                    $($event => $question::deserialize(fields).map(Self::$hook),)*
                    _ => Err(D::Error::custom("unknown event")),
                }
            }

            fn from_line(event: &str, line: CheckedJson<'_>) -> Option<Result<Self, String>> {
                match event {
                    $($event => Some(read::read(line).map(Self::$hook)),)*
                    _ => None,
                }
            }
        }

        named_enum! {
            /// The names of the hooks.
            pub enum InterceptKind { $($(#[$doc])* $hook = $event,)* }
        }

        $(impl From<$question> for Intercept {
            fn from(question: $question) -> Self {
                Self::$hook(question)
            }
        })*
    };
}

impl Intercept {
    /// True if the response may contain a whole result or message, so that its line may have
    /// [`max_result_line`](crate::ext::Limits::max_result_line) bytes.
    pub fn has_long_answer(&self) -> bool {
        matches!(
            self,
            Self::ToolResult(_)
                | Self::MessageEnd(_)
                | Self::Context(_)
                | Self::Input(_)
                | Self::BeforeAgentStart(_)
                | Self::BeforeProviderRequest(_)
        )
    }
}

impl InterceptKind {
    /// True if the extension may have to call a model for its answer, which then has the time of a tool call.
    pub const fn may_call_model(self) -> bool {
        matches!(self, Self::BeforeCompact | Self::BeforeTree)
    }

    /// True if the extension may have to ask a person for its answer, which then has the time of a question to a person.
    pub const fn may_ask_person(self) -> bool {
        matches!(self, Self::Approve)
    }

    /// True if the action is blocked when the extension fails to decide, whatever its role is.
    pub const fn always_blocks(self) -> bool {
        matches!(self, Self::ToolCall | Self::UserBash | Self::Approve)
    }
}

hooks! {
    /// Before a tool runs.
    ToolCall(InterceptToolCall) = "tool_call",
    /// Before each request to the model.
    TurnStart(InterceptTurnStart) = "turn_start",
    /// Before the user sees the model's text.
    AssistantMessage(InterceptAssistantMessage) = "assistant_message",
    /// Before the agent works on a prompt. Needs the capability `before_agent_start`; zot's version
    /// 1 does not have it.
    BeforeAgentStart(InterceptBeforeAgentStart) = "before_agent_start",
    /// Before the conversation is compacted. Needs the capability `before_compact`; zot does not
    /// have it.
    BeforeCompact(InterceptBeforeCompact) = "before_compact",
    /// The session started. Only for the role `wait`.
    SessionStart(InterceptSessionStart) = "session_start",
    /// The session or the extension ends. Only for the role `wait`.
    SessionShutdown(InterceptSessionShutdown) = "session_shutdown",
    /// The agent begins to work on a prompt. Only for the role `wait`.
    AgentStart(InterceptAgentStart) = "agent_start",
    /// The agent has stopped. Only for the role `wait`.
    AgentEnd(InterceptAgentEnd) = "agent_end",
    /// A step is finished. Only for the role `wait`.
    TurnEnd(InterceptTurnEnd) = "turn_end",
    /// A message begins. Only for the role `wait`.
    MessageStart(InterceptMessageStart) = "message_start",
    /// A tool has finished. Only for the role `wait`.
    ToolEnd(InterceptToolEnd) = "tool_end",
    /// After a tool ran, before the model sees the result. Needs the capability `tool_result`; zot
    /// does not have it.
    ToolResult(InterceptToolResult) = "tool_result",
    /// Before an input of the user becomes a prompt. Needs the capability `input`; zot does not have
    /// it.
    Input(InterceptInput) = "input",
    /// Before the agent stops because no message waits. Needs the capability `before_settle`; zot does
    /// not have it.
    BeforeSettle(InterceptBeforeSettle) = "before_settle",
    /// Before each request to the model, with its messages, tools and options. Needs the capability
    /// `context`; zot does not have it.
    Context(InterceptContext) = "context",
    /// After an answer of the model, before it is stored. Needs the capability `message_end`; zot does
    /// not have it.
    MessageEnd(InterceptMessageEnd) = "message_end",
    /// Before an encoded request is sent to a provider. Needs the capability
    /// `before_provider_request`; zot does not have it.
    BeforeProviderRequest(InterceptBeforeProviderRequest) = "before_provider_request",
    /// Before a shell command of the person runs. Needs the capability `user_bash`; zot does not
    /// have it.
    UserBash(InterceptUserBash) = "user_bash",
    /// Before another session is opened. Needs the capability `before_switch`; zot does not have it.
    BeforeSwitch(InterceptBeforeSwitch) = "before_switch",
    /// Before the conversation is copied to a new session. Needs the capability `before_fork`; zot
    /// does not have it.
    BeforeFork(InterceptBeforeFork) = "before_fork",
    /// Before the session continues from another entry. Needs the capability `before_tree`; zot does
    /// not have it.
    BeforeTree(InterceptBeforeTree) = "before_tree",
    /// Before the first prompt of a session, and after a reload of extensions. Needs the capability
    /// `resources`; zot does not have it.
    Resources(InterceptResources) = "resources",
    /// Before a tool call runs that no interceptor of `tool_call` blocked. Needs the capability
    /// `approve`; zot does not have it.
    Approve(InterceptApprove) = "approve",
    /// Before the files of a project are used about whose trust the person has not decided. Needs the
    /// capability `project_trust`; zot does not have it.
    ProjectTrust(InterceptProjectTrust) = "project_trust",
}

/// A hook: the extension can stop or change the next action. The extension answers with
/// `event_intercept_response` within 5 s, for `approve`, `before_compact` and `before_tree` within
/// 60 s.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventIntercept {
    /// The id for the response.
    pub id: RequestId,
    /// The thing that is about to happen.
    #[serde(flatten)]
    pub intercept: Intercept,
}

// Written by hand, because serde's flatten and tags copy the body and would lose the exact text of
// the arguments.
impl<'de> Deserialize<'de> for EventIntercept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(OBJECT, EventInterceptVisitor)
    }
}

struct EventInterceptVisitor;

impl<'de> Visitor<'de> for EventInterceptVisitor {
    type Value = EventIntercept;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a question: a JSON object")
    }

    /// Reads a line in one pass if it begins as [`encode`](crate::codec::encode) writes it.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<EventIntercept, A::Error> {
        let IgnoredAny = read::first_field(&mut fields, "type")?;
        let id = read::first_field(&mut fields, "id")?;
        let event: &str = read::first_field(&mut fields, "event")?;
        let rest = MapAccessDeserializer::new(fields);
        Intercept::from_fields(event, rest).map(|intercept| EventIntercept { id, intercept })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<EventIntercept, D::Error> {
        #[derive(Deserialize)]
        struct InterceptHead {
            id: RequestId,
            event: String,
        }
        let text = JsonText::deserialize(deserializer)?;
        let InterceptHead { id, event } = read::read_nested(text.get())?;
        match Intercept::from_line(&event, text.get()) {
            Some(Ok(intercept)) => Ok(EventIntercept { id, intercept }),
            Some(Err(error)) => Err(D::Error::custom(error)),
            None => Err(D::Error::custom(format_args!("unknown event {event:?}"))),
        }
    }
}

/// The response to `event_intercept`, one frame for all hooks. The hook determines which fields
/// count. A response without other fields means "continue unchanged".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventInterceptResponse {
    /// The `id` of the `event_intercept`.
    pub id: RequestId,
    /// `true` blocks. Only `true` and `false` are valid, not `null`. Required for `approve` and the
    /// role `gate`; otherwise, absent means `false`.
    #[serde(default, deserialize_with = "yes_or_no", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub block: Option<bool>,
    /// The reason. The model reads it for `tool_call` and `approve`, the user for the other hooks.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// `tool_call`: the new arguments of the tool, an object. Ignored if `block` is true.
    #[serde(default, deserialize_with = "explicit_null", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub modified_args: Option<RawJson>,
    /// `tool_call`: repeats the tool of the request. Optional. Unless `block` is true, a response
    /// with another tool is a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// `tool_call`, with the capability `hooks_2`: the name of another tool to call, with
    /// `modified_args` or the same arguments. Counts before `block`. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    // The raw JSON, so that an extension without the capability may have a field of this name.
    pub modified_tool: Option<RawJson>,
    /// `assistant_message`: the text that the user sees instead. Empty means no change. Ignored if
    /// `block` is true.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub replace_text: String,
    /// `before_agent_start`: a section for the system prompt, added under the extension's name.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub append_system_prompt: String,
    /// `before_agent_start`: the whole system prompt, as newer zot extensions send it. It must
    /// begin with the prompt of the request; the host appends the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// `before_compact`: the summary that replaces the older conversation. `before_tree`: the summary
    /// of the branch that the session leaves. Empty means no summary of the extension. Ignored if
    /// `block` is true. Since haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// `before_compact`, with `summary`: the first entry that stays verbatim. Absent means the
    /// suggested one. The entry must have `may_begin`. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<String>,
    /// `tool_result`: the new content, an array of blocks as in the frame `tool_result`.
    /// `message_end`: all blocks of the answer. `tool_call`, with the capability `hooks_2`: the
    /// result of the call, so that the tool does not run. Since haft.
    #[serde(default, deserialize_with = "optional_array", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::array_schema"))]
    pub content: Option<RawJson>,
    /// `tool_result`: the new data for people and programs, an object. `tool_call`: the data of the
    /// result, with `content`. Since haft.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub details: Option<RawJson>,
    /// `tool_result`, and `tool_call` with `content`: true if the call counts as failed. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// `tool_result`, and `tool_call` with `content`: a text for the person, in addition to the
    /// content. For `tool_result`, an empty text removes the one of the tool. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub display: Option<RawJson>,
    /// `input`: the new text. Ignored if `handled` is true. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// `input`: the new images. Ignored if `handled` is true. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Image>>,
    /// `input`: true if the extension has handled the input, so that no prompt is sent.
    /// `tool_result`, and `tool_call` with `content`: true if the person has the result already. Since
    /// haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled: Option<bool>,
    /// `before_settle`: the message with which the run goes on. Empty means that the run ends. Since
    /// haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub go_on: String,
    /// `context`: all messages of the request, in the form of the session file.
    /// `before_agent_start`: messages that follow the prompt, each with the fields `kind`, `content`,
    /// `images`, `display` and `details` of `send_message`. Since haft.
    #[serde(default, deserialize_with = "optional_array", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::array_schema"))]
    pub messages: Option<RawJson>,
    /// `context`: another model for the request, `PROVIDER/MODEL` or an id at the same provider.
    /// Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    // The raw JSON, as in `stop`, because other hooks may have a field of this name.
    pub model: Option<RawJson>,
    /// `context`: the thinking level of the request. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::thinking::ThinkingLevel>"))]
    pub thinking: Option<RawJson>,
    /// `context`: the options of the request, in place of all others. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<RequestOptions>"))]
    pub options: Option<RawJson>,
    /// `context`: tools that the request offers in addition. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<RequestTool>>"))]
    pub tools: Option<RawJson>,
    /// `before_provider_request`: the new body, an object. Since haft.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub payload: Option<RawJson>,
    /// `before_provider_request`: headers to add to the request, by name. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Box<BTreeMap<String, String>>>,
    /// `user_bash`: the command that runs instead. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// `user_bash`: the result, so that the command does not run. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<UserBashResult>>,
    /// `resources`: the paths of skills. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    // The raw JSON, as in `stop`.
    pub skills: Option<RawJson>,
    /// `resources`: the paths of prompt templates. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub templates: Option<RawJson>,
    /// `project_trust`: the opinion about the project. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<TrustOpinion>"))]
    pub trust: Option<RawJson>,
    /// `project_trust`, with `"trust":"yes"`: true if the decision is stored. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub remember: Option<RawJson>,
    /// `tool_call`, `tool_result`, `context`, `message_end`: ends the turn for `reason`. Needs the
    /// capability `hooks_2`. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<StopScope>"))]
    // The raw JSON, so that an extension without the capability may have a field of this name.
    pub stop: Option<RawJson>,
    /// Not empty if the extension failed to decide. The host reports the error and treats it like a
    /// missing response, whatever the other fields contain. Since haft.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub error: String,
}

/// Reads a field whose type depends on the hook.
fn read_field<T: DeserializeOwned>(name: &str, field: Option<RawJson>) -> Result<Option<T>, AnswerError> {
    let read = field.map(|field| field.read()).transpose();
    read.map_err(|error| AnswerError::new(format!("{name}: {error}")))
}

/// Writes a field whose type depends on the hook.
fn write_field<T: Serialize>(field: Option<T>) -> Option<RawJson> {
    field.and_then(|field| RawJson::from_value(&field).ok())
}

/// Rejects an explicit `null`: a response with `block` must contain true or false.
fn yes_or_no<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(deserializer).map(Some)
}

/// Keeps an explicit `null` as a value: `"modified_args":null` is a wrong rewrite, not the absence
/// of a rewrite.
fn explicit_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl EventInterceptResponse {
    /// Creates a response that changes nothing.
    pub fn pass_through(id: RequestId) -> Self {
        Self {
            id,
            block: None,
            reason: String::new(),
            modified_args: None,
            tool_name: None,
            modified_tool: None,
            replace_text: String::new(),
            append_system_prompt: String::new(),
            system_prompt: None,
            summary: String::new(),
            first_kept: None,
            content: None,
            details: None,
            is_error: None,
            display: None,
            text: None,
            images: None,
            handled: None,
            go_on: String::new(),
            messages: None,
            model: None,
            thinking: None,
            options: None,
            tools: None,
            payload: None,
            headers: None,
            command: None,
            result: None,
            skills: None,
            templates: None,
            trust: None,
            remember: None,
            stop: None,
            error: String::new(),
        }
    }

    /// True if the response has a field of a hook with long answers, see
    /// [`Intercept::has_long_answer`].
    pub fn is_long_answer(&self) -> bool {
        [&self.content, &self.details, &self.messages, &self.payload].into_iter().any(Option::is_some)
            || self.images.is_some()
    }

    /// Returns the response without the fields that need the capability `hooks_2`.
    #[must_use]
    pub fn without_hooks_2(self, kind: InterceptKind) -> Self {
        match kind == InterceptKind::ToolCall {
            true => Self {
                stop: None,
                content: None,
                details: None,
                is_error: None,
                display: None,
                handled: None,
                modified_tool: None,
                ..self
            },
            false => Self { stop: None, ..self },
        }
    }

    /// True if the response blocks.
    pub fn is_blocking(&self) -> bool {
        self.block == Some(true)
    }

    /// Creates a response of a handler that failed. A host that does not know `error` reads it as a
    /// refusal if the hook allows refusals.
    pub fn failed(kind: InterceptKind, id: RequestId, error: impl Into<String>) -> Self {
        let mut error = error.into();
        if error.is_empty() {
            // An empty error would mean success.
            "no reason given".clone_into(&mut error);
        }
        let block = kind.always_blocks().then_some(true);
        let reason = if block.is_some() { error.clone() } else { String::new() };
        Self { block, reason, error, ..Self::pass_through(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::{HostQuery, QueryResponse};

    #[test]
    fn failure_without_reason_is_still_a_failure() {
        for kind in InterceptKind::ALL {
            let failed = EventInterceptResponse::failed(*kind, RequestId::new("1"), "");
            let answer =
                <InterceptTurnStart as HostQuery>::read_answer(QueryResponse::Intercept(failed.into()));
            assert_eq!(answer.unwrap_err().to_string(), "failed to decide: no reason given");
        }
    }
}
