//! The effect of each line of an extension on its session.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use haft_protocol::RawJson;
use haft_protocol::codec::{self, DecodeOutcome, DecodedFrame, LineLimits, PlainSpan};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{
    ExtensionFrame, Hello, HostCall, HostCallError, HostCallKind, HostCallProgress, HostFrame, HostResult,
    MirrorPart, PROTOCOL_VERSION, Pong, QueryResponse, RegisterCommand, RegisterFrame, RegisterRejected,
    RegisterTool, RegistrationKind, ShowCall, SubmitSlash, Subscribe, ToolCallProgress, UnregisterFrame,
    capability,
};
use haft_protocol::foreign::{BadAnswer, ForeignAnswer, TranslatedPart};
use haft_protocol::ids::RequestId;

use super::calls::{CallRefusal, ReplyForm, ServedRequest, first_line};
use super::grants::{reject_mirror, reject_shortcut, reject_tool, split_granted};
use super::mirror_parts::MirrorParts;
use super::offers::{ExtensionOffers, unknown_kind};
use super::output::{CallId, HostCallTask, QueryAnswer};
use super::pending::{OpenQuestion, QuestionFate, QuestionKind};
use super::rates::LoopingCall;
use super::unrequested::{RateOverrun, UnrequestedFrames};
use super::{ConnectionPhase, ExtensionSession, SessionOutput};
use crate::wire::decode::{DecodedLine, LineContent, LineDecoder, MalformedLine, excerpt};
use crate::wire::fault::{CallError, FaultCode};

/// The answers of an extension that speaks another protocol, for messages.
const REPLY: &str = "reply";

/// The number of lines before hello that may be invalid frames: package managers print greetings.
const JUNK_BEFORE_HELLO: u32 = 20;

impl<T> ExtensionSession<T> {
    pub(crate) fn handle_line(&mut self, line: &Bytes, known: PlainSpan, now: Instant) {
        if !self.is_closed() {
            self.handle_decoded(self.line_decoder().decode(line, known), now);
        }
    }

    /// Handles a line that was decoded elsewhere with this [`line_decoder`](Self::line_decoder).
    pub(crate) fn handle_decoded(&mut self, decoded_line: DecodedLine, now: Instant) {
        if self.is_closed() {
            return;
        }
        match decoded_line.content {
            LineContent::Frame(frame) => self.on_decoded(frame, decoded_line.bytes, now),
            LineContent::Translated(parts) => {
                parts.into_iter().for_each(|part| self.on_translation(part, decoded_line.bytes, now));
            }
        }
    }

    fn on_decoded(
        &mut self,
        frame: Result<DecodeOutcome<ExtensionFrame>, MalformedLine>,
        bytes: usize,
        now: Instant,
    ) {
        match frame {
            Ok(DecodeOutcome { frame: DecodedFrame::Known(frame), repaired: is_repaired }) => {
                if is_repaired {
                    let kind = codec::FrameSet::kind(&frame);
                    self.out.log(format!("replaced an unpaired surrogate in a {kind} frame with U+FFFD"));
                }
                if is_unrequested(&frame, &self.phase) {
                    self.count_unrequested(bytes, now);
                }
                self.on_frame(frame, bytes, now);
            }
            Ok(DecodeOutcome { frame: DecodedFrame::Unknown { kind, .. }, .. }) => {
                self.count_unrequested(bytes, now);
                self.on_unknown(&kind, now);
            }
            Err(unreadable) if is_up(Defense::StrictFrames) => self.on_unreadable(unreadable, bytes, now),
            Err(_) => {}
        }
    }

    /// Handles the last line, without a newline. Returns its length if it is an incomplete frame.
    pub(crate) fn handle_tail(&mut self, decoded_line: DecodedLine, now: Instant) -> Option<usize> {
        match decoded_line.content {
            LineContent::Frame(Ok(DecodeOutcome { frame: DecodedFrame::Known(frame), .. })) => {
                self.on_frame(frame, decoded_line.bytes, now);
            }
            LineContent::Frame(Ok(DecodeOutcome { frame: DecodedFrame::Unknown { .. }, .. }) | Err(_)) => {
                return Some(decoded_line.bytes);
            }
            LineContent::Translated(parts) => {
                if let [TranslatedPart::Skipped { .. }] = parts[..] {
                    return Some(decoded_line.bytes);
                }
                parts.into_iter().for_each(|part| self.on_translation(part, decoded_line.bytes, now));
            }
        }
        None
    }

