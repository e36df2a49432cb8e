//! What each line of an extension does to its session.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use haft_protocol::codec::{self, Bounds, Decoded, Plain, Reading};
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{
    ExtensionFrame, Hello, HostFrame, PROTOCOL_VERSION, RegisterCommand, RegisterRejected, RegisterTool,
    Response, Subscribe, capability,
};
use haft_protocol::ids::RequestId;

use super::dialect::{Answer, Speech};
use super::granted::{granted_of, rejected_tool};
use super::offers::Offers;
use super::pending::{Kind, Past};
use super::{Output, Phase, Session, Ui};
use crate::wire::decode::{Ear, Heard, Said, Unreadable, excerpt};
use crate::wire::fault::{CallError, FaultCode};

/// Lines that are no frames and still do not end an extension that has not said hello: package managers greet.
const JUNK_BEFORE_HELLO: u32 = 20;

impl<T> Session<T> {
    /// A line came.
    pub(crate) fn handle_line(&mut self, line: &Bytes, known: Plain, now: Instant) {
        if !self.is_closed() {
            self.handle_heard(self.ear().hear(line, known), now);
        }
    }

    /// A line came that somebody else has read, with this [`ear`](Self::ear).
    pub(crate) fn handle_heard(&mut self, heard: Heard, now: Instant) {
        if self.is_closed() {
            return;
        }
        match heard.said {
            Said::Frame(frame) => self.on_decoded(frame, heard.bytes, now),
            Said::Reply(reply) => self.on_reply(reply, heard.bytes, now),
        }
    }

    fn on_decoded(&mut self, frame: Result<Reading<ExtensionFrame>, Unreadable>, bytes: usize, now: Instant) {
        match frame {
            Ok(Reading { frame: Decoded::Known(frame), mended }) => {
                if mended {
                    let kind = codec::FrameSet::kind(&frame);
                    self.log(format!("half of a surrogate pair in a {kind} frame became U+FFFD"));
                }
                if self.is_unasked(&frame) {
                    self.count(bytes, now);
                }
                self.on_frame(frame, bytes, now);
            }
            Ok(Reading { frame: Decoded::Unknown { kind, .. }, .. }) => {
                self.count(bytes, now);
                self.on_unknown(&kind, now);
            }
            Err(unreadable) if is_up(Defence::StrictFrames) => self.on_unreadable(unreadable, bytes, now),
            Err(_) => {}
        }
    }

    /// The last line, without its newline. Returns how many bytes it had if it is half a frame.
    pub(crate) fn handle_tail(&mut self, heard: Heard, now: Instant) -> Option<usize> {
        match heard.said {
            Said::Frame(Ok(Reading { frame: Decoded::Known(frame), .. })) => {
                self.on_frame(frame, heard.bytes, now);
            }
            Said::Frame(Ok(Reading { frame: Decoded::Unknown { .. }, .. }) | Err(_)) => {
                return Some(heard.bytes);
            }
            Said::Reply(reply @ Ok(_)) => self.on_reply(reply, heard.bytes, now),
            Said::Reply(Err(_)) => return Some(heard.bytes),
        }
        None
    }

    /// How a line is read. The reader keeps to the line's limit of the moment; a question dropped since must not fail its
    /// late answer.
    pub(crate) fn ear(&self) -> Ear {
        let limits = &self.facts.limits;
        let bounds =
            Bounds { line: limits.max_result_line, depth: limits.max_depth, nodes: limits.max_nodes };
        self.facts.speech.ear(bounds)
    }

