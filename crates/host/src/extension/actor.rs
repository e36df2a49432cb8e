//! The task behind one extension, with the only `select!` loop. The task moves bytes and commands into the
//! session and carries out the session's outputs. It makes no decisions and never waits for the extension.

mod calls;
mod child;
mod sources;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Instant as StdInstant;

use futures::channel::mpsc;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{SetStatus, StatusText, capability};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::deadline_timer::DeadlineTimer;
use super::rare_events::RareEventPoller;
use super::{ActorCommand, AnswerSender, ExtensionHandle, ExtensionSnapshot, HandleInner};
use crate::extension::frontend::{FaultReporter, Frontend};
use crate::extension::message_bus::MessageBus;
use crate::extension::mirror::SessionMirror;
use crate::extension::send_queue::event::EventFilter;
use crate::extension::send_queue::pump::EventPump;
use crate::extension::send_queue::{QueueOwner, SendQueue, WriterEnd};
use crate::extension::services::HostCallServer;
use crate::extension::status_line::StatusLineWriter;
use crate::process::ProcessExit;
use crate::process::connection::{Connection, open_connection};
use crate::process::log::ExtensionLog;
use crate::session::{
    ExtensionSession, ExtensionState, SessionConfig, SessionOutput, UiUpdate, deliver_progress,
};
use crate::wire::decode::{BackgroundDecode, DecodedLine, is_slow_to_decode};
use crate::wire::fault::{ExtensionFailure, FaultCode};
use crate::wire::framer::{FramedLine, LineFramer};
use crate::wire::pipe::{self, LONG_LINE};
use calls::{HostCallTasks, SessionOwner};
use child::ChildProcess;
use sources::{InputEvent, RareEvent, next_command, next_input, next_rare_event};

/// The number of lines of one read after which the task yields to others.
const LINES_PER_TURN: usize = 16;

const CLOSED: &str = "closed its output and kept running";

const EVENTS_DROPPED: &str = "events_dropped: the extension does not read fast enough";

/// Takes the failure that ends a connection, and returns the failure to report. The flag is true if the
/// extension had sent hello.
pub(crate) type EndHandler =
    Box<dyn Fn(StdInstant, bool, ExtensionFailure) -> ExtensionFailure + Send + Sync>;

pub(crate) struct ActorConfig {
    pub(crate) facts: SessionConfig,
    pub(crate) reporter: FaultReporter,
    pub(crate) frontend: Arc<dyn Frontend>,
    pub(crate) status: StatusLineWriter,
    pub(crate) log: Arc<ExtensionLog>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) on_end: EndHandler,
    /// True if the extension may exit while no query is open.
    pub(crate) on_demand: bool,
    pub(crate) pump: Arc<EventPump>,
    pub(crate) mirror: Arc<SessionMirror>,
    pub(crate) bus: Arc<MessageBus>,
    pub(crate) desk: Option<Arc<HostCallServer>>,
}

/// Starts the task of one extension. Must be called within a tokio runtime.
pub(crate) fn start(start: ActorConfig, connection: Connection) -> ExtensionHandle {
    let (stall, limits) = (start.facts.timeouts.write_stall, Arc::clone(&start.facts.limits));
    let (commands, inbox) = mpsc::unbounded();
    let commands = Arc::new(commands);
    let ids = start.facts.request_ids();
    let session = ExtensionSession::new(start.facts, Instant::now().into_std());
    let (snapshot, snapshots) = watch::channel(ExtensionSnapshot::from_session(&session));
    let (process, reader, outlet, stderr) = open_connection(connection, &start.log);
    let queue = Arc::new(SendQueue::new(outlet, stall, &limits, start.pump, Arc::downgrade(&commands)));
    let owner = SessionOwner {
        extension: start.reporter.name.clone(),
        frontend: Arc::clone(&start.frontend),
        log: Arc::clone(&start.log),
        reporter: start.reporter.clone(),
        bus: start.bus,
    };
    // Boxed: otherwise each async layer would hold a copy of the actor's memory.
    let actor = Box::new(ExtensionActor {
        session,
        framer: LineFramer::default(),
        decoding: None,
        reader: Some(reader),
        wide: false,
        commands: Arc::downgrade(&commands),
        queue: QueueOwner(Arc::clone(&queue)),
        carried_out: 0,
        child: ChildProcess::new(process, stderr),
        inbox: Some(inbox),
        alarm: DeadlineTimer::default(),
        seldom: RareEventPoller::default(),
        must_yield: false,
        reporter: start.reporter.clone(),
        frontend: start.frontend,
        status: start.status,
        log: start.log,
        snapshot,
        changes: start.changes,
        on_end: start.on_end,
        on_demand: start.on_demand,
        mirror: start.mirror,
        calls: HostCallTasks::new(start.desk, owner),
    });
    tokio::spawn(actor.run());
    let (reporter, open) = (start.reporter, TaskTracker::new());
    let session = AtomicU64::new(0);
    let inner = HandleInner { reporter, ids, mailbox: commands, queue, open, snapshots, session };
    ExtensionHandle { inner: Arc::new(inner) }
}

