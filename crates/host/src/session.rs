//! One connection as a state machine. Inputs: lines, deadlines and queries. Outputs: lines, answers and
//! faults.
//!
//! Sans-IO: `now` is an argument, and the session starts and reads nothing, so its tests run in virtual time.
//! `T` identifies the receiver of an answer; the session only stores it.
//!
//! Invariant: every [`CallError`] of the session belongs to exactly one [`SessionOutput::Fault`], except for a query
//! that came too late.

mod calls;
pub(crate) mod declared_offers;
pub(crate) mod filter;
mod frames;
mod grants;
pub(crate) mod hello_ack;
pub(crate) mod ids;
mod liveness;
pub(crate) mod mirror_parts;
pub(crate) mod offers;
mod output;
mod panels;
mod pending;
mod phase;
mod rates;
mod reports;
mod status;
#[cfg(test)]
mod tests;
mod unrequested;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::hooks::GateClock;
use haft_packages::Permissions;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{CancelRequest, HostFrame, Limits, Ping, Shutdown, ToolCancel, capability};
use haft_protocol::foreign::FIRST_REQUEST;
use haft_protocol::ids::{ExtensionName, RequestId};

use crate::timeouts::Timeouts;
use crate::wire::fault::{CallError, FaultCode, PRINTED};
use crate::wire::translator::SharedTranslator;
use calls::HostCalls;
pub(crate) use frames::overlong_details;
use hello_ack::PreparedHelloAck;
use ids::RequestIdGenerator;
use liveness::{LivenessAlert, LivenessMonitor};
use offers::ExtensionOffers;
use output::OutputQueue;
pub(crate) use output::{CallId, HostCallRequest, HostCallTask, QueryAnswer, SessionOutput, UiUpdate};
use pending::{OpenQuestion, PendingQuestions, QuestionKind};
pub(crate) use pending::{ProgressSender, deliver_progress};
pub use phase::ExtensionState;
use phase::{ConnectionPhase, earlier_deadline};
use unrequested::UnrequestedFrames;

/// The prefix of the launcher's message when it could not apply the sandbox.
const NO_SANDBOX: &str = "no sandbox: ";

#[derive(Debug, Clone)]
pub(crate) struct SessionConfig {
    pub(crate) name: ExtensionName,
    /// The answer to hello, until it is sent.
    pub(crate) greeting: Option<Box<PreparedHelloAck>>,
    /// The translator of an extension that speaks another protocol.
    pub(crate) translator: Option<SharedTranslator>,
    pub(crate) timeouts: Arc<Timeouts>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) services: bool,
    /// True if a process that does not leave receives a terminate signal before the kill.
    pub(crate) has_terminate_signal: bool,
    /// The granted registrations; `None` if all registrations are allowed.
    pub(crate) granted: Option<Arc<Permissions>>,
}

impl SessionConfig {
    /// Returns the generator of query ids.
    pub(crate) fn request_ids(&self) -> RequestIdGenerator {
        match &self.translator {
            None => RequestIdGenerator::with_random_prefix(),
            Some(_) => RequestIdGenerator::counted_from(FIRST_REQUEST),
        }
    }
}

#[derive(Debug)]
pub(crate) struct OutgoingQuestion<T> {
    pub(crate) id: RequestId,
    pub(crate) frame: HostFrame,
    /// The subject of the query, for people: `tool_call intercept`, `tool weather`.
    pub(crate) what: Cow<'static, str>,
    /// The start of the deadline.
    pub(crate) asked: Instant,
    pub(crate) after: Duration,
    /// The common time of several queries, of which this is one.
    pub(crate) clock: Option<GateClock>,
    pub(crate) ticket: T,
    /// The receiver of the progress of a tool call; `None` if no progress is expected.
    pub(crate) progress: Option<ProgressSender>,
}

