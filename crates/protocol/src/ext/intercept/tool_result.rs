//! `tool_result`: an extension changes the result of a tool call before the model sees it.
//!
//! ```json
//! {"type":"event_intercept","id":"6","event":"tool_result","tool_id":"t1","tool_name":"bash","tool_args":{"command":"env"},"content":[{"type":"text","text":"KEY=abc"}],"is_error":false,"duration_ms":12}
//! {"type":"event_intercept_response","id":"6","content":[{"type":"text","text":"KEY=[hidden]"}]}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, TurnStop, read_field, write_field};
use crate::ext::answer_error::AnswerError;
use crate::ext::tool::ResultBlock;
use crate::ids::{RequestId, ToolCallId};
use crate::json::{RawJson, optional_object};
use crate::read::null_is_default;

/// After a tool ran, before the model sees the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptToolResult {
    /// The model's id of the call; for a `host_call`, an id of the host.
    pub tool_id: ToolCallId,
    /// The name of the tool.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub tool_name: String,
    /// The arguments with which the tool ran.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub tool_args: RawJson,
    /// The current content: that of the tool, or that of an earlier interceptor.
    pub content: Vec<ResultBlock>,
    /// The data for people and programs, if there is any.
    #[serde(default, deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub details: Option<RawJson>,
    /// True if the call failed.
    pub is_error: bool,
    /// A text for the person, in addition to the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display: Option<String>,
    /// True if the person has the result already.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "std::ops::Not::not")]
    pub handled: bool,
    /// The duration of the call in milliseconds.
    pub duration_ms: u64,
}

/// The decision about a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolResultDecision {
    /// The result stays as it is.
    Unchanged,
    /// The result changes.
    Change(ToolResultChange),
    /// Ends the turn.
    Stop(TurnStop),
}

/// The changed parts of a result; `None` keeps a part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResultChange {
    /// The new content for the model. Without new details, the details are dropped, because they
    /// would show what the content no longer shows.
    pub content: Option<Vec<ResultBlock>>,
    /// The new data for people and programs, an object.
    pub details: Option<RawJson>,
    /// True if the call counts as failed.
    pub is_error: Option<bool>,
    /// A text for the person, in addition to the content. An empty text removes the one of the tool.
    pub display: Option<String>,
    /// True if the person has the result already. If that is true of all calls of a message, the run
    /// ends without another request, unless a message of the user waits.
    pub handled: Option<bool>,
}

impl InterceptHook for InterceptToolResult {
    type Decision = ToolResultDecision;

    const KIND: InterceptKind = InterceptKind::ToolResult;

    fn read(mut response: EventInterceptResponse) -> Result<ToolResultDecision, AnswerError> {
        if let Some(stop) = TurnStop::read(&mut response)? {
            return Ok(ToolResultDecision::Stop(stop));
        }
        if response.is_blocking() {
            return Err(AnswerError::new("tool_result cannot block; intercept tool_call for that"));
        }
        let EventInterceptResponse { content, details, is_error, display, handled, .. } = response;
        let (content, display) = (read_field("content", content)?, read_field("display", display)?);
        Ok(ToolResultChange { content, details, is_error, display, handled }.into())
    }

    fn respond(decision: ToolResultDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            ToolResultDecision::Unchanged => {}
            ToolResultDecision::Change(ToolResultChange { content, details, is_error, display, handled }) => {
                (response.content, response.display) = (write_field(content), write_field(display));
                (response.details, response.is_error, response.handled) = (details, is_error, handled);
            }
            ToolResultDecision::Stop(stop) => stop.write(&mut response),
        }
        response
    }
}

impl From<ToolResultChange> for ToolResultDecision {
    fn from(change: ToolResultChange) -> Self {
        if change == ToolResultChange::default() { Self::Unchanged } else { Self::Change(change) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<ToolResultDecision, &str>) {
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        let got = InterceptToolResult::read(response);
        assert_eq!(got.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{fields}");
    }

    #[test]
    fn reads_each_part_of_a_change() {
        check("", Ok(ToolResultDecision::Unchanged));
        check(r#","content":null,"details":null,"is_error":null"#, Ok(ToolResultDecision::Unchanged));
        let content = Some(vec![ResultBlock::Text { text: "x".into() }]);
        check(
            r#","content":[{"type":"text","text":"x"}]"#,
            Ok(ToolResultChange { content, ..ToolResultChange::default() }.into()),
        );
        let empty = ToolResultChange { content: Some(Vec::new()), ..ToolResultChange::default() };
        check(r#","content":[]"#, Ok(ToolResultDecision::Change(empty)));
        let details = Some(RawJson::parse(r#"{"n":1}"#).unwrap());
        check(
            r#","details":{"n":1},"is_error":false"#,
            Ok(ToolResultChange { details, is_error: Some(false), ..ToolResultChange::default() }.into()),
        );
        let (display, handled) = (Some(String::new()), Some(false));
        check(
            r#","display":"","handled":false"#,
            Ok(ToolResultChange { display, handled, ..ToolResultChange::default() }.into()),
        );
    }

    #[test]
    fn rejects_block_and_wrong_content() {
        check(r#","block":true"#, Err("tool_result cannot block; intercept tool_call for that"));
        let response = serde_json::from_str(r#"{"id":"1","content":["x"]}"#).unwrap();
        let error = InterceptToolResult::read(response).unwrap_err().to_string();
        assert!(error.starts_with("content: "), "{error}");
    }
}