struct ExtensionActor {
    session: ExtensionSession<AnswerSender>,
    framer: LineFramer,
    /// A long line that is being decoded. Nothing else is decoded until it is done.
    decoding: Option<BackgroundDecode>,
    reader: Option<pipe::StdoutReader>,
    /// True if the output pipe was enlarged or could not be.
    wide: bool,
    queue: QueueOwner,
    /// Commands that may have become lines since the last flush.
    carried_out: usize,
    commands: Weak<mpsc::UnboundedSender<ActorCommand>>,
    child: ChildProcess,
    /// `None` when no handle exists any more.
    inbox: Option<mpsc::UnboundedReceiver<ActorCommand>>,
    must_yield: bool,
    alarm: DeadlineTimer,
    seldom: RareEventPoller,
    reporter: FaultReporter,
    frontend: Arc<dyn Frontend>,
    status: StatusLineWriter,
    log: Arc<ExtensionLog>,
    snapshot: watch::Sender<ExtensionSnapshot>,
    changes: watch::Sender<u64>,
    on_end: EndHandler,
    on_demand: bool,
    mirror: Arc<SessionMirror>,
    calls: HostCallTasks,
}

impl ExtensionActor {
    async fn run(mut self: Box<Self>) {
        self.log.log_host_line(format_args!(
            "starting {} at {:.0}",
            self.reporter.name,
            jiff::Timestamp::now()
        ));
        loop {
            self.flush();
            if self.session.is_closed() {
                break;
            }
            // A process that sends without end gets one turn, like every other one.
            if std::mem::take(&mut self.must_yield) {
                tokio::task::yield_now().await;
            }
            let due = self.session.poll_deadline().filter(|_| !self.is_decoding_final_line());
            if self.alarm.set(due) {
                self.seldom.request_poll();
            }
            // A process that exited can send no more than the bytes in the pipe.
            let reading = self.decoding.is_some() || !self.session.is_paused() || self.child.has_exited();
            tokio::select! {
                incoming = next_input(&mut self.decoding, &mut self.reader, &mut self.framer), if reading => {
                    self.on_incoming(incoming);
                }
                command = next_command(&mut self.inbox) => self.on_command(command),
                happening = next_rare_event(&self.seldom, &mut self.alarm, &mut self.child) => {
                    self.on_happening(happening);
                }
            }
        }
        self.finish().await;
    }

    fn on_incoming(&mut self, incoming: InputEvent) {
        match incoming {
            InputEvent::Read(read) => self.on_read(read),
            InputEvent::Decoded(decoded_line) => self.on_decoded_line(*decoded_line),
        }
    }

    fn on_read(&mut self, read: std::io::Result<usize>) {
        if let Ok(1..) = read {
            self.queue.0.note_sign_of_life();
            return self.drain(true);
        }
        self.reader = None;
        match self.framer.finish(self.session.line_limit()) {
            Some(FramedLine::Line(line)) if is_slow_to_decode(&line) => {
                self.decoding = Some(BackgroundDecode::new(
                    line,
                    self.framer.known_form(),
                    self.session.line_decoder(),
                    true,
                ));
            }
            Some(FramedLine::Line(line)) => {
                self.on_tail(self.session.line_decoder().decode(&line, self.framer.known_form()))
            }
            Some(FramedLine::TooLong) | None => self.wind_down(CLOSED),
        }
    }

    fn on_tail(&mut self, decoded_line: DecodedLine) {
        self.child.half_frame = self.session.handle_tail(decoded_line, now());
        self.wind_down(CLOSED);
    }

    /// Handles a decoded long line, and then the lines behind it.
    fn on_decoded_line(&mut self, decoded_line: DecodedLine) {
        if self.decoding.take().is_some_and(|decoding| decoding.is_tail) {
            return self.on_tail(decoded_line);
        }
        self.session.handle_decoded(decoded_line, now());
        self.drain(true);
        if self.child.has_exited() && self.child.count_late_line() {
            self.wind_down("");
        }
    }