    /// Returns the decoder of a line. The reader keeps the line limit of its start: a query that was dropped
    /// since then must not make its late answer fail.
    pub(crate) fn line_decoder(&self) -> LineDecoder {
        let limits = &self.facts.limits;
        let bounds =
            LineLimits { line: limits.max_result_line, depth: limits.max_depth, nodes: limits.max_nodes };
        match self.facts.translator.clone() {
            None => {
                LineDecoder::Frames { bounds, has_tools_2: self.offers.has_capability(capability::TOOLS_2) }
            }
            Some(translator) => LineDecoder::Foreign { bounds, translator },
        }
    }

    fn on_frame(&mut self, frame: ExtensionFrame, bytes: usize, now: Instant) {
        match &mut self.phase {
            ConnectionPhase::Closed(_) => return,
            ConnectionPhase::AwaitHello { .. } => return self.on_first_frame(frame, now),
            ConnectionPhase::Registering { idle_at, .. } if idle_at.is_some() || is_registration(&frame) => {
                *idle_at = Some(now + self.facts.timeouts.idle_ready);
            }
            ConnectionPhase::Registering { .. }
            | ConnectionPhase::Ready
            | ConnectionPhase::Draining { .. } => {}
        }
        match frame {
            ExtensionFrame::Hello(_) => self.on_later_hello(),
            ExtensionFrame::RegisterCommand(command) => self.on_command(command),
            ExtensionFrame::RegisterTool(tool) => self.on_tool(tool, now),
            ExtensionFrame::Register(register) => self.on_register(register, now),
            ExtensionFrame::Unregister(unregister) => self.on_unregister(&unregister),
            ExtensionFrame::Subscribe(subscribe) => self.on_subscribe(subscribe, now),
            ExtensionFrame::Ready(_) => self.become_ready(),
            ExtensionFrame::ToolResult(result) => self.on_response(QueryResponse::Tool(result), bytes, now),
            ExtensionFrame::Progress(progress) => self.on_progress(progress, now),
            ExtensionFrame::EventInterceptResponse(mut answer) => {
                if !self.offers.has_capability(capability::HOOKS_2) {
                    answer.stop = None;
                }
                self.on_response(QueryResponse::Intercept(answer), bytes, now);
            }
            ExtensionFrame::CommandResponse(answer) => {
                self.unasked.flush_panels(&mut self.out);
                self.on_response(QueryResponse::Command(answer), bytes, now);
            }
            ExtensionFrame::ExtResult(result) => self.on_response(QueryResponse::Call(result), bytes, now),
            ExtensionFrame::CommandCompletionsResponse(answer) => {
                self.on_response(QueryResponse::Completions(answer), bytes, now);
            }
            ExtensionFrame::HostCall(call) => self.on_host_call(call, ReplyForm::HostResult, bytes, now),
            ExtensionFrame::Submit(submit) => {
                self.on_host_call(submit.into_host_call(), ReplyForm::HostResult, bytes, now)
            }
            ExtensionFrame::SubmitSlash(submit) => self.on_submit_slash(submit, bytes, now),
            ExtensionFrame::OpenPanel(open) => {
                self.on_host_call(open.into_host_call(), ReplyForm::HostResult, bytes, now)
            }
            ExtensionFrame::CallTool(call) => {
                let reply = ReplyForm::ToolResult(call.name.clone());
                self.on_host_call(call.into_host_call(), reply, bytes, now);
            }
            ExtensionFrame::CallToolCancel(cancel) => self.on_host_call_cancel(cancel.id, bytes, now),
            ExtensionFrame::HostCallCancel(cancel) => self.on_host_call_cancel(cancel.id, bytes, now),
            ExtensionFrame::PanelRender(panel) => self.unasked.on_panel_render(panel, now, &mut self.out),
            ExtensionFrame::PanelClose(panel) => self.unasked.on_panel_close(panel, &mut self.out),
            ExtensionFrame::Notify(note) => self.unasked.on_note(note, now, &mut self.out),
            ExtensionFrame::ClearNotes(clear) => UnrequestedFrames::on_clear_notes(clear, &mut self.out),
            ExtensionFrame::SetStatus(status) => self.unasked.on_status(status, now, &mut self.out),
            ExtensionFrame::Pong(pong) => self.on_pong(&pong, now),
            ExtensionFrame::ShutdownAck(_) => self.out.log("shutdown_ack".to_owned()),
        }
    }