/// The state machine of one connection.
#[derive(Debug)]
pub(crate) struct ExtensionSession<T> {
    facts: SessionConfig,
    phase: ConnectionPhase,
    pending: PendingQuestions<T>,
    calls: HostCalls,
    unasked: UnrequestedFrames,
    offers: Arc<ExtensionOffers>,
    watch: LivenessMonitor,
    /// True if the extension sent hello and was answered.
    greeted: bool,
    /// True if the extension closed its input: nothing can be written any more.
    input_closed: bool,
    /// The time at which the connection ends, and the text of its end.
    ending: Option<(Instant, String)>,
    /// True if the extension was ever ready, so its subscriptions are known.
    was_ready: bool,
    /// True if the extension sent hello after the shutdown request.
    too_late: bool,
    /// True if all output comes from the launcher, which could not start the extension.
    never_started: bool,
    out: OutputQueue<T>,
}

impl<T> ExtensionSession<T> {
    pub(crate) fn new(facts: SessionConfig, now: Instant) -> Self {
        let until = now + facts.timeouts.hello;
        let limits = Arc::clone(&facts.limits);
        let mut session = Self {
            unasked: UnrequestedFrames::new(&facts),
            facts,
            phase: ConnectionPhase::AwaitHello { until },
            pending: PendingQuestions::default(),
            calls: HostCalls::default(),
            offers: Arc::new(ExtensionOffers { limits: Arc::clone(&limits), ..ExtensionOffers::default() }),
            watch: LivenessMonitor::default(),
            greeted: false,
            input_closed: false,
            ending: None,
            was_ready: false,
            too_late: false,
            never_started: false,
            out: OutputQueue::new(limits),
        };
        session.send_opening();
        session
    }

    fn send_opening(&mut self) {
        let Some(translator) = &self.facts.translator else { return };
        let line = translator.lock().opening_line();
        match line.and_then(|line| self.out.check_line_length(line)) {
            Ok(line) => self.out.write(line, false),
            Err(detail) => {
                self.fail(FaultCode::HelloInvalid, format!("could not be sent a greeting: {detail}"))
            }
        }
    }

    pub(crate) fn poll_output(&mut self) -> Option<SessionOutput<T>> {
        self.out.pop()
    }

    /// Returns the time of the next call of [`handle_deadline`](Self::handle_deadline).
    pub(crate) fn poll_deadline(&self) -> Option<Instant> {
        let ending = self.ending.as_ref().map(|(at, _)| *at);
        let watch = self.phase.is_in_use().then(|| self.watch.deadline(&self.facts.timeouts)).flatten();
        let all = [self.phase.deadline(), ending, self.pending.deadline(), self.unasked.deadline(), watch];
        all.into_iter().flatten().min()
    }

    pub(crate) fn line_limit(&self) -> usize {
        let Limits { max_line, max_result_line, .. } = *self.facts.limits;
        let long = self.facts.translator.is_some() || self.pending.expects_long_answer();
        if long { max_result_line } else { max_line }
    }

    pub(crate) fn offers(&self) -> &Arc<ExtensionOffers> {
        &self.offers
    }

    pub(crate) fn state(&self) -> ExtensionState {
        self.phase.state()
    }

