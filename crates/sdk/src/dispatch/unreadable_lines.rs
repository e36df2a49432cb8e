//! Unreadable lines: a request is answered with an error; all other lines go to the log.
//!
//! The host may read the same line differently (duplicate keys, deep nesting), often because a
//! model wrote the value. Running a tool on such a value, or allowing it in a gate, would be wrong.
//! Ending the extension would be worse.

use haft_protocol::error::DecodeError;
use haft_protocol::ext::{
    CallTool, EventInterceptResponse, InterceptToolCall, InvokeCommand, QueryCompletions,
};
use haft_protocol::ids::RequestId;
use serde::Deserialize;
use serde_json::Value;

use super::responder::{HostQuestion, QuestionResponder};
use crate::handler::HandlerFailure;
use crate::logging::log;
use crate::outbox::FrameOutbox;

/// The fields that identify a request, read as leniently as JSON allows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct QuestionHead {
    #[serde(rename = "type")]
    kind: Value,
    id: Value,
    event: Value,
}

/// Answers the request in an unreadable line, if it contains one.
pub(crate) fn answer_unreadable_line(line: &[u8], error: &DecodeError, outbox: &FrameOutbox) {
    log(format_args!("line from the host cannot be read: {error}"));
    // Through `Value`, which keeps the last of two equal keys.
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    let head: QuestionHead = serde_json::from_value(value).unwrap_or_default();
    let Some(id) = head.id.as_str().map(RequestId::new) else { return };
    match (head.kind.as_str().unwrap_or_default(), head.event.as_str().unwrap_or_default()) {
        ("command_invoked", _) => refuse_question::<InvokeCommand>(id, error, outbox),
        ("command_completions", _) => refuse_question::<QueryCompletions>(id, error, outbox),
        ("tool_call", _) => refuse_question::<CallTool>(id, error, outbox),
        ("event_intercept", "tool_call") => refuse_question::<InterceptToolCall>(id, error, outbox),
        ("event_intercept", _) => outbox.push(EventInterceptResponse::pass_through(id)),
        _ => {}
    }
}

fn refuse_question<Q: HostQuestion>(id: RequestId, error: &DecodeError, outbox: &FrameOutbox) {
    QuestionResponder::<Q>::new(outbox.clone(), id)
        .respond(Err(HandlerFailure(format!("request cannot be read: {error}"))));
}