    /// Handles a `hello` that does not begin the connection.
    fn on_later_hello(&mut self) {
        if self.has_greeted() {
            return self.out.report(FaultCode::FrameInvalid, "sent hello twice".to_owned());
        }
        // The extension was slow to start and receives no answer any more.
        self.too_late = true;
        self.out.log("sent hello after the shutdown request".to_owned());
        self.out.announce_change();
    }

    fn on_first_frame(&mut self, frame: ExtensionFrame, now: Instant) {
        let ExtensionFrame::Hello(hello) = frame else {
            if !is_up(Defense::FirstFrame) {
                return;
            }
            let kind = codec::FrameSet::kind(&frame);
            return self
                .fail(FaultCode::HelloInvalid, format!("sent {kind} first; hello must be the first frame"));
        };
        self.on_hello(hello, now);
    }

    fn on_hello(&mut self, hello: Hello, now: Instant) {
        if let Some(other) = hello.other_version().filter(|_| is_up(Defense::ProtocolVersion)) {
            let text = format!(
                "speaks version {} of the protocol, but haft speaks version {PROTOCOL_VERSION}",
                excerpt(other.as_bytes())
            );
            return self.fail(FaultCode::VersionMismatch, text);
        }
        let greeting = self.facts.greeting.take();
        match greeting.map(|greeting| greeting.line().and_then(|line| self.out.check_line_length(line))) {
            Some(Ok(ack)) => self.out.write(ack, false),
            Some(Err(detail)) => {
                return self.fail(FaultCode::HelloInvalid, format!("could not be sent a greeting: {detail}"));
            }
            // The translator has greeted. A second hello is handled before this point.
            None => {}
        }
        self.greeted = true;
        if hello.name != self.facts.name.as_str() {
            let (sent_name, named) = (excerpt(hello.name.as_bytes()), &self.facts.name);
            let text = format!("sent the name {sent_name}, but its manifest has {named}; haft uses {named}");
            self.out.report(FaultCode::HelloInvalid, text);
        }
        self.watch.pings = hello.capabilities.iter().any(|name| name == capability::PING);
        Arc::make_mut(&mut self.offers).capabilities = hello.capabilities;
        self.set_mirror(&hello.mirror, now);
        self.phase = ConnectionPhase::Registering { until: now + self.facts.timeouts.ready, idle_at: None };
        self.out.announce_change();
    }

    /// Sets the parts that the extension mirrors.
    fn set_mirror(&mut self, parts: &[String], now: Instant) {
        let unknown = parts.iter().find(|part| MirrorPart::from_name(part).is_none());
        let mistake = match unknown {
            _ if parts.is_empty() => None,
            _ if !self.offers.has_capability(capability::MIRROR) => Some(
                "hello names parts of a mirror, but not the capability `mirror`; add it there".to_owned(),
            ),
            Some(part) => {
                Some(format!("cannot mirror {:?}: this version has no such part", excerpt(part.as_bytes())))
            }
            None => None,
        };
        if let Some(mistake) = mistake {
            self.out.report(FaultCode::RegisterRejected, mistake);
        }
        let parts = MirrorParts::from_names(parts);
        if parts.is_empty() || !self.offers.has_capability(capability::MIRROR) {
            return;
        }
        match self.facts.granted.as_deref().and_then(reject_mirror) {
            Some(rejected) => self.reject_registration(rejected, now),
            None => Arc::make_mut(&mut self.offers).mirror = parts,
        }
    }

    fn on_tool(&mut self, tool: RegisterTool, now: Instant) {
        let tool =
            if self.offers.has_capability(capability::TOOLS_2) { tool } else { tool.without_tools_2() };
        let granted = self.facts.granted.as_deref();
        if let Some(rejected) = granted.and_then(|granted| reject_tool(granted, &tool.name)) {
            return self.reject_registration(rejected, now);
        }
        if self.offers.has_room_for_tool(&tool.name) {
            self.add_offer(|offers| offers.add_tool(tool));
        } else {
            self.on_surplus();
        }
    }

    fn on_command(&mut self, command: RegisterCommand) {
        if self.offers.has_room_for_command(&command.name) {
            self.add_offer(|offers| offers.add_command(command));
        } else {
            self.on_surplus();
        }
    }

