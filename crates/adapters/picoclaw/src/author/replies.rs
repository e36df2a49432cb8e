//! Encodes decisions as replies, in the form that PicoClaw needs.
//!
//! The payload of `modify` has the shape of the params, so it is the changed params:
//! [`echo_params`]. The nested `result.response.response` and `result.result.result` follow from
//! that.

use crate::wire::{
    self, AfterLlm, AfterTool, ApprovalDecision, ApprovalReply, ApproveTool, BeforeLlm, BeforeTool,
    HookAction, HookQuestion, HookToolResult, ResponseDecision, ResultDecision, ToolDecision,
};
use haft_protocol::RawJson;
use haft_protocol::limits::MAX_LINE;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Hook;
use super::echo::{echo_params, without_field};

/// The decision of a hook about a request to the model.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestDecision {
    /// Sends the request unchanged.
    Continue,
    /// Sends this request: the original one with changes.
    Modify(Box<BeforeLlm>),
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

impl RequestDecision {
    /// Sends this request: the original one with changes.
    pub fn modify(call: BeforeLlm) -> Self {
        Self::Modify(Box::new(call))
    }

    /// Ends the turn with an error.
    pub fn abort_turn(reason: impl Into<String>) -> Self {
        Self::AbortTurn { reason: reason.into() }
    }

    /// Ends the turn and discards all of it.
    pub fn hard_abort(reason: impl Into<String>) -> Self {
        Self::HardAbort { reason: reason.into() }
    }
}

/// A call that is answered with a decision.
pub(super) trait AnswerableCall: HookQuestion + DeserializeOwned + Send + 'static {
    type Answer: Send + 'static;

    fn default_answer() -> Self::Answer;

    fn encode_reply(answer: Self::Answer, params: &RawJson, hook: &Hook) -> Result<RawJson, String>;
}

/// The result of an interceptor, with at most one payload.
#[derive(Debug, Default, Serialize)]
struct InterceptReply {
    action: HookAction,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<RawJson>,
}

impl InterceptReply {
    fn with_reason(action: HookAction, reason: String) -> Self {
        Self { action, reason, ..Self::default() }
    }

    fn with_modify_action() -> Self {
        Self { action: HookAction::Modify, ..Self::default() }
    }

    fn to_json(&self) -> Result<RawJson, String> {
        RawJson::from_value(self).map_err(|error| error.to_string())
    }
}

/// Returns the params after `change`; `None` if nothing changed.
fn changed_params<Q: HookQuestion + DeserializeOwned + Clone + PartialEq>(
    params: &RawJson,
    always: &[&str],
    change: impl FnOnce(&mut Q),
) -> Result<Option<RawJson>, String> {
    let old: Q = wire::read(params)?;
    let mut new = old.clone();
    change(&mut new);
    if old == new {
        return Ok(None);
    }
    echo_params(params, &old, &new, always).map(Some).map_err(|error| error.to_string())
}

/// The longest request that PicoClaw reads. After a longer line it reads nothing more.
const LONGEST_REQUEST: usize = MAX_LINE - 1024;

impl AnswerableCall for BeforeLlm {
    type Answer = RequestDecision;

    fn default_answer() -> RequestDecision {
        RequestDecision::Continue
    }

    fn encode_reply(answer: RequestDecision, params: &RawJson, hook: &Hook) -> Result<RawJson, String> {
        let call = match answer {
            RequestDecision::Continue => None,
            RequestDecision::Modify(call) => Some(call),
            RequestDecision::AbortTurn { reason } => {
                return InterceptReply::with_reason(HookAction::AbortTurn, reason).to_json();
            }
            RequestDecision::HardAbort { reason } => {
                return InterceptReply::with_reason(HookAction::HardAbort, reason).to_json();
            }
        };
        let mut same_messages = true;
        let change = |own: &mut Self| {
            if let Some(call) = call {
                same_messages = own.messages == call.messages;
                *own = *call;
            }
            if !own.graceful_terminal {
                hook.tool_definitions().for_each(|tool| own.add_tool(tool));
            }
        };
        let request = changed_params(params, &["model", "messages", "tools"], change)?;
        let Some(request) = request else { return InterceptReply::default().to_json() };
        let request = match request.as_str().len() > LONGEST_REQUEST && same_messages {
            // haft, and PicoClaw since 0.2.8, keep the messages if the request has none.
            true => without_field(&request, "messages").map_err(|error| error.to_string())?,
            false => request,
        };
        InterceptReply { request: Some(request), ..InterceptReply::with_modify_action() }.to_json()
    }
}