    /// Handles complete lines until the session wants a pause. `fresh` is true after a read.
    fn drain(&mut self, fresh: bool) {
        let (now, mut lines) = (now(), 0);
        while self.decoding.is_none() && (!self.session.is_paused() || self.child.has_exited()) {
            let Some(item) = self.framer.next(self.session.line_limit()) else { break };
            lines += 1;
            match item {
                FramedLine::Line(line) if is_slow_to_decode(&line) => {
                    self.decoding = Some(BackgroundDecode::new(
                        line,
                        self.framer.known_form(),
                        self.session.line_decoder(),
                        false,
                    ));
                }
                FramedLine::Line(line) => self.session.handle_line(&line, self.framer.known_form(), now),
                FramedLine::TooLong => self.session.handle_too_long(),
            }
        }
        self.must_yield = lines > LINES_PER_TURN;
        // The lines behind a line that is being decoded were not looked at yet.
        let unfinished = if self.decoding.is_some() { 0 } else { self.framer.unfinished_len() };
        if unfinished >= LONG_LINE
            && !std::mem::replace(&mut self.wide, true)
            && let Some(reader) = &self.reader
        {
            reader.enlarge_pipe();
        }
        if fresh || lines > 0 {
            self.session.handle_blank(self.framer.take_blank(), now);
            self.session.handle_read(lines, unfinished, now);
        }
    }

    fn on_happening(&mut self, happening: RareEvent) {
        match happening {
            RareEvent::Alarm => self.on_alarm(),
            RareEvent::Exit(exit) => self.on_exit(exit),
            RareEvent::StderrEnd => self.on_stderr_end(),
        }
    }

    /// True while a long line of an exited process is decoded. No deadline ends the session before its last
    /// frames are handled.
    fn is_decoding_final_line(&self) -> bool {
        self.decoding.is_some() && self.child.has_exited()
    }

    fn on_alarm(&mut self) {
        // The deadline is from before the line; it is set again once the line is decoded.
        if self.is_decoding_final_line() {
            return;
        }
        self.session.handle_deadline(now(), self.queue.0.flushed_lines());
        // Handles the lines that a pause left.
        self.drain(false);
    }

    fn on_command(&mut self, command: Option<ActorCommand>) {
        self.carried_out += usize::from(command.as_ref().is_some_and(ActorCommand::is_posted));
        match command {
            Some(ActorCommand::Send(question)) => self.session.send(*question),
            Some(ActorCommand::Cancel(id)) => self.session.cancel(&id, now()),
            Some(ActorCommand::SendMessage(frame)) => self.session.send_message(*frame, now()),
            Some(ActorCommand::Events(run)) => {
                // Lines of earlier commands come first.
                self.flush();
                self.queue.0.push_posted(run);
            }
            Some(ActorCommand::AnswerAll(why)) => self.session.answer_all(why),
            // The caller may have gone.
            Some(ActorCommand::Ping(ping)) => drop(ping.send(())),
            Some(ActorCommand::Shutdown) => self.session.shutdown(now()),
            Some(ActorCommand::HostCallDone { id, name, result }) => {
                self.calls.finish(&id);
                self.session.handle_result(&id, name, result, now());
            }
            Some(ActorCommand::HostCallProgress { id, value }) => self.session.show_call_progress(&id, value),
            Some(ActorCommand::EventSent) => self.session.note_event_sent(now()),
            Some(ActorCommand::EventsLost) => self.log.log_host_line(EVENTS_DROPPED),
            Some(ActorCommand::WriterEnd(end)) => self.on_writer_end(end),
            None => {
                self.inbox = None;
                self.session.shutdown(now());
            }
        }
    }

    fn on_writer_end(&mut self, end: WriterEnd) {
        match end {
            WriterEnd::Done => {}
            WriterEnd::Stalled => self.session.on_write_stalled(),
            WriterEnd::Broken(error) => {
                self.log.log_host_line(format_args!("standard input is closed: {error}"));
                self.on_input_closed();
            }
        }
    }

    fn on_input_closed(&mut self) {
        if self.child.has_exited() || self.child.process.is_none() {
            return self.wind_down("");
        }
        self.session.on_input_closed(self.queue.0.flushed_lines(), now());
    }

    fn on_exit(&mut self, exit: ProcessExit) {
        if exit.never_started {
            self.session.mark_never_started();
        }
        self.log.log_host_line(&exit.text);
        self.child.exit = Some(exit);
        self.drain(false);
        self.wind_down("");
    }

    fn on_stderr_end(&mut self) {
        self.child.stderr = None;
        if self.child.has_exited() {
            self.wind_down("");
        }
    }

    /// Begins the end of the connection. All known facts count; the rest of the pipes is read for a short
    /// time.
    fn wind_down(&mut self, symptom: &str) {
        let at = Instant::now() + self.session.timeouts().pipe_drain;
        let all_read = self.reader.is_none() && self.decoding.is_none() && self.child.stderr.is_none();
        let left_well = self.child.exit.as_ref().is_some_and(|exit| exit.exited_cleanly);
        match (&self.child.exit, &self.child.process) {
            (Some(_), _) if all_read => {
                // All output is known: an exit of an on-demand extension without open queries counts as a
                // requested one.
                if self.on_demand && left_well && self.has_no_open_questions() {
                    self.session.shutdown(now());
                }
                self.session.end(&self.child.exit_summary(&self.log));
            }
            (Some(_), _) => self.session.end_at(at.into_std(), self.child.exit_summary(&self.log)),
            (None, Some(_)) => self.session.on_half_closed(at.into_std(), symptom),
            (None, None) => self.session.end("closed the connection"),
        }
    }