    fn on_register(&mut self, register: RegisterFrame, now: Instant) {
        if !self.offers.has_capability(capability::CALLS) {
            return self.out.report(FaultCode::RegisterRejected, missing_calls("register"));
        }
        if RegistrationKind::from_name(&register.kind) != Some(RegistrationKind::Shortcut) {
            return self.out.report(FaultCode::RegisterRejected, unknown_kind(&register.kind));
        }
        let granted = self.facts.granted.as_ref();
        match granted.and_then(|granted| reject_shortcut(granted, &register.name)) {
            Some(rejected) => self.reject_registration(rejected, now),
            None => self.add_offer(|offers| offers.add_shortcut(register)),
        }
    }

    fn on_unregister(&mut self, unregister: &UnregisterFrame) {
        match self.offers.has_capability(capability::CALLS) {
            true => self.add_offer(|offers| offers.remove_registration(unregister)),
            false => self.out.report(FaultCode::RegisterRejected, missing_calls("unregister")),
        }
    }

    fn on_surplus(&mut self) {
        self.out.reports.count_surplus();
        self.report_surplus();
    }

    fn add_offer(&mut self, add: impl FnOnce(&mut ExtensionOffers) -> Result<(), String>) {
        match add(Arc::make_mut(&mut self.offers)) {
            Ok(()) => self.out.announce_change(),
            Err(text) => self.out.report(FaultCode::RegisterRejected, text),
        }
    }

    fn on_subscribe(&mut self, subscribe: Subscribe, now: Instant) {
        let (subscribe, rest) = match &self.facts.granted {
            Some(granted) => split_granted(granted, subscribe),
            None => (subscribe, Vec::new()),
        };
        for rejected in rest {
            self.reject_registration(rejected, now);
        }
        let wrong = Arc::make_mut(&mut self.offers).subscribe(subscribe);
        self.out.announce_change();
        for text in wrong {
            self.out.report(FaultCode::RegisterRejected, text);
        }
    }

    /// Rejects a registration. The user sees the reason, and the extension receives it if it announced the
    /// capability.
    fn reject_registration(&mut self, rejected: RegisterRejected, now: Instant) {
        self.out.report(FaultCode::RegisterRejected, rejected.reason.clone());
        if self.offers.has_capability(capability::REGISTER_REJECTED) {
            self.send_message(HostFrame::RegisterRejected(rejected), now);
        }
    }

    fn on_response(&mut self, response: QueryResponse, bytes: usize, now: Instant) {
        let Some(open) = self.pending.get(response.id()) else {
            let kind = QuestionKind::from_response(&response).response_type();
            return self.on_stray(kind, response.id(), bytes, now);
        };
        if !open.kind.is_answered_by(&response) && is_up(Defense::AnswerKinds) {
            let (got, due) =
                (QuestionKind::from_response(&response).response_type(), open.kind.response_type());
            let text = format!("{} was answered with {got} instead of {due}", open.what);
            self.count_unrequested(bytes, now);
            return self.out.report(FaultCode::FrameInvalid, text);
        }
        if let Some(open) = self.close_answered(response.id()) {
            self.out.push(SessionOutput::Answer(open.ticket, Ok(response.into())));
        }
    }

    /// Handles the progress of a tool call, which restarts the time limit of the call.
    fn on_progress(&mut self, mut progress: ToolCallProgress, now: Instant) {
        if !self.offers.has_capability(capability::PROGRESS) {
            return self.on_unknown("progress", now);
        }
        let Some(open) = self.pending.get(&progress.id) else { return self.on_stray_progress(&progress.id) };
        if open.kind != QuestionKind::Tool {
            let text = format!("sent progress for {}; only tool calls have progress", open.what);
            return self.out.report(FaultCode::FrameInvalid, text);
        }
        if let Some(detail) = overlong_details(progress.details.as_ref(), self.facts.limits.max_line) {
            let text = format!("progress of {}: {detail}", open.what);
            self.out.report(FaultCode::FrameInvalid, text);
            progress.details = None;
        }
        let open = self.pending.renew_deadline(&progress.id, now);
        let has_content = progress.content.is_some() || progress.details.is_some();
        if let Some(sender) = open.and_then(|open| open.progress.clone()).filter(|_| has_content) {
            self.out.push(SessionOutput::Progress(sender, progress));
        }
    }