    fn on_frame(&mut self, frame: ExtensionFrame, bytes: usize, now: Instant) {
        match &mut self.phase {
            Phase::Closed(_) => return,
            Phase::AwaitHello { .. } => return self.on_first(frame, now),
            Phase::Registering { idle_at, .. } if idle_at.is_some() || registers(&frame) => {
                *idle_at = Some(now + self.facts.timeouts.idle_ready);
            }
            Phase::Registering { .. } | Phase::Ready | Phase::Draining { .. } => {}
        }
        match frame {
            // It was slow to start, and is not answered any more.
            ExtensionFrame::Hello(_) if !self.has_greeted() => {
                self.too_late = true;
                self.log("said hello when it was asked to leave".to_owned());
                self.changed();
            }
            ExtensionFrame::Hello(_) => self.report(FaultCode::FrameInvalid, "said hello twice".to_owned()),
            ExtensionFrame::RegisterCommand(command) => self.on_command(command),
            ExtensionFrame::RegisterTool(tool) => self.on_tool(tool, now),
            ExtensionFrame::Subscribe(subscribe) => self.on_subscribe(subscribe, now),
            ExtensionFrame::Ready(_) => self.become_ready(),
            ExtensionFrame::ToolResult(result) => self.on_response(Response::Tool(result), bytes, now),
            ExtensionFrame::EventInterceptResponse(answer) => {
                self.on_response(Response::Intercept(answer), bytes, now);
            }
            ExtensionFrame::CommandResponse(answer) => {
                self.flush_panels();
                self.on_response(Response::Command(answer), bytes, now);
            }
            ExtensionFrame::CommandCompletionsResponse(answer) => {
                self.on_response(Response::Completions(answer), bytes, now);
            }
            ExtensionFrame::HostCall(call) => self.on_host_call(call, bytes, now),
            ExtensionFrame::HostCallCancel(cancel) => self.on_host_call_cancel(cancel.id, bytes, now),
            ExtensionFrame::PanelRender(panel) => self.on_panel_render(panel, now),
            ExtensionFrame::PanelClose(panel) => self.on_panel_close(panel),
            ExtensionFrame::Notify(note) => self.on_note(note, now),
            ExtensionFrame::ClearNotes(clear) if self.reports.take_notes() => {
                self.out.push_back(Output::Ui(Ui::ClearNotes(clear)));
            }
            ExtensionFrame::ClearNotes(_) => {}
            ExtensionFrame::SetStatus(status) => self.on_status(status, now),
            ExtensionFrame::Pong(pong) => self.on_pong(&pong, now),
            ExtensionFrame::ShutdownAck(_) => self.log("shutdown_ack".to_owned()),
        }
    }

    fn on_first(&mut self, frame: ExtensionFrame, now: Instant) {
        let ExtensionFrame::Hello(hello) = frame else {
            if !is_up(Defence::FirstFrame) {
                return;
            }
            let kind = codec::FrameSet::kind(&frame);
            return self
                .fail(FaultCode::HelloInvalid, format!("sent {kind} first; hello must be the first frame"));
        };
        self.on_hello(hello, now);
    }

    fn on_hello(&mut self, hello: Hello, now: Instant) {
        if let Some(other) = hello.other_version().filter(|_| is_up(Defence::ProtocolVersion)) {
            let text = format!(
                "speaks version {} of the protocol, haft speaks {PROTOCOL_VERSION}",
                excerpt(other.as_bytes())
            );
            return self.fail(FaultCode::VersionMismatch, text);
        }
        let greeting = match &mut self.facts.speech {
            Speech::Native(greeting) => greeting.take(),
            // It sends no frames.
            Speech::Hook(_) => None,
        };
        match greeting.map(|greeting| greeting.line().and_then(|line| self.bounded(line))) {
            Some(Ok(ack)) => self.write(ack, false),
            Some(Err(detail)) => {
                return self.fail(FaultCode::HelloInvalid, format!("cannot be greeted: {detail}"));
            }
            // A second hello does not come here.
            None => {}
        }
        if hello.name != self.facts.name.as_str() {
            let (said, named) = (excerpt(hello.name.as_bytes()), &self.facts.name);
            let text = format!("calls itself {said}, its manifest says {named}; {named} is used");
            self.report(FaultCode::HelloInvalid, text);
        }
        self.watch.pings = hello.capabilities.iter().any(|name| name == capability::PING);
        Arc::make_mut(&mut self.offers).capabilities = hello.capabilities;
        self.phase = Phase::Registering { until: now + self.facts.timeouts.ready, idle_at: None };
        self.changed();
    }

