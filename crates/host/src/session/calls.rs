//! Calls of an extension to the host: limits their number and answers each once.

use haft_protocol::RawJson;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{
    AgentCall, AskCall, EmitCall, FileLockCall, HostCall, HostCallError, HostCallKind, HostCallTarget,
    HostFrame, HostResult, HostService, ResultBlock, ShowCall, ToolRequestResult,
};
use haft_protocol::ids::RequestId;
use haft_protocol::limits::MAX_MESSAGE_TEXT;
use haft_protocol::rpc::{Command, RpcRequest, SendMessage};

use super::output::{CallId, HostCallTask};
use super::pending::PendingQuestions;
use super::{HostCallRequest, SessionConfig};
use crate::wire::decode::excerpt;

#[derive(Debug, Default)]
pub(super) struct HostCalls {
    open: Vec<OpenCall>,
    /// The number of calls without an id so far.
    unnamed: u64,
    is_denial_reported: bool,
}

/// The reason why a call is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallRefusal {
    code: HostCallError,
    text: String,
    permission: Option<HostService>,
}

#[derive(Debug)]
struct OpenCall {
    id: CallId,
    kind: HostCallKind,
    /// The request that the call serves, if the extension named one or only one was open.
    under: Option<ServedRequest>,
    /// The number of lines that were written to the extension before the call. The call serves the open
    /// queries among them.
    behind: u64,
    reply: ReplyForm,
}

/// The frame that carries the result of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum ReplyForm {
    #[default]
    HostResult,
    /// `tool_result` of newer zot versions, with the name of this tool.
    ToolResult(String),
}

impl ReplyForm {
    /// Returns the frame for a result.
    pub(super) fn to_frame(&self, result: HostResult) -> HostFrame {
        match self {
            Self::HostResult => result.into(),
            Self::ToolResult(name) => {
                let HostResult { id, content, is_error, .. } = result;
                ToolRequestResult { id, name: name.clone(), content, is_error }.into()
            }
        }
    }
}

/// An open request of the host that a call serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedRequest {
    pub(super) id: RequestId,
    /// The number of its line.
    pub(super) line: u64,
}

impl HostCalls {
    pub(super) fn contains(&self, id: &CallId) -> bool {
        self.open.iter().any(|call| call.id == *id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Begins a call, or returns why it is refused. `lines` is the number of lines that were written to the
    /// extension.
    pub(super) fn begin(
        &mut self,
        call: HostCall,
        under: Option<ServedRequest>,
        facts: &SessionConfig,
        is_ready: bool,
        lines: u64,
        reply: ReplyForm,
    ) -> Result<HostCallRequest, CallRefusal> {
        let kind = self.admit(&call, facts, is_ready)?;
        let names_request = call.under.is_some();
        let invalid =
            |detail: String| CallRefusal::new(HostCallError::InvalidArgs, format!("{kind}: {detail}"));
        if call.id.is_none() && !kind.may_omit_id() {
            let text = "the call has a result and requires an id";
            return Err(CallRefusal::new(HostCallError::InvalidArgs, text));
        }
        let task = read_task(kind, call.args, call.session).map_err(invalid)?;
        // A command belongs to a request only if the extension says so: a prompt outlives the handler that
        // sends it.
        let tied = names_request || kind.target() != HostCallTarget::Session;
        let (under, behind) = if tied { (under, lines) } else { (None, 0) };
        let id = call.id.map_or_else(|| self.next_unnamed(), CallId::Named);
        self.open.push(OpenCall { id: id.clone(), kind, under, behind, reply });
        Ok(HostCallRequest { id, task })
    }

    fn next_unnamed(&mut self) -> CallId {
        self.unnamed += 1;
        CallId::Unnamed(self.unnamed)
    }

    fn admit(
        &self,
        call: &HostCall,
        facts: &SessionConfig,
        is_ready: bool,
    ) -> Result<HostCallKind, CallRefusal> {
        if !is_ready {
            let text = "calls are accepted only after `ready`";
            return Err(CallRefusal::new(HostCallError::Unavailable, text));
        }
        let kind = HostCallKind::from_name(&call.call).ok_or_else(|| {
            let call = excerpt(call.call.as_bytes());
            let text = format!("unknown call {call:?}; docs/protocol.md lists the calls");
            CallRefusal::new(HostCallError::UnknownCall, text)
        })?;
        let needs_tools = matches!(
            kind.target(),
            HostCallTarget::Tool(_) | HostCallTarget::FileLock | HostCallTarget::Agent
        );
        if needs_tools && !facts.services {
            let text = "this host runs no tools for extensions";
            return Err(CallRefusal::new(HostCallError::Unavailable, text));
        }
        check_granted(kind, facts)?;
        if kind == HostCallKind::UnlockFile {
            // The release of a lock ends at once, and other calls may wait for it.
            return Ok(kind);
        }
        // Questions and prompts wait for long, and must not keep the calls of tools from running.
        let group = |kind: HostCallKind| std::mem::discriminant(&kind.target());
        let running = self.open.iter().filter(|open| group(open.kind) == group(kind)).count();
        let (limit, what) = match kind.target() {
            HostCallTarget::Person => (facts.limits.max_asks, "questions are already open"),
            HostCallTarget::Tool(_) | HostCallTarget::FileLock | HostCallTarget::Agent => {
                (facts.limits.max_host_calls, "calls are already running")
            }
            HostCallTarget::Screen | HostCallTarget::Session => {
                (facts.limits.max_host_calls, "commands are already running")
            }
            // Messages end at once, and have a rate.
            HostCallTarget::Bus => return Ok(kind),
        };
        if running >= usize::try_from(limit).unwrap_or(usize::MAX) {
            let text = format!("{limit} {what}, which is the limit; wait until one of them ends");
            return Err(CallRefusal::new(HostCallError::Busy, text));
        }
        Ok(kind)
    }

    /// Returns the request whose time stands still while this question to the person is open; `None` for other
    /// calls.
    pub(super) fn waiting_request(&self, id: &CallId) -> Option<&RequestId> {
        let call = self.open.iter().find(|call| call.id == *id)?;
        let under = call.under.as_ref().filter(|_| call.kind.target() == HostCallTarget::Person)?;
        Some(&under.id)
    }

    /// Ends a call. Returns the form of its result; `None` if no such call is running.
    pub(super) fn end(&mut self, id: &CallId) -> Option<ReplyForm> {
        let place = self.open.iter().position(|call| call.id == *id)?;
        Some(self.open.swap_remove(place).reply)
    }

    /// Returns the open questions to the person that serve this request.
    pub(super) fn questions_under(&self, request: &RequestId) -> Vec<CallId> {
        let questions = self.open.iter().filter(|call| self.waiting_request(&call.id) == Some(request));
        questions.map(|call| call.id.clone()).collect()
    }

    /// Returns the calls that end with the query in this line, because no caller waits for its answer. These
    /// are the calls that serve it. If a call may serve several queries, it ends with the last of them. Calls
    /// outside any query continue.
    pub(super) fn ended_by<T>(&self, line: u64, pending: &PendingQuestions<T>) -> Vec<CallId> {
        let ends = |call: &&OpenCall| match &call.under {
            Some(under) => under.line == line,
            None => line <= call.behind && !pending.has_within(call.behind),
        };
        self.open.iter().filter(ends).map(|call| call.id.clone()).collect()
    }

    /// Drops all calls. Returns false if there were none.
    pub(super) fn clear(&mut self) -> bool {
        let had = !self.open.is_empty();
        self.open.clear();
        had
    }

    /// Returns the report of the first call without a grant. Later ones are not reported, so that an
    /// extension cannot flood the screen and the log.
    pub(super) fn denial_report(&mut self, result: &HostResult) -> Option<String> {
        let is_denied = result.code == Some(HostCallError::PermissionDenied);
        if !is_denied || std::mem::replace(&mut self.is_denial_reported, true) {
            return None;
        }
        Some(format!("made a call without permission: {}", first_line(result)))
    }
}

impl CallRefusal {
    pub(super) fn new(code: HostCallError, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), permission: None }
    }