    fn on_stray_progress(&mut self, id: &RequestId) {
        if !is_up(Defense::StrayAnswers) {
            return;
        }
        let text =
            format!("sent progress with the id {}, which no open call has", excerpt(id.as_str().as_bytes()));
        // The call was cancelled, and the two messages crossed.
        let crossed = self.pending.is_dropped(id) || matches!(self.phase, ConnectionPhase::Draining { .. });
        match crossed {
            true => self.out.log(text),
            false => self.out.report(FaultCode::UnknownId, text),
        }
    }

    /// Closes an answered query, and withdraws the questions to the person that it asked for.
    fn close_answered(&mut self, id: &RequestId) -> Option<OpenQuestion<T>> {
        let open = self.pending.close_answered(id)?;
        for question in self.calls.questions_under(id) {
            self.out.push(SessionOutput::CancelCall(question));
        }
        Some(open)
    }

    /// Handles a response to no open query. A late response was reported when its deadline passed.
    fn on_stray(&mut self, kind: &str, id: &RequestId, bytes: usize, now: Instant) {
        if !is_up(Defense::StrayAnswers) {
            return;
        }
        let past = self.pending.take_fate(id);
        let id = excerpt(id.as_str().as_bytes());
        if !matches!(past, Some(QuestionFate::Dropped(_))) {
            self.count_unrequested(bytes, now);
        }
        match past {
            Some(QuestionFate::Dropped(_)) => {
                self.out.log(format!("{}: {kind} {id}", FaultCode::LateResponse))
            }
            Some(QuestionFate::Answered) => {
                self.out
                    .report(FaultCode::DuplicateResponse, format!("sent a second {kind} for one request"));
            }
            None if matches!(self.phase, ConnectionPhase::Draining { .. }) => {
                self.out.log(format!("late {kind} {id}"))
            }
            None => self.out.report(FaultCode::UnknownId, format!("sent a {kind} with the unknown id {id}")),
        }
    }

    fn on_unknown(&mut self, kind: &str, now: Instant) {
        if matches!(self.phase, ConnectionPhase::AwaitHello { .. }) {
            let text = format!("sent {:?} first; hello must be the first frame", excerpt(kind.as_bytes()));
            return self.fail(FaultCode::HelloInvalid, text);
        }
        let kind = excerpt(kind.as_bytes());
        let text = format!("sent a frame of unknown type {kind:?}; the frame is ignored");
        if !is_up(Defense::UnknownTypes) {
            return self.fail(FaultCode::FrameUnknownType, text);
        }
        let pause = self.facts.timeouts.unknown_type_pause;
        if self.phase.is_in_use() && self.out.reports.admit_unknown_type(&kind, pause, now) {
            self.out.push_fault(FaultCode::FrameUnknownType, text);
        } else {
            self.out.log(text);
        }
    }

    fn on_unreadable(&mut self, unreadable: MalformedLine, bytes: usize, now: Instant) {
        let error = &unreadable.error;
        let code = FaultCode::from(error);
        if let Some(open) = unreadable.id.as_ref().and_then(|id| self.close_answered(id)) {
            // An unreadable answer of a gate is a failure of the gate, and the message must be clear about
            // that.
            let code = if open.kind.is_hook() { FaultCode::HookError } else { code };
            self.out.push_fault(code, format!("{}: {error}", open.what));
            let answer = CallError::BadResponse { detail: error.to_string() };
            return self.out.push(SessionOutput::Answer(open.ticket, Err(answer)));
        }
        self.count_unrequested(bytes, now);
        if matches!(error, DecodeError::Malformed { .. }) {
            if matches!(self.phase, ConnectionPhase::AwaitHello { .. }) {
                return self
                    .fail(FaultCode::HelloInvalid, format!("the first frame is not a hello: {error}"));
            }
            return self.out.report(code, error.to_string());
        }
        self.on_junk(code, &unreadable, now);
    }

