//! `tool_call`: an extension allows, changes or blocks a tool call.
//!
//! ```json
//! {"type":"event_intercept","id":"1","event":"tool_call","tool_id":"t1","tool_name":"bash","tool_args":{"command":"ls"}}
//! {"type":"event_intercept_response","id":"1","modified_args":{"command":"ls -1"}}
//! {"type":"event_intercept_response","id":"1","modified_tool":"ls","modified_args":{}}
//! {"type":"event_intercept_response","id":"1","content":[{"type":"text","text":"a.txt"}]}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind, TurnStop, read_field, write_field};
use crate::content::ResolvedPath;
use crate::ext::answer_error::AnswerError;
use crate::ext::tool::{ResultBlock, joined_result_text};
use crate::ids::{ExtensionName, RequestId, ToolCallId};
use crate::json::RawJson;

/// Before a tool runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptToolCall {
    /// The model's id of the call; for a `host_call`, an id of the host.
    pub tool_id: ToolCallId,
    /// The name of the tool.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub tool_name: String,
    /// The current arguments: the model's, or those of an earlier interceptor. Arguments of built-in
    /// tools are in their canonical form.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub tool_args: RawJson,
    /// The extension that runs the tool with `host_call`. Absent for calls of the model, and for
    /// interceptors without `host_services`. Since haft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<ExtensionName>,
    /// The places that the path arguments of a built-in tool mean. Empty for tools without paths and
    /// for tools of extensions. Since haft.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved_paths: Vec<ResolvedPath>,
}

/// The meaning of a response to `tool_call`, before the host validates it for the role of the
/// extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCallDecision {
    /// Runs the call with the original arguments.
    Allow,
    /// Runs the call with these arguments.
    Rewrite {
        /// An object that fits the tool's schema.
        args: RawJson,
    },
    /// Calls another tool instead. The conversation keeps the call of the model.
    Redirect {
        /// The name of a tool that the model is offered.
        tool: String,
        /// An object that fits the schema of that tool; `None` keeps the arguments.
        args: Option<RawJson>,
    },
    /// Blocks the call.
    Block {
        /// The text for the model.
        reason: String,
    },
    /// Uses this result. The tool does not run.
    Answer(Box<ToolCallAnswer>),
    /// Ends the turn. The call does not run.
    Stop(TurnStop),
}

/// The result of a call that an extension answers in place of the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCallAnswer {
    /// The content for the model.
    pub content: Vec<ResultBlock>,
    /// The data for people and programs, an object.
    pub details: Option<RawJson>,
    /// True if the call counts as failed.
    pub is_error: bool,
    /// A text for the person, in addition to the content.
    pub display: Option<String>,
    /// True if the person has the result already. If that is true of all calls of a message, the run
    /// ends without another request, unless a message of the user waits.
    pub handled: bool,
}

impl InterceptHook for InterceptToolCall {
    type Decision = ToolCallDecision;

    const KIND: InterceptKind = InterceptKind::ToolCall;

    fn read(mut response: EventInterceptResponse) -> Result<ToolCallDecision, AnswerError> {
        // Hosts without the capability `hooks_2` read these three as a block.
        if let Some(stop) = TurnStop::read(&mut response)? {
            return Ok(ToolCallDecision::Stop(stop));
        }
        if let Some(content) = read_field("content", response.content.take())? {
            let answer = ToolCallAnswer {
                content,
                details: response.details,
                is_error: response.is_error.unwrap_or_default(),
                display: read_field("display", response.display)?,
                handled: response.handled.unwrap_or_default(),
            };
            return Ok(ToolCallDecision::Answer(answer.into()));
        }
        let other = read_field("modified_tool", response.modified_tool.take())?;
        if response.is_blocking() && other.is_none() {
            return Ok(ToolCallDecision::Block { reason: response.reason });
        }
        let args = response.modified_args;
        if let Some(wrong) = args.as_ref().filter(|args| !args.is_object()) {
            let start: String = wrong.as_str().chars().take(40).collect();
            return Err(AnswerError::new(format!("modified_args must be a JSON object, not {start}")));
        }
        Ok(match (other, args) {
            (Some(tool), args) => ToolCallDecision::Redirect { tool, args },
            (None, Some(args)) => ToolCallDecision::Rewrite { args },
            (None, None) => ToolCallDecision::Allow,
        })
    }

