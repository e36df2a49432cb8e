//! One connection as a state machine: lines, deadlines and questions in; lines, answers and faults out.
//!
//! Sans-IO: it takes `now` as an argument, starts nothing and reads nothing, so its tests run in virtual time.
//! `T` is whom an answer goes to; the session only carries it.
//!
//! Invariant: every [`CallError`] that leaves the session, except for a question that came too late, belongs to
//! exactly one [`Output::Fault`].

mod calls;
pub(crate) mod dialect;
mod ending;
mod facts;
pub(crate) mod filter;
mod frames;
mod granted;
pub(crate) mod greeting;
pub(crate) mod ids;
mod lines;
pub(crate) mod offers;
mod panels;
mod pending;
mod rates;
mod replies;
mod reports;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod unasked;
mod watch;
mod written;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_protocol::RawJson;
use haft_protocol::ext::{ClearNotes, HostCallKind, Limits, Notify, PanelClose, PanelRender, SetStatus};
use haft_protocol::ids::RequestId;

use crate::wire::fault::{CallError, FaultCode};
use calls::Calls;
use dialect::{Answer, Speech, Words};
pub(crate) use facts::Facts;
use offers::Offers;
use panels::Panels;
use pending::{Open, Pending};
use rates::Rates;
use reports::Reports;
pub use state::ExtensionState;
use status::Status;
use watch::{Alert, Watch};

/// One question to the extension.
#[derive(Debug)]
pub(crate) struct Question<T> {
    pub(crate) id: RequestId,
    pub(crate) words: Words,
    /// What is asked, for people: `tool_call intercept`, `tool weather`.
    pub(crate) what: Cow<'static, str>,
    /// The deadline counts from here.
    pub(crate) asked: Instant,
    pub(crate) after: Duration,
    pub(crate) ticket: T,
}

/// A call that was admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) id: RequestId,
    pub(crate) kind: HostCallKind,
    pub(crate) args: RawJson,
}

/// What the session wants done.
#[derive(Debug)]
pub(crate) enum Output<T> {
    /// Write this line. Numbers rise; a droppable one may be left out when the queue is full.
    Write { number: u64, line: String, droppable: bool },
    /// Nothing more will be written: the extension's input ends here.
    CloseInput,
    /// Ask the process to end.
    Terminate,
    /// A question is decided.
    Answer(T, Result<Answer, CallError>),
    /// Something went wrong; report it.
    Fault(FaultCode, String),
    /// For the extension's log.
    Log(String),
    /// Something for the front end.
    Ui(Ui),
    /// Do this for it.
    Call(Wanted),
    /// It no longer wants this.
    CancelCall(RequestId),
    /// It no longer wants anything.
    DropCalls,
    /// State or offers are not what they were.
    Changed,
}

/// What an extension shows.
#[derive(Debug)]
pub(crate) enum Ui {
    Notify(Notify),
    ClearNotes(ClearNotes),
    PanelRender(PanelRender),
    PanelClose(PanelClose),
    Status(SetStatus),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    AwaitHello {
        until: Instant,
    },
    /// It is silent once it has registered something: before, it may be getting ready to guard.
    Registering {
        until: Instant,
        idle_at: Option<Instant>,
    },
    Ready,
    Draining {
        terminate_at: Option<Instant>,
        kill_at: Instant,
    },
    Closed(ExtensionState),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Session<T> {
    facts: Facts,
    phase: Phase,
    pending: Pending<T>,
    calls: Calls,
    offers: Arc<Offers>,
    reports: Reports,
    rates: Rates,
    panels: Panels,
    status: Status,
    watch: Watch,
    /// It said too much: nothing is read until then.
    paused: Option<Instant>,
    /// It closed its input: nothing can be written any more.
    deaf: bool,
    /// The connection is about to be over: when, and what will be said of it.
    ending: Option<(Instant, String)>,
    /// It has become ready: what it subscribes to is known.
    was_ready: bool,
    /// It said hello while it was asked to leave.
    too_late: bool,
    /// Whatever comes came from the launcher: it could not start the extension.
    never_started: bool,
    lines: u64,
    out: VecDeque<Output<T>>,
}

impl<T> Session<T> {
    pub(crate) fn new(facts: Facts, now: Instant) -> Self {
        let until = now + facts.timeouts.hello;
        let limits = Arc::clone(&facts.limits);
        let mut session = Self {
            facts,
            phase: Phase::AwaitHello { until },
            pending: Pending::default(),
            calls: Calls::default(),
            reports: Reports::default(),
            rates: Rates::new(&limits),
            panels: Panels::new(&limits),
            status: Status::new(&limits),
            offers: Arc::new(Offers { limits, ..Offers::default() }),
            watch: Watch::default(),
            paused: None,
            deaf: false,
            ending: None,
            was_ready: false,
            too_late: false,
            never_started: false,
            lines: 0,
            out: VecDeque::new(),
        };
        session.begin();
        session
    }