    /// Handles a line that is not a frame. Text that an author prints by mistake is harmless. Binary data
    /// comes from a program without this protocol, so waiting for its hello is pointless.
    fn on_junk(&mut self, code: FaultCode, unreadable: &MalformedLine, now: Instant) {
        let MalformedLine { error, garbled, excerpt, .. } = unreadable;
        if *garbled && self.unasked.count_garbled(now) && is_up(Defense::GarbledLines) {
            let text = format!("sent several lines that are not text: {error} in {excerpt:?}");
            return self.fail(code, text);
        }
        let hint = if code == FaultCode::FrameNotJson {
            "; standard output carries frames only, write logs to stderr"
        } else {
            ""
        };
        self.out.report(code, format!("{error} in {excerpt:?}{hint}"));
        let junk = self.out.reports.junk_count();
        if matches!(self.phase, ConnectionPhase::AwaitHello { .. }) && junk > JUNK_BEFORE_HELLO {
            self.fail(
                FaultCode::HelloInvalid,
                format!("sent {junk} lines that are not frames instead of hello"),
            );
        }
    }

    fn on_submit_slash(&mut self, submit: SubmitSlash, bytes: usize, now: Instant) {
        match submit.into_host_call() {
            Some(call) => self.on_host_call(call, ReplyForm::HostResult, bytes, now),
            None => {
                self.count_unrequested(bytes, now);
                let text = "sent submit_slash with a text that does not begin with /".to_owned();
                self.out.report(FaultCode::FrameInvalid, text);
            }
        }
    }

    /// Begins a call, whose result has the form `reply`.
    fn on_host_call(&mut self, call: HostCall, reply: ReplyForm, bytes: usize, now: Instant) {
        let id = call.id.clone();
        let is_open = |id: &&RequestId| self.calls.contains(&CallId::Named((*id).clone()));
        if let Some(id) = id.as_ref().filter(is_open)
            && is_up(Defense::UniqueCalls)
        {
            // An answer could be mistaken for the answer to the other call.
            self.count_unrequested(bytes, now);
            let id = excerpt(id.as_str().as_bytes());
            let text = format!(
                "sent host_call {id} while another call with that id runs; the second call is ignored"
            );
            return self.out.report(FaultCode::FrameInvalid, text);
        }
        let is_ready = self.phase == ConnectionPhase::Ready;
        let name = excerpt(call.call.as_bytes());
        let looping = HostCallKind::from_name(&call.call).and_then(LoopingCall::from_kind);
        let begun = self.request_of(&call).and_then(|under| {
            let reply = reply.clone();
            self.calls.begin(call, under, &self.facts, is_ready, self.out.lines, reply)
        });
        match begun {
            Ok(request) => {
                self.unasked.count_call(bytes, now, &mut self.out);
                if let Some(call) = looping
                    && !self.unasked.count_looping(call, now, &mut self.out)
                {
                    return self.drop_looping(call, &request.id, now);
                }
                if let Some(waiting) = self.calls.waiting_request(&request.id) {
                    self.pending.stop_time(waiting, now);
                }
                if matches!(request.task, HostCallTask::Show(ShowCall::OpenPanel(_))) {
                    self.unasked.flush_panels(&mut self.out);
                }
                self.out.push(SessionOutput::Call(request));
            }
            Err(refusal) => {
                self.count_unrequested(bytes, now);
                let is_named = id.is_some();
                let result = refusal.into_result(id.unwrap_or_else(|| RequestId::new("")));
                if is_named {
                    self.write_result(&result, &reply, now);
                } else {
                    self.report_failed_call(&name, &result);
                }
            }
        }
    }

    /// Ends a call beyond its rate, which was reported.
    fn drop_looping(&mut self, call: LoopingCall, id: &CallId, now: Instant) {
        let reply = self.calls.end(id).unwrap_or_default();
        let what = call.plural_name();
        match id {
            CallId::Named(id) => {
                let text = format!("the extension makes too many {what}; this one is dropped");
                let result = HostResult::from_failure(id.clone(), HostCallError::Busy, text);
                self.write_result(&result, &reply, now);
            }
            CallId::Unnamed(_) => self.out.log(format!("dropped one of too many {what}")),
        }
    }

    /// Reports the failure of a call without an id.
    fn report_failed_call(&mut self, name: &str, result: &HostResult) {
        if let Some(text) = self.calls.denial_report(result) {
            self.out.report(FaultCode::PermissionDenied, text);
        } else if result.code != Some(HostCallError::PermissionDenied) {
            self.out.report(FaultCode::CallFailed, format!("{name} failed: {}", first_line(result)));
        }
    }

