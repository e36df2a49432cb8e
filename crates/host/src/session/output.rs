//! The work that a session wants done, in order: lines to write, answers, reports.

use std::collections::VecDeque;
use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::ext::{ClearNotes, HostCallKind, Limits, Notify, PanelClose, PanelRender, SetStatus};
use haft_protocol::ids::RequestId;

use super::dialect::{OutboundMessage, QueryAnswer};
use super::reports::ReportLimiter;
use crate::wire::fault::{CallError, FaultCode};

#[derive(Debug)]
pub(crate) enum SessionOutput<T> {
    /// Write this line. Numbers rise; a droppable one may be left out when the queue is full.
    Write {
        number: u64,
        line: String,
        droppable: bool,
    },
    /// Nothing more will be written: the extension's input ends here.
    CloseInput,
    Terminate,
    Answer(T, Result<QueryAnswer, CallError>),
    Fault(FaultCode, String),
    Log(String),
    Ui(UiUpdate),
    Call(HostCallRequest),
    /// The extension no longer wants this.
    CancelCall(RequestId),
    /// The extension no longer wants anything.
    DropCalls,
    Changed,
}

#[derive(Debug)]
pub(crate) enum UiUpdate {
    Notify(Notify),
    ClearNotes(ClearNotes),
    PanelRender(PanelRender),
    PanelClose(PanelClose),
    Status(SetStatus),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostCallRequest {
    pub(crate) id: RequestId,
    pub(crate) kind: HostCallKind,
    pub(crate) args: RawJson,
}

/// The outputs that nobody has taken yet. Counts the lines, and decides which mistakes are reported.
#[derive(Debug)]
pub(super) struct OutputQueue<T> {
    pub(super) lines: u64,
    pub(super) reports: ReportLimiter,
    /// Mistakes are only logged: the extension is being stopped, or gone.
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

    /// Encodes one message, or says why it has no line.
    pub(super) fn encode(&self, words: impl Into<OutboundMessage>) -> Result<String, String> {
        self.check_line_length(words.into().into_line()?)
    }

    pub(super) fn check_line_length(&self, line: String) -> Result<String, String> {
        let most = self.limits.max_result_line;
        if line.len() > most {
            return Err(format!("{} bytes are more than the {most} a frame may have", line.len()));
        }
        Ok(line)
    }

    pub(super) fn write(&mut self, line: String, droppable: bool) {
        self.lines += 1;
        self.push(SessionOutput::Write { number: self.lines, line, droppable });
    }

    /// Announces that state or offers have changed. Announced once for any number of changes in a row.
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

    /// Reports a mistake that an author should see, as often as is useful; the log has the rest.
    pub(super) fn report(&mut self, code: FaultCode, text: String) {
        if self.reports.admit(code) && !self.is_quiet {
            self.push_fault(code, text);
        } else {
            self.log(format!("{code}: {text}"));
        }
    }

    /// Reports no more mistakes from here on.
    pub(super) fn stop_reporting(&mut self) {
        self.is_quiet = true;
    }

    /// True if mistakes are not reported any more.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_quiet
    }
}
