//! `approve`: an extension approves or blocks a tool call that is about to run.
//!
//! ```json
//! {"type":"event_intercept","id":"2","event":"approve","tool_id":"t1","tool_name":"bash","tool_args":{"command":"git push"}}
//! {"type":"event_intercept_response","id":"2","block":false}
//! {"type":"event_intercept_response","id":"2","block":true,"reason":"not on a Friday"}
//! ```

use serde::{Deserialize, Serialize};

use super::{EventInterceptResponse, InterceptHook, InterceptKind};
use crate::content::ResolvedPath;
use crate::ext::answer_error::AnswerError;
use crate::ids::{ExtensionName, RequestId, ToolCallId};
use crate::json::RawJson;

/// Before a call runs that no interceptor of `tool_call` blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterceptApprove {
    /// The model's id of the call; for a `host_call`, an id of the host.
    pub tool_id: ToolCallId,
    /// The name of the tool that runs.
    #[serde(deserialize_with = "crate::ids::printable")]
    pub tool_name: String,
    /// The arguments with which the tool runs. Arguments of built-in tools are in their canonical
    /// form.
    #[serde(deserialize_with = "crate::json::object")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::json::object_schema"))]
    pub tool_args: RawJson,
    /// The extension that runs the tool with `host_call`; absent for calls of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<ExtensionName>,
    /// The places that the path arguments of a built-in tool mean. Empty for tools without paths and
    /// for tools of extensions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved_paths: Vec<ResolvedPath>,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApproveDecision {
    /// The extension approves the call.
    Approve,
    /// The call does not run.
    Block {
        /// The text for the model.
        reason: String,
    },
}

impl InterceptHook for InterceptApprove {
    type Decision = ApproveDecision;

    const KIND: InterceptKind = InterceptKind::Approve;

    fn read(response: EventInterceptResponse) -> Result<ApproveDecision, AnswerError> {
        match response.block {
            Some(true) => Ok(ApproveDecision::Block { reason: response.reason }),
            Some(false) => Ok(ApproveDecision::Approve),
            // A misspelled block must not count as an approval.
            None => Err(AnswerError::new("sent no decision; set `block` to true or false")),
        }
    }

    fn respond(decision: ApproveDecision, id: RequestId) -> EventInterceptResponse {
        let (block, reason) = match decision {
            ApproveDecision::Approve => (false, String::new()),
            ApproveDecision::Block { reason } => (true, reason),
        };
        EventInterceptResponse { block: Some(block), reason, ..EventInterceptResponse::pass_through(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &str, expect: Result<ApproveDecision, &str>) {
        let response = serde_json::from_str(&format!(r#"{{"id":"1"{fields}}}"#)).unwrap();
        let got = InterceptApprove::read(response);
        assert_eq!(got.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{fields}");
    }

    #[test]
    fn only_an_explicit_decision_counts() {
        check(r#","block":false,"reason":"fine""#, Ok(ApproveDecision::Approve));
        check(r#","block":true,"reason":"no""#, Ok(ApproveDecision::Block { reason: "no".into() }));
        check(r#","block":true"#, Ok(ApproveDecision::Block { reason: String::new() }));
        let missing = Err("sent no decision; set `block` to true or false");
        check("", missing.clone());
        check(r#","approved":false"#, missing);
    }
}