    /// True if no caller waits for an answer or has just sent a query.
    fn has_no_open_questions(&mut self) -> bool {
        while let Some(Ok(command)) = self.inbox.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            self.on_command(Some(command));
        }
        self.session.is_idle()
    }

    fn flush(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                SessionOutput::Write { number, line, droppable } => self.write(number, line, droppable),
                SessionOutput::CloseInput => self.queue.0.close(),
                SessionOutput::Terminate => self.child.terminate(&self.log),
                // The caller may have gone; the answer is then dropped.
                SessionOutput::Answer(ticket, answer) => drop(ticket.send(answer)),
                SessionOutput::Progress(sender, progress) => deliver_progress(&sender, progress),
                SessionOutput::Fault(code, message) => self.report_fault(code, message),
                SessionOutput::Log(text) => self.log.log_limited(&text, now()),
                SessionOutput::Ui(ui) => self.show(ui),
                SessionOutput::Call(wanted) => self.calls.begin(wanted, &self.commands),
                SessionOutput::CancelCall(id) => self.calls.cancel(&id),
                SessionOutput::DropCalls => self.calls.cancel_all(),
                SessionOutput::Changed => self.publish_snapshot(),
            }
        }
        if self.carried_out > 0 {
            self.queue.0.note_commands_done(std::mem::take(&mut self.carried_out));
        }
    }

    fn write(&mut self, number: u64, line: String, droppable: bool) {
        tracing::trace!(extension = %self.reporter.name, dir = "out", bytes = line.len(), number);
        if droppable {
            self.queue.0.push_droppable(line);
        } else if !self.queue.0.push(number, line) {
            self.session.refuse_question(number);
        }
    }

    fn report_fault(&self, code: FaultCode, message: String) {
        let mut failure = ExtensionFailure { code, message };
        if self.session.state() == ExtensionState::from(failure.clone()) {
            failure = (self.on_end)(now(), self.session.has_greeted(), failure);
        }
        self.log.log_failure(&failure);
        self.reporter.report_fault(failure.code, failure.message);
    }

    fn show(&self, ui: UiUpdate) {
        let extension = self.reporter.name.clone();
        match ui {
            UiUpdate::Notify(note) => {
                let event = AgentEvent::ExtNotify { extension, level: note.level, message: note.message };
                self.reporter.emit(event);
            }
            UiUpdate::ClearNotes(_) => self.reporter.emit(AgentEvent::ExtClearNotes { extension }),
            UiUpdate::PanelRender(panel) => self.frontend.render_panel(&extension, &panel),
            UiUpdate::Status(SetStatus { key, text, styled }) => {
                self.status.set(&key, StatusText { text, styled });
            }
            UiUpdate::PanelClose(panel) => self.frontend.close_panel(&extension, &panel.panel_id),
        }
    }

    fn publish_snapshot(&mut self) {
        let snapshot = ExtensionSnapshot::from_session(&self.session);
        let offers = &snapshot.offers;
        let filter = match snapshot.is_alive() {
            true => EventFilter::from_offers(&self.reporter.name, offers),
            false => EventFilter::default(),
        };
        let reports_gaps = offers.only_watch() && offers.has_capability(capability::EVENT_GAP);
        self.queue.0.subscribe(filter, reports_gaps);
        self.queue.0.mirror_parts(&self.mirror, offers.mirror);
        let state = snapshot.state.clone();
        let registered = Arc::clone(&snapshot.offers);
        let before = self.snapshot.send_replace(snapshot);
        self.changes.send_modify(|count| *count += 1);
        // Until it is ready, an extension has no registrations that others know.
        let was_ready = state == ExtensionState::Ready && before.state == state;
        if was_ready && !registered.has_same_registrations(&before.offers) {
            self.frontend.registrations_changed(&self.reporter.name);
        }
    }

    /// Kills the remaining processes and waits a limited time for their end.
    async fn finish(mut self: Box<Self>) {
        // Callers with open queries are answered now, not after the last process has ended.
        self.inbox = None;
        self.status.remove_all();
        self.calls.cancel_all();
        let dropped = self.queue.0.lost_events();
        if dropped > 0 {
            self.log.log_host_line(format_args!("{dropped} events were dropped"));
        }
        self.child.kill(self.session.timeouts().kill_grace, &self.log).await;
        self.calls.wait_until_ended().await;
        self.child.stop_reading_stderr();
        self.log.log_last("gone");
        self.frontend.extension_gone(&self.reporter.name);
    }
}

fn now() -> StdInstant {
    Instant::now().into_std()
}