    /// True if the connection is over; the caller must kill the remaining processes.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.phase, ConnectionPhase::Closed(_))
    }

    /// True if the extension sent hello and was answered.
    pub(crate) fn has_greeted(&self) -> bool {
        self.greeted
    }

    /// True if the extension sent hello, also after the shutdown request.
    pub(crate) fn has_said_hello(&self) -> bool {
        self.has_greeted() || self.too_late
    }

    /// True if the extension was ever ready. Before that, its subscriptions are unknown.
    pub(crate) fn was_ready(&self) -> bool {
        self.was_ready
    }

    /// True if the extension is ready and neither side waits for an answer.
    pub(crate) fn is_idle(&self) -> bool {
        self.phase == ConnectionPhase::Ready && self.pending.deadline().is_none() && self.calls.is_empty()
    }

    pub(crate) fn send(&mut self, question: OutgoingQuestion<T>) {
        let OutgoingQuestion { id, frame, what, asked, after, clock, ticket, progress } = question;
        let Some(kind) = QuestionKind::from_question(&frame) else { return };
        if let Some(why) = self.absence_reason() {
            self.out.push(SessionOutput::Answer(ticket, Err(CallError::Gone { why })));
            return;
        }
        let line = self.encode_frame(frame);
        match line.and_then(|line| line.ok_or_else(|| "its protocol has no such request".to_owned())) {
            Ok(line) => {
                self.out.write(line, false);
                self.watch.note_written(asked);
                let open = OpenQuestion {
                    ticket,
                    progress,
                    kind,
                    what,
                    until: asked + after,
                    after,
                    line: self.out.lines,
                    clock,
                    standstill: None,
                };
                self.pending.insert(id, open);
            }
            Err(detail) => {
                self.forget_foreign(&id);
                self.out.push_fault(FaultCode::FrameTooLong, format!("{what}: {detail}"));
                self.out.push(SessionOutput::Answer(ticket, Err(CallError::NotSent { detail })));
            }
        }
    }

    /// Sends the extension a message without an answer.
    pub(crate) fn send_message(&mut self, frame: HostFrame, now: Instant) {
        if self.absence_reason().is_some() {
            return;
        }
        // The count of dropped events and cancellations are never dropped.
        let is_droppable =
            !matches!(frame, HostFrame::EventGap(_) | HostFrame::Cancel(_) | HostFrame::ToolCancel(_));
        match self.encode_frame(frame) {
            Ok(None) => {}
            Ok(Some(line)) => {
                self.out.write(line, is_droppable);
                self.watch.note_written(now);
            }
            Err(detail) => self.out.log(format!("events_dropped: {detail}")),
        }
    }

    /// Returns the line for a frame; `None` if the protocol of the extension has no such line.
    fn encode_frame(&self, frame: HostFrame) -> Result<Option<String>, String> {
        let Some(translator) = &self.facts.translator else { return self.out.encode(frame).map(Some) };
        let line = translator.lock().translate_frame(frame)?;
        line.map(|line| self.out.check_line_length(line)).transpose()
    }

    /// Drops what a translator keeps for a query that was not sent.
    fn forget_foreign(&self, id: &RequestId) {
        if let Some(translator) = &self.facts.translator {
            // The translator has no line for this frame.
            _ = translator.lock().translate_frame(HostFrame::Cancel(CancelRequest { id: id.clone() }));
        }
    }

    /// Records an event that was sent outside of this session.
    pub(crate) fn note_event_sent(&mut self, now: Instant) {
        if self.absence_reason().is_none() {
            self.watch.note_written(now);
        }
    }

    /// Cancels a query and the calls that serve it.
    pub(crate) fn cancel(&mut self, id: &RequestId, now: Instant) {
        if let Some(open) = self.pending.close_dropped(id) {
            self.end_calls_for(open.line);
            self.send_cancel(id.clone(), open.kind, now);
        }
    }

    /// Notifies the extension that its answer to a query is no longer needed.
    fn send_cancel(&mut self, id: RequestId, kind: QuestionKind, now: Instant) {
        if kind.is_cancellable() && self.offers.has_capability(capability::CANCEL) {
            self.send_message(HostFrame::Cancel(CancelRequest { id }), now);
        } else if kind == QuestionKind::Tool && self.offers.has_capability(capability::TOOL_CANCEL) {
            self.send_message(HostFrame::ToolCancel(ToolCancel { id }), now);
        }
    }

    /// Fails a query whose line did not fit into the queue.
    pub(crate) fn refuse_question(&mut self, number: u64) {
        let Some((id, open)) = self.pending.close_refused(number) else { return };
        self.forget_foreign(&id);
        let detail = "too many messages wait for the extension to read them".to_owned();
        self.out.push_fault(FaultCode::WriteStalled, format!("{} was not sent: {detail}", open.what));
        self.out.push(SessionOutput::Answer(open.ticket, Err(CallError::NotSent { detail })));
    }

    /// Handles a line longer than [`line_limit`](Self::line_limit). The call that the line answers is
    /// unknown, so all open calls fail.
    pub(crate) fn handle_too_long(&mut self) {
        let limit = self.line_limit();
        self.fail(FaultCode::FrameTooLong, format!("sent a line longer than {limit} bytes"));
    }

    /// Handles the passage of time; the first `flushed` lines were written.
    pub(crate) fn handle_deadline(&mut self, now: Instant, flushed: u64) {
        if let Some((_, text)) = self.ending.take_if(|(at, _)| *at <= now) {
            self.end(&text);
        }
        self.phase_deadline(now);
        self.unasked.process_due(now, &mut self.out);
        self.watch_deadline(flushed, now);
        while let Some((id, open)) = self.pending.close_overdue(now) {
            let kind = open.kind;
            self.fail_overdue(open, flushed);
            self.send_cancel(id, kind, now);
        }
    }

    fn phase_deadline(&mut self, now: Instant) {
        match self.phase {
            ConnectionPhase::AwaitHello { until } if until <= now => {
                let after = self.facts.timeouts.hello.as_secs_f64();
                let translator = self.facts.translator.as_ref();
                let silence = translator.map_or("sent no hello", |other| other.lock().silence_text());
                self.fail(FaultCode::HelloTimeout, format!("{silence} within {after} s"));
            }
            ConnectionPhase::Registering { until, idle_at } if earlier_deadline(until, idle_at) <= now => {
                let why = if until <= now { "timeout" } else { "silent" };
                self.out.log(format!("no ready frame ({why}): continuing with the registrations so far"));
                self.become_ready();
            }
            ConnectionPhase::Draining { terminate_at: Some(at), kill_at } if at <= now => {
                self.phase = ConnectionPhase::Draining { terminate_at: None, kill_at };
                self.out.log("still running: sending a terminate signal".to_owned());
                self.out.push(SessionOutput::Terminate);
            }
            ConnectionPhase::Draining { terminate_at: None, kill_at } if kill_at <= now => {
                self.out.log("still running: killing the process".to_owned());
                self.close(ExtensionState::Stopped, "was stopped");
            }
            // Not due yet, or without a deadline.
            ConnectionPhase::AwaitHello { .. }
            | ConnectionPhase::Registering { .. }
            | ConnectionPhase::Draining { .. } => {}
            ConnectionPhase::Ready | ConnectionPhase::Closed(_) => {}
        }
    }

    fn become_ready(&mut self) {
        if matches!(self.phase, ConnectionPhase::Registering { .. }) {
            self.phase = ConnectionPhase::Ready;
            self.was_ready = true;
            self.report_surplus();
            self.out.announce_change();
        }
    }

    fn absence_reason(&self) -> Option<String> {
        let gone = self.phase.absence_reason().map(str::to_owned);
        gone.or_else(|| self.input_closed.then(|| "closed its input".to_owned()))
    }

    /// True if reading is paused. The extension's output then waits in its pipe until the extension blocks.
    pub(crate) fn is_paused(&self) -> bool {
        self.unasked.is_paused()
    }

    /// Handles the end of a read that brought `lines` complete lines and `unfinished` bytes of the next line.
    pub(crate) fn handle_read(&mut self, lines: usize, unfinished: usize, now: Instant) {
        self.watch.note_heard(!self.pending.is_empty(), now);
        // During a pause, the remaining bytes are lines that were not looked at yet.
        let unfinished = if self.is_paused() { 0 } else { unfinished };
        self.watch.note_unfinished(unfinished, lines > 0, now);
    }

    fn watch_deadline(&mut self, flushed: u64, now: Instant) {
        if !self.phase.is_in_use() {
            return;
        }
        match self.watch.take_alert(&self.facts.timeouts, self.out.lines, flushed, now) {
            None => {}
            Some(LivenessAlert::Ping(id)) => match self.out.encode(HostFrame::Ping(Ping { id })) {
                Ok(line) => self.out.write(line, false),
                Err(detail) => self.out.log(detail),
            },
            Some(LivenessAlert::Silent) => {
                let after = (self.facts.timeouts.ping + self.facts.timeouts.pong).as_secs_f64();
                let text = format!("was silent for {after} s and did not answer a ping");
                self.fail(FaultCode::Unresponsive, text);
            }
            Some(LivenessAlert::Unfinished(bytes)) => {
                let after = self.facts.timeouts.partial_line.as_secs_f64();
                let text =
                    format!("began a line and did not finish it within {after} s ({bytes} bytes so far)");
                self.fail(FaultCode::Unresponsive, text);
            }
        }
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.facts.timeouts
    }

    /// Asks the extension to leave. After its grace period a terminate signal follows, and then a kill.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        match self.phase {
            ConnectionPhase::Draining { .. } | ConnectionPhase::Closed(_) => return,
            // Nothing is sent before `hello_ack`: the end of the input is the signal.
            ConnectionPhase::AwaitHello { .. } => {}
            ConnectionPhase::Registering { .. } | ConnectionPhase::Ready => {
                match self.encode_frame(HostFrame::Shutdown(Shutdown {})) {
                    Ok(Some(line)) => self.out.write(line, false),
                    Err(detail) => self.out.log(detail),
                    Ok(None) => {}
                }
            }
        }
        self.out.push(SessionOutput::CloseInput);
        self.answer_all("is being stopped");
        self.drop_calls();
        let grace = now + self.facts.timeouts.shutdown_grace;
        self.enter_phase(match self.facts.has_terminate_signal {
            true => ConnectionPhase::Draining {
                terminate_at: Some(grace),
                kill_at: grace + self.facts.timeouts.kill_grace,
            },
            false => ConnectionPhase::Draining { terminate_at: None, kill_at: grace },
        });
        self.out.announce_change();
    }

    /// Records the exit of the process: the rest of its output counts until `at`. A later call replaces an
    /// earlier one, because an exit status is more precise than the end of a stream.
    pub(crate) fn end_at(&mut self, at: Instant, text: String) {
        self.ending = Some((at, text));
    }

    /// Records that the ended process was not the extension: the launcher could not start it.
    pub(crate) fn mark_never_started(&mut self) {
        self.never_started = true;
    }

    /// Handles an extension that closed one of its streams and still runs. It counts as ended, unless it is
    /// leaving; it then has the usual time.
    pub(crate) fn on_half_closed(&mut self, at: Instant, symptom: &str) {
        if !matches!(self.phase, ConnectionPhase::Draining { .. }) {
            self.end_at(at, symptom.to_owned());
        }
    }

    /// Handles an extension that closed its input and still runs. If all queries were delivered, it may still
    /// answer them. Otherwise it has only the time in which a process exit is noticed, because the exit is
    /// more precise.
    pub(crate) fn on_input_closed(&mut self, flushed: u64, now: Instant) {
        self.input_closed = true;
        let Timeouts { pipe_drain, half_closed, .. } = *self.facts.timeouts;
        let time = if self.pending.waits_beyond(flushed) { pipe_drain } else { half_closed };
        self.on_half_closed(now + time, "closed its input and kept running");
    }

    /// Ends the connection with this text.
    pub(crate) fn end(&mut self, text: &str) {
        match self.phase {
            ConnectionPhase::Draining { .. } => self.close(ExtensionState::Stopped, "was stopped"),
            ConnectionPhase::AwaitHello { .. } if self.never_started => {
                let code = match text.contains(NO_SANDBOX) {
                    true => FaultCode::SandboxUnavailable,
                    false => FaultCode::SpawnFailed,
                };
                self.fail(code, text.to_owned());
            }
            ConnectionPhase::AwaitHello { .. } => self.fail(FaultCode::Exited, ended_before_hello(text)),
            ConnectionPhase::Registering { .. } | ConnectionPhase::Ready => {
                self.fail(FaultCode::Exited, text.to_owned())
            }
            ConnectionPhase::Closed(_) => {}
        }
    }

    /// Handles an extension that does not read its input.
    pub(crate) fn on_write_stalled(&mut self) {
        if !matches!(self.phase, ConnectionPhase::Draining { .. }) {
            let after = self.facts.timeouts.write_stall.as_secs_f64();
            self.fail(FaultCode::WriteStalled, format!("did not read its input for {after} s"));
        }
    }

    /// Fails an overdue query. If its line was never written, the extension does not read, and the connection
    /// fails.
    fn fail_overdue(&mut self, open: OpenQuestion<T>, flushed: u64) {
        let OpenQuestion { ticket, kind, what, after, line, .. } = open;
        let seconds = after.as_secs_f64();
        // A missed completion is not worth a restart of the extension.
        if line > flushed && kind != QuestionKind::Completions {
            let why = format!("does not read its input: {what} could not be delivered within {seconds} s");
            self.out.push(SessionOutput::Answer(ticket, Err(CallError::Gone { why: why.clone() })));
            self.fail(FaultCode::WriteStalled, why);
            return;
        }
        let code = match kind {
            QuestionKind::Intercept | QuestionKind::ContentIntercept | QuestionKind::Wait => {
                FaultCode::HookTimeout
            }
            QuestionKind::Command | QuestionKind::Completions | QuestionKind::Tool | QuestionKind::Call => {
                FaultCode::CallTimeout
            }
        };
        self.out.push_fault(code, format!("{what} was not answered within {seconds} s"));
        self.out.push(SessionOutput::Answer(ticket, Err(CallError::TimedOut { after })));
        self.end_calls_for(line);
    }

    /// Ends the connection for a reason that is reported, unless the connection is being stopped.
    fn fail(&mut self, code: FaultCode, message: String) {
        match self.phase {
            ConnectionPhase::Closed(_) => {}
            ConnectionPhase::Draining { .. } => {
                self.out.log(format!("{code}: {message}"));
                self.close(ExtensionState::Stopped, "was stopped");
            }
            ConnectionPhase::AwaitHello { .. }
            | ConnectionPhase::Registering { .. }
            | ConnectionPhase::Ready => {
                self.out.push_fault(code, message.clone());
                self.close(ExtensionState::Failed { code, message: message.clone() }, &message);
            }
        }
    }

    fn close(&mut self, state: ExtensionState, why: &str) {
        self.enter_phase(ConnectionPhase::Closed(state));
        self.unasked.end(&mut self.out);
        if let Some(text) = self.out.reports.summary() {
            self.out.log(text);
        }
        self.answer_all(why);
        self.drop_calls();
        self.out.announce_change();
    }

    pub(crate) fn answer_all(&mut self, why: &str) {
        for open in self.pending.drain() {
            self.out.push(SessionOutput::Answer(open.ticket, Err(CallError::Gone { why: why.to_owned() })));
        }
    }

    /// Ends the calls that serve the query in this line, because no caller waits for its answer.
    fn end_calls_for(&mut self, line: u64) {
        if !is_up(Defense::ServedRequests) {
            return;
        }
        for id in self.calls.ended_by(line, &self.pending) {
            self.out.push(SessionOutput::CancelCall(id));
        }
    }

    /// Drops all calls of the extension.
    fn drop_calls(&mut self) {
        if self.calls.clear() {
            self.out.push(SessionOutput::DropCalls);
        }
    }

    fn enter_phase(&mut self, phase: ConnectionPhase) {
        if !phase.is_in_use() {
            self.out.stop_reporting();
        }
        self.phase = phase;
    }
}

/// Returns the text about a process that ended before its hello. Shells, `env` and version-manager shims exit
/// with 126 or 127 when they cannot start the program.
fn ended_before_hello(text: &str) -> String {
    let (ended, printed) = text.split_at(text.find(PRINTED).unwrap_or(text.len()));
    let hint = match ended.strip_prefix("exited with status ") {
        Some("126") => " (the command was found, but could not be executed)",
        Some("127") => " (the command was not found)",
        Some(_) | None => return format!("ended before hello: {text}"),
    };
    format!(
        "ended before hello: {ended}{hint}; if the interpreter is a shim, for example of pyenv, the sandbox may block it: in the \
         manifest, set `exec` to the interpreter, for example `python3`, and `args` to the script{printed}"
    )
}