    fn on_tool(&mut self, tool: RegisterTool, now: Instant) {
        let granted = self.facts.granted.as_deref();
        if let Some(rejected) = granted.and_then(|granted| rejected_tool(granted, &tool.name)) {
            return self.reject(rejected, now);
        }
        if self.offers.has_room_for_tool(&tool.name) {
            self.register(|offers| offers.add_tool(tool));
        } else {
            self.on_surplus();
        }
    }

    fn on_command(&mut self, command: RegisterCommand) {
        if self.offers.has_room_for_command(&command.name) {
            self.register(|offers| offers.add_command(command));
        } else {
            self.on_surplus();
        }
    }

    fn on_surplus(&mut self) {
        self.reports.surplus();
        self.report_surplus();
    }

    fn register(&mut self, add: impl FnOnce(&mut Offers) -> Result<(), String>) {
        match add(Arc::make_mut(&mut self.offers)) {
            Ok(()) => self.changed(),
            Err(text) => self.report(FaultCode::RegisterRejected, text),
        }
    }

    fn on_subscribe(&mut self, subscribe: Subscribe, now: Instant) {
        let (subscribe, rest) = match &self.facts.granted {
            Some(granted) => granted_of(granted, subscribe),
            None => (subscribe, Vec::new()),
        };
        for rejected in rest {
            self.reject(rejected, now);
        }
        let wrong = Arc::make_mut(&mut self.offers).subscribe(subscribe);
        self.changed();
        for text in wrong {
            self.report(FaultCode::RegisterRejected, text);
        }
    }

    /// It may not register this: the user reads it, and the extension, if it wants to.
    fn reject(&mut self, rejected: RegisterRejected, now: Instant) {
        self.report(FaultCode::RegisterRejected, rejected.reason.clone());
        if self.offers.announced(capability::REGISTER_REJECTED) {
            self.tell(HostFrame::RegisterRejected(rejected), now);
        }
    }

    fn on_response(&mut self, response: Response, bytes: usize, now: Instant) {
        let Some(open) = self.pending.get(response.id()) else {
            let kind = Kind::of(&response).response_type();
            return self.on_stray(kind, response.id(), bytes, now);
        };
        if open.kind != Kind::of(&response) && is_up(Defence::AnswerKinds) {
            let (got, due) = (Kind::of(&response).response_type(), open.kind.response_type());
            let text = format!("{} was answered with {got} instead of {due}", open.what);
            self.count(bytes, now);
            return self.report(FaultCode::FrameInvalid, text);
        }
        if let Some(open) = self.pending.answered(response.id()) {
            self.out.push_back(Output::Answer(open.ticket, Ok(Answer::Frame(response))));
        }
    }

    /// A response to no open question. One that merely comes late was reported when its deadline passed.
    pub(super) fn on_stray(&mut self, kind: &str, id: &RequestId, bytes: usize, now: Instant) {
        if !is_up(Defence::StrayAnswers) {
            return;
        }
        let past = self.pending.look_back(id);
        let id = excerpt(id.as_str().as_bytes());
        if !matches!(past, Some(Past::Dropped(_))) {
            self.count(bytes, now);
        }
        match past {
            Some(Past::Dropped(_)) => self.log(format!("{}: {kind} {id}", FaultCode::LateResponse)),
            Some(Past::Answered) => {
                self.report(FaultCode::DuplicateResponse, format!("sent a second {kind} for one question"));
            }
            None if matches!(self.phase, Phase::Draining { .. }) => self.log(format!("late {kind} {id}")),
            None => self.report(FaultCode::UnknownId, format!("sent a {kind} for {id}, which nobody asked")),
        }
    }

