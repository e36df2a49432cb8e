//! The dialect of PicoClaw's hooks: JSON-RPC 2.0, one object per line. The host calls; a hook only
//! replies.
//!
//! PicoClaw has used three variants of the dialect under one version number. Calls contain the
//! fields of all variants. Replies are read as PicoClaw reads them, and omitted fields keep their
//! values. The configuration of a hook selects one of two kinds of notifications, [`LegacyEvent`]
//! or [`RuntimeEvent`].
//!
//! * [`HookSubscriptions`]: the points and events of a hook, from its configuration;
//! * [`CallLine`], [`Call`], [`Method`]: the lines of the host ([`RawLine`] is an undecoded line);
//!   [`HookReply`], [`read_reply`]: the lines of a hook;
//! * [`HookQuestion`]: a call with a reply; its [`decide`](HookQuestion::decide) converts the reply
//!   to a decision;
//! * [`TurnEvent`], [`HookEventPayload`], [`HookEventKind`]: events, in both forms;
//! * [`texts`]: texts for the model and the user in PicoClaw's own words.
//!
//! ```
//! use haft_protocol::codec::PlainSpan;
//! use haft_adapter_picoclaw::wire::{self, BeforeTool, CallLine, HookQuestion, ToolDecision};
//!
//! let question = BeforeTool { tool: "bash".into(), ..BeforeTool::default() };
//! let line = CallLine::request(4, question.clone()).encode()?;
//! assert!(line.starts_with(r#"{"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{"meta":"#));
//!
//! let answer = br#"{"jsonrpc":"2.0","id":4,"result":{"action":"deny_tool","reason":"not here"}}"#;
//! let reply = wire::read_reply(answer, wire::BOUNDS, PlainSpan::default())?;
//! let decided = question.decide(&reply.outcome?)?;
//! assert_eq!(decided.decision, ToolDecision::Deny { reason: "not here".into() });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod action;
mod after_llm;
mod after_tool;
mod approve_tool;
mod before_llm;
mod before_tool;
mod call;
mod context;
mod envelope;
mod event;
mod fold;
mod hello;
mod message;
mod method;
mod modes;
mod observed_events;
mod outline;
mod question;
mod results;
pub mod texts;

pub use action::HookAction;
pub use after_llm::{AfterLlm, ChangedResponse, PartialResponse, ResponseDecision, ResponseReply};
pub use after_tool::{AfterTool, ChangedResult, PartialResult, ResultDecision, ResultReply};
pub use approve_tool::{ApprovalDecision, ApprovalReply, ApproveTool};
pub use before_llm::{BeforeLlm, LlmDecision, LlmEdit, LlmOptions, LlmReply, MessageEdit, PartialRequest};
pub use before_tool::{BeforeTool, PartialCall, ToolDecision, ToolReply};
pub use call::{Call, CallLine, RawLine};
pub use context::{AgentRoute, InboundMessage, SessionScope, TurnContext, TurnMeta};
pub use envelope::{BOUNDS, HookReply, JsonRpcVersion, RpcError, UnreadableLine, read_reply};
pub use event::{
    ContextCompress, ErrorEvent, EventAttributes, EventCorrelation, EventForm, EventScope, EventSeverity,
    EventSource, FollowUpQueued, HookEventKind, HookEventPayload, InterruptReceived, LegacyEvent, LegacyKind,
    LlmDelta, LlmRequest, LlmResponded, LlmRetry, RuntimeEvent, SessionSummarize, SkillSnapshot,
    SteeringInjected, SubTurnEnd, SubTurnOrphan, SubTurnResultDelivered, SubTurnSpawn, ToolExecEnd,
    ToolExecSkipped, ToolExecStart, ToolExecution, TurnEnd, TurnEvent, TurnStart,
};
pub use fold::read;
pub use hello::{HelloReply, HookHello, VERSION};
pub use message::{
    Attachment, FunctionCall, FunctionDefinition, HookMessage, HookToolCall, HookToolResult, LlmResponse,
    SystemPart, ToolDefinition, UsageInfo,
};
pub use method::Method;
pub use modes::{HookMode, HookSubscriptions, InterceptPoint, WatchError};
pub use observed_events::{ObservedEvents, UnsupportedEvent};
pub use question::{HookQuestion, MalformedReply, ParsedDecision};
pub use results::HookResults;

use serde::Deserializer;

use haft_protocol::RawJson;
use haft_protocol::foreign::optional_object;

/// Reads the arguments of a tool: an object, or `{}` for `null`.
fn deserialize_arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RawJson, D::Error> {
    Ok(optional_object(deserializer)?.unwrap_or_else(RawJson::empty_object))
}
