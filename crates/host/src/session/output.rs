//! The outputs of a session, in order: lines to write, answers, reports.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::codec;
use haft_protocol::ext::{
    AgentCall, AskCall, ClearNotes, EmitCall, FileLockCall, HostCallKind, HostFrame, Limits, Notify,
    PanelClose, PanelRender, QueryResponse, SetStatus, ShowCall, ToolCallProgress,
};
use haft_protocol::ids::RequestId;
use haft_protocol::rpc::RpcRequest;

use super::pending::ProgressSender;
use super::reports::ReportLimiter;
use crate::wire::fault::{CallError, FaultCode};

#[derive(Debug)]
pub(crate) enum SessionOutput<T> {
    /// Write this line. Numbers increase; a droppable line may be omitted when the queue is full.
    Write {
        number: u64,
        line: String,
        droppable: bool,
    },
    /// No more lines follow: close the extension's input.
    CloseInput,
    Terminate,
    Answer(T, Result<QueryAnswer, CallError>),
    Progress(ProgressSender, ToolCallProgress),
    Fault(FaultCode, String),
    Log(String),
    Ui(UiUpdate),
    Call(HostCallRequest),
    /// The extension cancelled this call.
    CancelCall(CallId),
    /// The extension needs none of its calls any more.
    DropCalls,
    Changed,
}

/// The answer to a query: the second of three forms between a line and core's decision.
#[derive(Debug)]
pub(crate) struct QueryAnswer {
    /// The answer, or the mistake in it. The mistake is not reported yet.
    pub(crate) response: Result<QueryResponse, String>,
    /// Mistakes beside a valid answer. They are not reported yet.
    pub(crate) reports: Vec<String>,
    /// Remarks for the developer's log.
    pub(crate) notes: Vec<String>,
}

impl From<QueryResponse> for QueryAnswer {
    fn from(response: QueryResponse) -> Self {
        Self { response: Ok(response), reports: Vec::new(), notes: Vec::new() }
    }
}

#[derive(Debug)]
pub(crate) enum UiUpdate {
    Notify(Notify),
    ClearNotes(ClearNotes),
    PanelRender(PanelRender),
    PanelClose(PanelClose),
    Status(SetStatus),
}

/// The identity of a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum CallId {
    /// The id of the extension, which gets a result with it.
    Named(RequestId),
    /// The number of a call without an id, which gets no result.
    Unnamed(u64),
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(id) => id.fmt(f),
            Self::Unnamed(number) => write!(f, "without an id ({number})"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HostCallRequest {
    pub(crate) id: CallId,
    pub(crate) task: HostCallTask,
}

/// The work of a host call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HostCallTask {
    Tool { kind: HostCallKind, args: RawJson },
    FileLock(FileLockCall),
    Agent(AgentCall),
    Ask(AskCall),
    Show(ShowCall),
    Emit(EmitCall),
    Session(Box<RpcRequest>),
}

impl HostCallTask {
    /// Returns the name of the call.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Tool { kind, .. } => kind.name(),
            Self::FileLock(call) => call.kind().name(),
            Self::Agent(call) => call.kind().name(),
            Self::Ask(ask) => ask.kind().name(),
            Self::Show(show) => show.kind().name(),
            Self::Emit(_) => HostCallKind::Emit.name(),
            Self::Session(request) => request.command.kind().name(),
        }
    }
}

/// The pending outputs. Numbers the lines, and decides which faults are reported.
#[derive(Debug)]
pub(super) struct OutputQueue<T> {
    pub(super) lines: u64,
    pub(super) reports: ReportLimiter,
    /// True if faults are only logged, because the extension is being stopped or has ended.
    is_quiet: bool,
    limits: Arc<Limits>,
    waiting: VecDeque<SessionOutput<T>>,
}

impl<T> OutputQueue<T> {
    pub(super) fn new(limits: Arc<Limits>) -> Self {
        Self {
            lines: 0,
            reports: ReportLimiter::default(),
            is_quiet: false,
            limits,
            waiting: VecDeque::new(),
        }
    }

    pub(super) fn pop(&mut self) -> Option<SessionOutput<T>> {
        self.waiting.pop_front()
    }

    pub(super) fn push(&mut self, output: SessionOutput<T>) {
        self.waiting.push_back(output);
    }

    pub(super) fn show(&mut self, ui: UiUpdate) {
        self.push(SessionOutput::Ui(ui));
    }

    /// Encodes one message, or returns the reason why it cannot be sent.
    pub(super) fn encode(&self, frame: HostFrame) -> Result<String, String> {
        let line = codec::encode(&frame);
        self.check_line_length(
            line.map_err(|error| format!("the message cannot be encoded as JSON: {error}"))?,
        )
    }

    pub(super) fn check_line_length(&self, line: String) -> Result<String, String> {
        let max_bytes = self.limits.max_result_line;
        if line.len() > max_bytes {
            return Err(format!("a frame of {} bytes exceeds the limit of {max_bytes}", line.len()));
        }
        Ok(line)
    }

    pub(super) fn write(&mut self, line: String, droppable: bool) {
        self.lines += 1;
        self.push(SessionOutput::Write { number: self.lines, line, droppable });
    }

    /// Announces a change of state or offers: once for any number of consecutive changes.
    pub(super) fn announce_change(&mut self) {
        if !matches!(self.waiting.back(), Some(SessionOutput::Changed)) {
            self.push(SessionOutput::Changed);
        }
    }

    pub(super) fn push_fault(&mut self, code: FaultCode, message: String) {
        self.push(SessionOutput::Fault(code, message));
    }

    pub(super) fn log(&mut self, text: String) {
        self.push(SessionOutput::Log(text));
    }

    /// Reports a fault for the author within the report limits; further faults are only logged.
    pub(super) fn report(&mut self, code: FaultCode, text: String) {
        if self.reports.admit(code) && !self.is_quiet {
            self.push_fault(code, text);
        } else {
            self.log(format!("{code}: {text}"));
        }
    }

    /// Stops reporting faults.
    pub(super) fn stop_reporting(&mut self) {
        self.is_quiet = true;
    }

    /// True if faults are no longer reported.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_quiet
    }
}