    fn on_unknown(&mut self, kind: &str, now: Instant) {
        if matches!(self.phase, Phase::AwaitHello { .. }) {
            let text = format!("sent {:?} first; hello must be the first frame", excerpt(kind.as_bytes()));
            return self.fail(FaultCode::HelloInvalid, text);
        }
        let kind = excerpt(kind.as_bytes());
        let text = format!("sent a frame of unknown type {kind:?}, which is ignored");
        if !is_up(Defence::UnknownTypes) {
            return self.fail(FaultCode::FrameUnknownType, text);
        }
        let pause = self.facts.timeouts.unknown_type_pause;
        if self.is_in_use() && self.reports.admit_unknown_type(&kind, pause, now) {
            self.fault(FaultCode::FrameUnknownType, text);
        } else {
            self.log(text);
        }
    }

    fn on_unreadable(&mut self, unreadable: Unreadable, bytes: usize, now: Instant) {
        let error = &unreadable.error;
        let code = FaultCode::from(error);
        if let Some(open) = unreadable.id.as_ref().and_then(|id| self.pending.answered(id)) {
            // A gate whose answer cannot be read is a failed gate, and the message should say so.
            let code = if open.kind == Kind::Intercept { FaultCode::HookError } else { code };
            self.fault(code, format!("{}: {error}", open.what));
            let answer = CallError::BadResponse { detail: error.to_string() };
            return self.out.push_back(Output::Answer(open.ticket, Err(answer)));
        }
        self.count(bytes, now);
        if matches!(error, DecodeError::Malformed { .. }) {
            if matches!(self.phase, Phase::AwaitHello { .. }) {
                return self
                    .fail(FaultCode::HelloInvalid, format!("its first frame is not a hello: {error}"));
            }
            return self.report(code, error.to_string());
        }
        self.on_junk(code, &unreadable, now);
    }

    /// A line that is no frame. What an author prints by mistake is text and does no harm; what is no text at all comes
    /// from a program that does not speak this protocol, and waiting for it to begin is in vain.
    fn on_junk(&mut self, code: FaultCode, unreadable: &Unreadable, now: Instant) {
        let Unreadable { error, garbled, excerpt, .. } = unreadable;
        if *garbled && self.rates.garbled(now) && is_up(Defence::GarbledLines) {
            let text = format!("sent line after line that is no text: {error} in {excerpt:?}");
            return self.fail(code, text);
        }
        let hint = if code == FaultCode::FrameNotJson {
            "; standard output carries frames only, write logs to stderr"
        } else {
            ""
        };
        self.report(code, format!("{error} in {excerpt:?}{hint}"));
        let junk = self.reports.junk();
        if matches!(self.phase, Phase::AwaitHello { .. }) && junk > JUNK_BEFORE_HELLO {
            self.fail(
                FaultCode::HelloInvalid,
                format!("sent {junk} lines that are no frames instead of hello"),
            );
        }
    }

    /// Reports what an author should see, as often as is useful; the log has the rest.
    pub(super) fn report(&mut self, code: FaultCode, text: String) {
        if self.reports.admit(code) && self.is_in_use() {
            self.fault(code, text);
        } else {
            self.log(format!("{code}: {text}"));
        }
    }

    /// Whether the author's mistakes still matter: it is neither gone nor being stopped.
    pub(super) fn is_in_use(&self) -> bool {
        !matches!(self.phase, Phase::Draining { .. } | Phase::Closed(_))
    }
}

/// Whether it says what the extension is there for.
fn registers(frame: &ExtensionFrame) -> bool {
    use ExtensionFrame::{RegisterCommand, RegisterTool, Subscribe};
    matches!(frame, RegisterCommand(_) | RegisterTool(_) | Subscribe(_))
}