    fn respond(decision: ToolCallDecision, id: RequestId) -> EventInterceptResponse {
        let mut response = EventInterceptResponse::pass_through(id);
        match decision {
            ToolCallDecision::Allow => {}
            ToolCallDecision::Rewrite { args } => response.modified_args = Some(args),
            ToolCallDecision::Redirect { tool, args } => {
                response.block = Some(true);
                response.reason = format!("this version of the host cannot call {tool} instead");
                response.modified_tool = write_field(Some(tool));
                response.modified_args = args;
            }
            ToolCallDecision::Block { reason } => {
                response.block = Some(true);
                response.reason = reason;
            }
            ToolCallDecision::Answer(answer) => {
                let ToolCallAnswer { content, details, is_error, display, handled } = *answer;
                response.block = Some(true);
                response.reason = joined_result_text(&content);
                response.content = RawJson::from_value(&content).ok();
                (response.details, response.is_error) = (details, is_error.then_some(true));
                (response.display, response.handled) = (write_field(display), handled.then_some(true));
            }
            ToolCallDecision::Stop(stop) => {
                response.block = Some(true);
                stop.write(&mut response);
            }
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::StopScope;

    #[track_caller]
    fn check(fields: &str, expect: Result<ToolCallDecision, &str>) {
        let response: EventInterceptResponse =
            serde_json::from_str(&format!(r#"{{"id":"1",{fields}}}"#)).unwrap();
        let read = InterceptToolCall::read(response.clone());
        match (read, expect) {
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (read, expect) => {
                assert_eq!(read.map_err(|error| error.to_string()), expect.map_err(str::to_owned))
            }
        }
        let decision = InterceptToolCall::read(response);
        if let Ok(decision) = decision {
            let again = InterceptToolCall::respond(decision.clone(), RequestId::new("1"));
            assert_eq!(InterceptToolCall::read(again), Ok(decision), "{fields}");
        }
    }

    fn stop(scope: StopScope, reason: &str) -> Result<ToolCallDecision, &'static str> {
        Ok(ToolCallDecision::Stop(TurnStop { scope, reason: reason.into() }))
    }

    #[test]
    fn stop_counts_before_content_and_block() {
        check(r#""stop":"turn","reason":"no""#, stop(StopScope::Turn, "no"));
        check(r#""stop":"discard","block":true,"content":[]"#, stop(StopScope::Discard, ""));
        check(r#""block":true,"reason":"no""#, Ok(ToolCallDecision::block("no")));
        check(r#""stop":"run""#, Err("stop: unknown variant"));
        check(r#""stop":null"#, Ok(ToolCallDecision::Allow));
    }

    #[test]
    fn content_is_the_result() {
        let content = vec![ResultBlock::Text { text: "x".into() }];
        let answer = ToolCallAnswer { content, is_error: true, ..ToolCallAnswer::default() };
        let answer = Ok(ToolCallDecision::Answer(answer.into()));
        check(
            r#""content":[{"type":"text","text":"x"}],"is_error":true,"block":true,"modified_args":{}"#,
            answer,
        );
        let (display, handled) = (Some("Shown.".to_owned()), true);
        let answer = ToolCallAnswer { display, handled, ..ToolCallAnswer::default() };
        check(
            r#""content":[],"display":"Shown.","handled":true"#,
            Ok(ToolCallDecision::Answer(answer.into())),
        );
        check(r#""content":["x"]"#, Err("content: "));
        check(r#""content":[],"display":1"#, Err("display: "));
        check(r#""is_error":true"#, Ok(ToolCallDecision::Allow));
    }

    #[test]
    fn another_tool_gets_its_own_or_the_old_arguments() {
        let redirect = |args: Option<&str>| {
            let args = args.map(|args| RawJson::parse(args).unwrap());
            Ok(ToolCallDecision::Redirect { tool: "ls".into(), args })
        };
        check(r#""modified_tool":"ls""#, redirect(None));
        check(r#""modified_tool":"ls","modified_args":{"a":1}"#, redirect(Some(r#"{"a":1}"#)));
        check(r#""modified_tool":"ls","block":true,"reason":"no""#, redirect(None));
        check(r#""modified_tool":null"#, Ok(ToolCallDecision::Allow));
        check(r#""modified_tool":7"#, Err("modified_tool: "));
        check(r#""modified_tool":"ls","modified_args":[]"#, Err("modified_args must be a JSON object"));
    }

    #[test]
    fn response_without_the_capability_has_the_old_meaning() {
        let fields = r#"{"id":"1","stop":7,"content":[],"details":{},"is_error":true,"display":[],"handled":true,"modified_tool":7,"modified_args":{"a":1}}"#;
        let response: EventInterceptResponse = serde_json::from_str(fields).unwrap();
        let read = InterceptToolCall::read(response.without_hooks_2(InterceptKind::ToolCall));
        let args = RawJson::parse(r#"{"a":1}"#).unwrap();
        assert_eq!(read, Ok(ToolCallDecision::Rewrite { args }));
    }
}