impl AnswerableCall for AfterLlm {
    type Answer = ResponseDecision;

    fn default_answer() -> ResponseDecision {
        ResponseDecision::Continue
    }

    fn encode_reply(answer: ResponseDecision, params: &RawJson, _: &Hook) -> Result<RawJson, String> {
        match answer {
            ResponseDecision::Continue => InterceptReply::default(),
            ResponseDecision::Modify(response) => {
                let change = |own: &mut Self| own.response = *response;
                match changed_params(params, &["model", "response"], change)? {
                    Some(response) => {
                        InterceptReply { response: Some(response), ..InterceptReply::with_modify_action() }
                    }
                    None => InterceptReply::default(),
                }
            }
            ResponseDecision::AbortTurn { reason } => {
                InterceptReply::with_reason(HookAction::AbortTurn, reason)
            }
            ResponseDecision::HardAbort { reason } => {
                InterceptReply::with_reason(HookAction::HardAbort, reason)
            }
        }
        .to_json()
    }
}

impl AnswerableCall for BeforeTool {
    type Answer = ToolDecision;

    fn default_answer() -> ToolDecision {
        ToolDecision::Continue
    }

    fn encode_reply(answer: ToolDecision, params: &RawJson, _: &Hook) -> Result<RawJson, String> {
        match answer {
            ToolDecision::Continue => InterceptReply::default(),
            ToolDecision::Modify { tool, arguments } => {
                if let Some(arguments) = arguments.as_ref().filter(|arguments| !arguments.is_object()) {
                    return Err(format!("arguments of a tool must be an object, not {arguments}"));
                }
                let change = |own: &mut Self| {
                    own.tool = tool.unwrap_or_else(|| own.tool.clone());
                    own.arguments = arguments.unwrap_or_else(|| own.arguments.clone());
                };
                match changed_params(params, &["tool", "arguments"], change)? {
                    Some(call) => InterceptReply { call: Some(call), ..InterceptReply::with_modify_action() },
                    None => InterceptReply::default(),
                }
            }
            ToolDecision::Respond(result) => respond_reply(&result)?,
            ToolDecision::Deny { reason } => InterceptReply::with_reason(HookAction::DenyTool, reason),
            ToolDecision::AbortTurn { reason } => InterceptReply::with_reason(HookAction::AbortTurn, reason),
            ToolDecision::HardAbort { reason } => InterceptReply::with_reason(HookAction::HardAbort, reason),
        }
        .to_json()
    }
}

fn respond_reply(result: &HookToolResult) -> Result<InterceptReply, String> {
    let result = RawJson::from_value(result).map_err(|error| error.to_string())?;
    Ok(InterceptReply { action: HookAction::Respond, result: Some(result), ..InterceptReply::default() })
}

impl AnswerableCall for AfterTool {
    type Answer = ResultDecision;

    fn default_answer() -> ResultDecision {
        ResultDecision::Continue
    }

    fn encode_reply(answer: ResultDecision, params: &RawJson, _: &Hook) -> Result<RawJson, String> {
        match answer {
            ResultDecision::Continue => InterceptReply::default(),
            ResultDecision::Modify(result) => {
                match changed_params(params, &["tool", "arguments", "result"], |own: &mut Self| {
                    own.result = result
                })? {
                    Some(result) => {
                        InterceptReply { result: Some(result), ..InterceptReply::with_modify_action() }
                    }
                    None => InterceptReply::default(),
                }
            }
            ResultDecision::AbortTurn { reason } => {
                InterceptReply::with_reason(HookAction::AbortTurn, reason)
            }
            ResultDecision::HardAbort { reason } => {
                InterceptReply::with_reason(HookAction::HardAbort, reason)
            }
        }
        .to_json()
    }
}

impl AnswerableCall for ApproveTool {
    type Answer = ApprovalDecision;

    /// Denies with a reason, because PicoClaw takes an empty reply for a denial without one.
    fn default_answer() -> ApprovalDecision {
        ApprovalDecision::deny(
            "this hook has no approve_tool handler; remove approve_tool from its intercept list",
        )
    }

    fn encode_reply(answer: ApprovalDecision, _: &RawJson, _: &Hook) -> Result<RawJson, String> {
        let (approved, reason) = match answer {
            ApprovalDecision::Approve => (true, String::new()),
            ApprovalDecision::Deny { reason } => (false, reason),
        };
        RawJson::from_value(&ApprovalReply { approved, reason }).map_err(|error| error.to_string())
    }
}