    /// Returns the result that tells the extension.
    pub(super) fn into_result(self, id: RequestId) -> HostResult {
        let permission = self.permission.map(|service| service.name().to_owned());
        HostResult { permission, ..HostResult::from_failure(id, self.code, self.text) }
    }
}

/// Reads the arguments of a call. The error is the invalid one.
fn read_task(kind: HostCallKind, args: RawJson, session: Option<String>) -> Result<HostCallTask, String> {
    match kind.target() {
        HostCallTarget::Tool(_) => Ok(HostCallTask::Tool { kind, args }),
        HostCallTarget::FileLock => {
            FileLockCall::read(kind, &args).ok_or_else(unreadable_call)?.map(HostCallTask::FileLock)
        }
        HostCallTarget::Agent => {
            AgentCall::read(kind, &args).ok_or_else(unreadable_call)?.map(HostCallTask::Agent)
        }
        HostCallTarget::Person => {
            AskCall::read(kind, &args).ok_or_else(unreadable_call)?.map(HostCallTask::Ask)
        }
        HostCallTarget::Screen => {
            ShowCall::read(kind, &args).ok_or_else(unreadable_call)?.map(HostCallTask::Show)
        }
        HostCallTarget::Bus => {
            EmitCall::read(kind, &args).ok_or_else(unreadable_call)?.map(HostCallTask::Emit)
        }
        HostCallTarget::Session => {
            let request = RpcRequest::from_host_call(kind, &args, session).ok_or_else(unreadable_call)??;
            check_text_length(&request.command)?;
            Ok(HostCallTask::Session(Box::new(request)))
        }
    }
}

/// Rejects a message with a text beyond [`MAX_MESSAGE_TEXT`].
fn check_text_length(command: &Command) -> Result<(), String> {
    let Command::SendMessage(SendMessage { content, .. }) = command else { return Ok(()) };
    match content.len() {
        0..=MAX_MESSAGE_TEXT => Ok(()),
        length => Err(format!("`content` has {length} bytes; the limit is {MAX_MESSAGE_TEXT}")),
    }
}

fn unreadable_call() -> String {
    "this host cannot read the call".to_owned()
}

fn check_granted(kind: HostCallKind, facts: &SessionConfig) -> Result<(), CallRefusal> {
    let service = kind.service();
    let granted = facts.granted.as_deref().is_none_or(|granted| granted.host.contains(&service));
    if granted || !is_up(Defense::ServiceGrants) {
        return Ok(());
    }
    let (name, what) = (&facts.name, kind.name());
    let text =
        format!("extension {name} must not use {what} through haft: the permission {service} is not granted");
    Err(CallRefusal { permission: Some(service), ..CallRefusal::new(HostCallError::PermissionDenied, text) })
}

pub(super) fn first_line(result: &HostResult) -> &str {
    let text = result.content.iter().find_map(|block| match block {
        ResultBlock::Text { text } => text.lines().next(),
        ResultBlock::Image { .. } | ResultBlock::Unknown { .. } => None,
    });
    text.unwrap_or_default()
}