    /// Returns the open request of the host that a call serves.
    fn request_of(&self, call: &HostCall) -> Result<Option<ServedRequest>, CallRefusal> {
        let Some(id) = &call.under else {
            return Ok(self.pending.only_open().map(|(id, line)| ServedRequest { id: id.clone(), line }));
        };
        match self.pending.get(id) {
            Some(open) => Ok(Some(ServedRequest { id: id.clone(), line: open.line })),
            None => {
                let id = excerpt(id.as_str().as_bytes());
                let text = format!("the request {id} in `under` is not open; it was answered or cancelled");
                Err(CallRefusal::new(HostCallError::Cancelled, text))
            }
        }
    }

    fn on_host_call_cancel(&mut self, id: RequestId, bytes: usize, now: Instant) {
        // The call was answered, and the two messages crossed.
        self.count_unrequested(bytes, now);
        let id = CallId::Named(id);
        if self.calls.contains(&id) {
            self.out.push(SessionOutput::CancelCall(id));
        }
    }

    /// Ends a call, whose name is given for a report.
    pub(crate) fn handle_result(&mut self, id: &CallId, name: &str, result: HostResult, now: Instant) {
        let waiting = self.calls.waiting_request(id).cloned();
        let Some(reply) = self.calls.end(id) else { return };
        if let Some(waiting) = waiting.filter(|waiting| self.calls.questions_under(waiting).is_empty()) {
            self.pending.resume_time(&waiting, now);
        }
        match id {
            CallId::Named(_) => self.write_result(&result, &reply, now),
            CallId::Unnamed(_) if result.is_error => self.report_failed_call(name, &result),
            CallId::Unnamed(_) => {}
        }
    }

    /// Sends a part of the value of an open call to an extension that reads such parts.
    pub(crate) fn show_call_progress(&mut self, id: &CallId, value: RawJson) {
        let CallId::Named(call) = id else { return };
        let is_wanted = self.calls.contains(id) && self.offers.has_capability(capability::PROGRESS);
        if !is_wanted || self.absence_reason().is_some() {
            return;
        }
        let progress = HostCallProgress { id: call.clone(), value };
        if let Ok(line) = self.out.encode(HostFrame::Progress(progress)) {
            self.out.write(line, false);
        }
    }

    fn write_result(&mut self, result: &HostResult, reply: &ReplyForm, now: Instant) {
        if let Some(text) = self.calls.denial_report(result) {
            self.out.report(FaultCode::PermissionDenied, text);
        }
        if self.absence_reason().is_some() {
            return;
        }
        match self.out.encode(reply.to_frame(result.clone())) {
            Ok(line) => {
                self.out.write(line, false);
                self.watch.note_written(now);
            }
            Err(detail) => {
                let text = format!("the result is too long: {detail}");
                let refused = HostResult::from_failure(result.id.clone(), HostCallError::Failed, text);
                if let Ok(line) = self.out.encode(reply.to_frame(refused)) {
                    self.out.write(line, false);
                }
            }
        }
    }

    fn on_pong(&mut self, pong: &Pong, now: Instant) {
        if !self.watch.take_ping(&pong.id) {
            self.count_unrequested(0, now);
            let id = excerpt(pong.id.as_str().as_bytes());
            self.out.report(FaultCode::UnknownId, format!("sent a pong with the unknown id {id}"));
        }
    }

    pub(crate) fn handle_blank(&mut self, lines: usize, now: Instant) {
        if lines > 0 {
            let counted = self.unasked.count_blank(lines, now, &mut self.out);
            self.keep_to_rate(counted);
        }
    }

    fn count_unrequested(&mut self, bytes: usize, now: Instant) {
        let counted = self.unasked.count(bytes, now, &mut self.out);
        self.keep_to_rate(counted);
    }

    fn keep_to_rate(&mut self, counted: Result<(), RateOverrun>) {
        if let Err(RateOverrun(text)) = counted {
            self.fail(FaultCode::RateLimited, text);
        }
    }

    /// Reports the number of surplus registrations once: at `ready`, or at the first surplus one after it.
    pub(super) fn report_surplus(&mut self) {
        if matches!(self.phase, ConnectionPhase::Registering { .. }) {
            return;
        }
        let Some(surplus) = self.out.reports.take_surplus() else { return };
        let (tools, commands) = (self.facts.limits.max_tools, self.facts.limits.max_commands);
        let text = format!(
            "registered {surplus} tools or commands beyond the limit; the first {tools} tools and {commands} commands are kept"
        );
        self.out.report(FaultCode::RegisterRejected, text);
    }

