//! Decisions as replies: what each means on the wire, in the form that PicoClaw needs.
//!
//! The payload of `modify` has the shape of the params, so it is the params again: [`echo`]. That makes the nested
//! `result.response.response` and `result.result.result` of themselves.

use haft_protocol::RawJson;
use haft_protocol::hook::{
    self, Action, AfterLlm, AfterTool, ApprovalDecision, ApprovalReply, ApproveTool, BeforeLlm, BeforeTool,
    Question, ResponseDecision, ResultDecision, ToolDecision, ToolResult,
};
use haft_protocol::limits::MAX_LINE;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Hook;
use super::echo::{echo, without};

/// The decision of a hook about a call of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestDecision {
    /// It is made as it is.
    Continue,
    /// This call is made: the one that was asked about, changed.
    Modify(Box<BeforeLlm>),
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

impl RequestDecision {
    /// This call is made: the one that was asked about, changed.
    pub fn modify(call: BeforeLlm) -> Self {
        Self::Modify(Box::new(call))
    }

    /// The turn ends with an error.
    pub fn abort_turn(reason: impl Into<String>) -> Self {
        Self::AbortTurn { reason: reason.into() }
    }

    /// The turn ends and nothing of it stays.
    pub fn hard_abort(reason: impl Into<String>) -> Self {
        Self::HardAbort { reason: reason.into() }
    }
}

/// A call that has a decision for an answer.
pub(super) trait Asked: Question + DeserializeOwned + Send + 'static {
    type Answer: Send + 'static;

    fn unasked() -> Self::Answer;

    fn reply(answer: Self::Answer, params: &RawJson, hook: &Hook) -> Result<RawJson, String>;
}

/// The result of an interceptor, with one payload at most.
#[derive(Debug, Default, Serialize)]
struct Interception {
    action: Action,
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

impl Interception {
    fn because(action: Action, reason: String) -> Self {
        Self { action, reason, ..Self::default() }
    }

    fn modify() -> Self {
        Self { action: Action::Modify, ..Self::default() }
    }

    fn written(&self) -> Result<RawJson, String> {
        RawJson::from_value(self).map_err(|error| error.to_string())
    }
}

/// The params with what `change` makes of the question; `None` when that is nothing.
fn changed<Q: Question + DeserializeOwned + Clone + PartialEq>(
    params: &RawJson,
    always: &[&str],
    change: impl FnOnce(&mut Q),
) -> Result<Option<RawJson>, String> {
    let old: Q = hook::read(params)?;
    let mut new = old.clone();
    change(&mut new);
    if old == new {
        return Ok(None);
    }
    echo(params, &old, &new, always).map(Some).map_err(|error| error.to_string())
}

/// The longest request that PicoClaw reads; a longer line ends its reading for good.
const LONGEST_REQUEST: usize = MAX_LINE - 1024;

impl Asked for BeforeLlm {
    type Answer = RequestDecision;

    fn unasked() -> RequestDecision {
        RequestDecision::Continue
    }

    fn reply(answer: RequestDecision, params: &RawJson, hook: &Hook) -> Result<RawJson, String> {
        let call = match answer {
            RequestDecision::Continue => None,
            RequestDecision::Modify(call) => Some(call),
            RequestDecision::AbortTurn { reason } => {
                return Interception::because(Action::AbortTurn, reason).written();
            }
            RequestDecision::HardAbort { reason } => {
                return Interception::because(Action::HardAbort, reason).written();
            }
        };
        let mut same_messages = true;
        let change = |own: &mut Self| {
            if let Some(call) = call {
                same_messages = own.messages == call.messages;
                *own = *call;
            }
            if !own.graceful_terminal {
                hook.definitions().for_each(|tool| own.add_tool(tool));
            }
        };
        let request = changed(params, &["model", "messages", "tools"], change)?;
        let Some(request) = request else { return Interception::default().written() };
        let request = match request.as_str().len() > LONGEST_REQUEST && same_messages {
            // haft, and PicoClaw from 0.2.8 on, keep the messages that a request does not have.
            true => without(&request, "messages").map_err(|error| error.to_string())?,
            false => request,
        };
        Interception { request: Some(request), ..Interception::modify() }.written()
    }
}

impl Asked for AfterLlm {
    type Answer = ResponseDecision;