    fn begin(&mut self) {
        let Some(words) = self.facts.speech.opening() else { return };
        match words.and_then(|words| self.encode(words)) {
            Ok(line) => self.write(line, false),
            Err(detail) => self.fail(FaultCode::HelloInvalid, format!("cannot be greeted: {detail}")),
        }
    }

    /// The next thing to do.
    pub(crate) fn poll_output(&mut self) -> Option<Output<T>> {
        self.out.pop_front()
    }

    /// When [`handle_deadline`](Self::handle_deadline) wants to be called next.
    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::AwaitHello { until } => Some(until),
            Phase::Registering { until, idle_at } => Some(sooner(until, idle_at)),
            Phase::Draining { terminate_at, kill_at } => Some(terminate_at.unwrap_or(kill_at)),
            Phase::Ready | Phase::Closed(_) => None,
        };
        let ending = self.ending.as_ref().map(|(at, _)| *at);
        let watch = if self.is_in_use() { self.watch.deadline(&self.facts.timeouts) } else { None };
        let flow = [self.paused, self.panels.deadline(), self.status.deadline(), watch];
        [phase, ending, self.pending.deadline()].into_iter().chain(flow).flatten().min()
    }

    /// The longest line that is taken at this moment.
    pub(crate) fn line_limit(&self) -> usize {
        let Limits { max_line, max_result_line, .. } = *self.facts.limits;
        let long = self.facts.speech.is_wordy() || self.pending.expects_result();
        if long { max_result_line } else { max_line }
    }

    pub(crate) fn offers(&self) -> &Arc<Offers> {
        &self.offers
    }

    pub(crate) fn state(&self) -> ExtensionState {
        match &self.phase {
            Phase::AwaitHello { .. } | Phase::Registering { .. } => ExtensionState::Starting,
            Phase::Ready => ExtensionState::Ready,
            Phase::Draining { .. } => ExtensionState::Stopping,
            Phase::Closed(state) => state.clone(),
        }
    }

    /// Whether the connection is over; what is left of the process is to be killed.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Whether it has said hello, or answered the host's.
    pub(crate) fn has_greeted(&self) -> bool {
        match self.facts.speech {
            // Nothing is written before.
            Speech::Native(_) => self.lines > 0,
            Speech::Hook(_) => self.was_ready,
        }
    }

    /// Whether it has said hello, if only when it was asked to leave.
    pub(crate) fn has_said_hello(&self) -> bool {
        self.has_greeted() || self.too_late
    }

    /// Whether it has ever become ready: before, nobody knows what else it will subscribe to.
    pub(crate) fn was_ready(&self) -> bool {
        self.was_ready
    }

    /// Whether it is ready and nobody waits for an answer, neither side.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == Phase::Ready && self.pending.deadline().is_none() && !self.has_calls()
    }

    /// Asks the extension something.
    pub(crate) fn ask(&mut self, question: Question<T>) {
        let Question { id, words, what, asked, after, ticket } = question;
        let Some(kind) = words.kind() else { return };
        if let Some(why) = self.absence() {
            self.out.push_back(Output::Answer(ticket, Err(CallError::Gone { why })));
            return;
        }
        match self.encode(words) {
            Ok(line) => {
                self.write(line, false);
                self.watch.wrote(asked);
                let open = Open { ticket, kind, what, until: asked + after, after, line: self.lines };
                self.pending.insert(id, open);
            }
            Err(detail) => {
                self.fault(FaultCode::FrameTooLong, format!("{what}: {detail}"));
                self.out.push_back(Output::Answer(ticket, Err(CallError::NotSent { detail })));
            }
        }
    }

    /// Tells the extension something that nobody waits for.
    pub(crate) fn tell(&mut self, words: impl Into<Words>, now: Instant) {
        if self.absence().is_some() {
            return;
        }
        let words = words.into();
        let is_droppable = words.is_droppable();
        match self.encode(words) {
            Ok(line) => {
                self.write(line, is_droppable);
                self.watch.wrote(now);
            }
            Err(detail) => self.log(format!("events_dropped: {detail}")),
        }
    }

    /// It was told something by somebody else.
    pub(crate) fn told(&mut self, now: Instant) {
        if self.absence().is_none() {
            self.watch.wrote(now);
        }
    }

    /// Nobody waits for this answer any more, nor for what is done to give it.
    pub(crate) fn cancel(&mut self, id: &RequestId) {
        if let Some(open) = self.pending.dropped(id) {
            self.end_calls_for(open.line);
        }
    }

    /// The line of a question did not fit into the queue.
    pub(crate) fn refuse(&mut self, number: u64) {
        let Some(open) = self.pending.refused(number) else { return };
        let detail = "too much is waiting to be read by it already".to_owned();
        self.fault(FaultCode::WriteStalled, format!("{} was not asked: {detail}", open.what));
        self.out.push_back(Output::Answer(open.ticket, Err(CallError::NotSent { detail })));
    }

    /// A line was longer than [`line_limit`](Self::line_limit). Which call it answers is not known, so all fail.
    pub(crate) fn handle_too_long(&mut self) {
        let limit = self.line_limit();
        self.fail(FaultCode::FrameTooLong, format!("sent a line longer than {limit} bytes"));
    }

    /// Time has passed; the first `flushed` lines have left.
    pub(crate) fn handle_deadline(&mut self, now: Instant, flushed: u64) {
        if let Some((_, text)) = self.ending.take_if(|(at, _)| *at <= now) {
            self.end(&text);
        }
        self.phase_deadline(now);
        self.flow_deadline(flushed, now);
        while let Some(open) = self.pending.overdue(now) {
            self.overdue(open, flushed);
        }
    }

    fn phase_deadline(&mut self, now: Instant) {
        match self.phase {
            Phase::AwaitHello { until } if until <= now => {
                let after = self.facts.timeouts.hello.as_secs_f64();
                let silence = self.facts.speech.silence();
                self.fail(FaultCode::HelloTimeout, format!("{silence} within {after} s"));
            }
            Phase::Registering { until, idle_at } if sooner(until, idle_at) <= now => {
                let why = if until <= now { "waited long enough" } else { "silent" };
                self.log(format!("no ready frame ({why}): going on with what is registered"));
                self.become_ready();
            }
            Phase::Draining { terminate_at: Some(at), kill_at } if at <= now => {
                self.phase = Phase::Draining { terminate_at: None, kill_at };
                self.log("still there: terminating".to_owned());
                self.out.push_back(Output::Terminate);
            }
            Phase::Draining { terminate_at: None, kill_at } if kill_at <= now => {
                self.log("still there: killing".to_owned());
                self.close(ExtensionState::Stopped, "was stopped");
            }
            // Not due yet, or without a deadline.
            Phase::AwaitHello { .. } | Phase::Registering { .. } | Phase::Draining { .. } => {}
            Phase::Ready | Phase::Closed(_) => {}
        }
    }

    fn become_ready(&mut self) {
        if matches!(self.phase, Phase::Registering { .. }) {
            self.phase = Phase::Ready;
            self.was_ready = true;
            self.report_surplus();
            self.changed();
        }
    }

    /// Why a question cannot be asked now, if so.
    fn absence(&self) -> Option<String> {
        match &self.phase {
            Phase::Registering { .. } | Phase::Ready if self.deaf => Some("closed its input".to_owned()),
            Phase::Registering { .. } | Phase::Ready => None,
            Phase::AwaitHello { .. } => Some("has not said hello yet".to_owned()),
            Phase::Draining { .. } => Some("is being stopped".to_owned()),
            Phase::Closed(ExtensionState::Failed { message, .. }) => Some(message.clone()),
            Phase::Closed(_) => Some("was stopped".to_owned()),
        }
    }

    fn write(&mut self, line: String, droppable: bool) {
        self.lines += 1;
        self.out.push_back(Output::Write { number: self.lines, line, droppable });
    }

    /// State or offers changed. Said once for any number of changes in a row.
    fn changed(&mut self) {
        if !matches!(self.out.back(), Some(Output::Changed)) {
            self.out.push_back(Output::Changed);
        }
    }

    fn fault(&mut self, code: FaultCode, message: String) {
        self.out.push_back(Output::Fault(code, message));
    }

    fn log(&mut self, text: String) {
        self.out.push_back(Output::Log(text));
    }
}

fn sooner(until: Instant, idle_at: Option<Instant>) -> Instant {
    idle_at.map_or(until, |at| at.min(until))
}