    fn on_translation(&mut self, part: TranslatedPart, bytes: usize, now: Instant) {
        if self.is_closed() {
            return;
        }
        match part {
            TranslatedPart::Frame(frame) => self.on_frame(*frame, bytes, now),
            TranslatedPart::Answer(answer) => self.on_foreign_answer(*answer, bytes, now),
            TranslatedPart::Stray(id) => self.on_stray(REPLY, &id, bytes, now),
            TranslatedPart::Refusal(text) => self.fail(FaultCode::HelloInvalid, text),
            TranslatedPart::Skipped { text, is_mistake } => {
                self.count_unrequested(bytes, now);
                match is_mistake {
                    true => self.out.report(FaultCode::UnknownId, text),
                    false => self.out.log(text),
                }
            }
            TranslatedPart::Log(text) => self.out.log(text),
        }
    }

    fn on_foreign_answer(&mut self, answer: ForeignAnswer, bytes: usize, now: Instant) {
        let ForeignAnswer { id, outcome, reports, notes } = answer;
        let Some(open) = self.close_answered(&id) else { return self.on_stray(REPLY, &id, bytes, now) };
        let response = match outcome {
            Ok(response) => Ok(QueryResponse::Intercept(response)),
            Err(BadAnswer::Invalid(detail)) => Err(detail),
            Err(BadAnswer::Failed(detail)) => {
                self.out.push_fault(FaultCode::HookError, format!("{}: {detail}", open.what));
                let answer = Err(CallError::BadResponse { detail });
                return self.out.push(SessionOutput::Answer(open.ticket, answer));
            }
        };
        let reports = reports.into_iter().map(|report| format!("{}: {report}", open.what)).collect();
        self.out.push(SessionOutput::Answer(open.ticket, Ok(QueryAnswer { response, reports, notes })));
    }
}

/// Returns the reason to drop the details of a tool, if they are too long.
pub(crate) fn overlong_details(details: Option<&RawJson>, longest: usize) -> Option<String> {
    let is_overlong = details?.as_str().len() > longest;
    is_overlong.then(|| format!("its details are longer than {longest} bytes and were dropped"))
}

fn missing_calls(frame: &str) -> String {
    format!("sent {frame}, but hello does not announce the capability `calls`; add it there")
}

fn is_registration(frame: &ExtensionFrame) -> bool {
    use ExtensionFrame::{Register, RegisterCommand, RegisterTool, Subscribe, Unregister};
    matches!(frame, RegisterCommand(_) | RegisterTool(_) | Register(_) | Unregister(_) | Subscribe(_))
}

/// True if the line counts as unrequested. Calls to the host are counted when they are admitted or refused.
/// Answers to open queries are free, which is checked later. Registrations before `ready` are free too: their
/// time is limited, and a generated extension may have many.
fn is_unrequested(frame: &ExtensionFrame, phase: &ConnectionPhase) -> bool {
    match frame {
        ExtensionFrame::ToolResult(_)
        | ExtensionFrame::EventInterceptResponse(_)
        | ExtensionFrame::CommandResponse(_)
        | ExtensionFrame::CommandCompletionsResponse(_)
        | ExtensionFrame::ExtResult(_)
        | ExtensionFrame::HostCall(_)
        | ExtensionFrame::HostCallCancel(_)
        | ExtensionFrame::Submit(_)
        | ExtensionFrame::SubmitSlash(_)
        | ExtensionFrame::OpenPanel(_)
        | ExtensionFrame::CallTool(_)
        | ExtensionFrame::CallToolCancel(_)
        | ExtensionFrame::Pong(_) => false,
        ExtensionFrame::Hello(_) => !matches!(phase, ConnectionPhase::AwaitHello { .. }),
        ExtensionFrame::RegisterCommand(_)
        | ExtensionFrame::RegisterTool(_)
        | ExtensionFrame::Register(_)
        | ExtensionFrame::Unregister(_)
        | ExtensionFrame::Subscribe(_)
        | ExtensionFrame::Ready(_) => !matches!(phase, ConnectionPhase::Registering { .. }),
        ExtensionFrame::Progress(_)
        | ExtensionFrame::PanelRender(_)
        | ExtensionFrame::PanelClose(_)
        | ExtensionFrame::Notify(_)
        | ExtensionFrame::ClearNotes(_)
        | ExtensionFrame::SetStatus(_)
        | ExtensionFrame::ShutdownAck(_) => true,
    }
}