    fn unasked() -> ResponseDecision {
        ResponseDecision::Continue
    }

    fn reply(answer: ResponseDecision, params: &RawJson, _: &Hook) -> Result<RawJson, String> {
        match answer {
            ResponseDecision::Continue => Interception::default(),
            ResponseDecision::Modify(response) => {
                let change = |own: &mut Self| own.response = *response;
                match changed(params, &["model", "response"], change)? {
                    Some(response) => Interception { response: Some(response), ..Interception::modify() },
                    None => Interception::default(),
                }
            }
            ResponseDecision::AbortTurn { reason } => Interception::because(Action::AbortTurn, reason),
            ResponseDecision::HardAbort { reason } => Interception::because(Action::HardAbort, reason),
        }
        .written()
    }
}

impl Asked for BeforeTool {
    type Answer = ToolDecision;

    fn unasked() -> ToolDecision {
        ToolDecision::Continue
    }

    fn reply(answer: ToolDecision, params: &RawJson, _: &Hook) -> Result<RawJson, String> {
        match answer {
            ToolDecision::Continue => Interception::default(),
            ToolDecision::Modify { tool, arguments } => {
                if let Some(arguments) = arguments.as_ref().filter(|arguments| !arguments.is_object()) {
                    return Err(format!("arguments of a tool are an object, not {arguments}"));
                }
                let change = |own: &mut Self| {
                    own.tool = tool.unwrap_or_else(|| own.tool.clone());
                    own.arguments = arguments.unwrap_or_else(|| own.arguments.clone());
                };
                match changed(params, &["tool", "arguments"], change)? {
                    Some(call) => Interception { call: Some(call), ..Interception::modify() },
                    None => Interception::default(),
                }
            }
            ToolDecision::Respond(result) => responded(&result)?,
            ToolDecision::Deny { reason } => Interception::because(Action::DenyTool, reason),
            ToolDecision::AbortTurn { reason } => Interception::because(Action::AbortTurn, reason),
            ToolDecision::HardAbort { reason } => Interception::because(Action::HardAbort, reason),
        }
        .written()
    }
}

fn responded(result: &ToolResult) -> Result<Interception, String> {
    let result = RawJson::from_value(result).map_err(|error| error.to_string())?;
    Ok(Interception { action: Action::Respond, result: Some(result), ..Interception::default() })
}

impl Asked for AfterTool {
    type Answer = ResultDecision;

    fn unasked() -> ResultDecision {
        ResultDecision::Continue
    }

    fn reply(answer: ResultDecision, params: &RawJson, _: &Hook) -> Result<RawJson, String> {
        match answer {
            ResultDecision::Continue => Interception::default(),
            ResultDecision::Modify(result) => {
                match changed(params, &["tool", "arguments", "result"], |own: &mut Self| own.result = result)?
                {
                    Some(result) => Interception { result: Some(result), ..Interception::modify() },
                    None => Interception::default(),
                }
            }
            ResultDecision::AbortTurn { reason } => Interception::because(Action::AbortTurn, reason),
            ResultDecision::HardAbort { reason } => Interception::because(Action::HardAbort, reason),
        }
        .written()
    }
}

impl Asked for ApproveTool {
    type Answer = ApprovalDecision;

    /// PicoClaw takes an empty reply for a no without a reason.
    fn unasked() -> ApprovalDecision {
        ApprovalDecision::deny("this hook approves nothing; take approve_tool out of its intercept")
    }

    fn reply(answer: ApprovalDecision, _: &RawJson, _: &Hook) -> Result<RawJson, String> {
        let (approved, reason) = match answer {
            ApprovalDecision::Approve => (true, String::new()),
            ApprovalDecision::Deny { reason } => (false, reason),
        };
        RawJson::from_value(&ApprovalReply { approved, reason }).map_err(|error| error.to_string())
    }
}
