//! The task behind one extension: the only `select!` loop. It moves bytes and commands into the session and
//! carries out what the session wants; it decides nothing itself, and it never waits for the extension.

mod calls;
mod child;
mod sources;

use std::sync::{Arc, Weak};
use std::time::Instant as StdInstant;

use futures::channel::mpsc;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{SetStatus, capability};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::alarm::Alarm;
use super::seldom::Seldom;
use super::{Command, Extension, Inner, Snapshot, Ticket};
use crate::extension::frontend::{Frontend, Reporter};
use crate::extension::send_queue::event::EventFilter;
use crate::extension::send_queue::pump::EventPump;
use crate::extension::send_queue::{QueueOwner, SendQueue, WriterEnd};
use crate::extension::services::Desk;
use crate::extension::status_line::StatusPlace;
use crate::process::Exit;
use crate::process::connection::{Connection, opened};
use crate::process::log::Log;
use crate::session::{ExtensionState, Facts, Output, Session, Ui};
use crate::wire::decode::{Decoding, Heard, takes_long};
use crate::wire::fault::{Failure, FaultCode};
use crate::wire::framer::{Framer, Item};
use crate::wire::pipe::{self, LONG_LINE};
use calls::Calls;
use child::Child;
use sources::{Happening, Incoming, happened, incoming, received};

/// Lines of one read after which others get their turn first.
const CROWD: usize = 16;

const CLOSED: &str = "closed its output and kept running";

const EVENTS_DROPPED: &str = "events_dropped: it does not read fast enough";

/// Takes the failure that ends a connection, and returns the failure to report. The flag is true if the extension had
/// said hello.
pub(crate) type EndHandler = Box<dyn Fn(StdInstant, bool, Failure) -> Failure + Send + Sync>;

pub(crate) struct Start {
    pub(crate) facts: Facts,
    pub(crate) reporter: Reporter,
    pub(crate) frontend: Arc<dyn Frontend>,
    pub(crate) status: StatusPlace,
    pub(crate) log: Arc<Log>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) on_end: EndHandler,
    /// It may leave when nobody waits for it.
    pub(crate) on_demand: bool,
    pub(crate) pump: Arc<EventPump>,
    pub(crate) desk: Option<Arc<Desk>>,
}

/// Starts the task of one extension. Must be called within a tokio runtime.
pub(crate) fn start(start: Start, connection: Connection) -> Extension {
    let (stall, limits) = (start.facts.timeouts.write_stall, Arc::clone(&start.facts.limits));
    let (commands, inbox) = mpsc::unbounded();
    let commands = Arc::new(commands);
    let ids = start.facts.speech.ids();
    let session = Session::new(start.facts, Instant::now().into_std());
    let (snapshot, snapshots) = watch::channel(Snapshot::of(&session));
    let (process, reader, outlet, stderr) = opened(connection, &start.log);
    let queue = Arc::new(SendQueue::new(outlet, stall, &limits, start.pump, Arc::downgrade(&commands)));
    // Boxed: what runs it moves it, and would have room for it at each place that it passes.
    let actor = Box::new(Actor {
        session,
        framer: Framer::default(),
        decoding: None,
        reader: Some(reader),
        wide: false,
        commands: Arc::downgrade(&commands),
        queue: QueueOwner(Arc::clone(&queue)),
        carried_out: 0,
        child: Child::new(process, stderr),
        inbox: Some(inbox),
        alarm: Alarm::default(),
        seldom: Seldom::default(),
        crowded: false,
        reporter: start.reporter.clone(),
        frontend: start.frontend,
        status: start.status,
        log: start.log,
        snapshot,
        changes: start.changes,
        on_end: start.on_end,
        on_demand: start.on_demand,
        calls: Calls::new(start.desk),
    });
    tokio::spawn(actor.run());
    let (reporter, open) = (start.reporter, TaskTracker::new());
    let inner = Inner { reporter, ids, mailbox: commands, queue, open, snapshots };
    Extension { inner: Arc::new(inner) }
}

struct Actor {
    session: Session<Ticket>,
    framer: Framer,
    /// A long line that is being read. Until it is, nothing else is.
    decoding: Option<Decoding>,
    reader: Option<pipe::Output>,
    /// Its output was made larger, or could not be.
    wide: bool,
    queue: QueueOwner,
    /// Commands that may have become lines since the last flush.
    carried_out: usize,
    commands: Weak<mpsc::UnboundedSender<Command>>,
    child: Child,
    /// Gone when nobody holds a handle any more.
    inbox: Option<mpsc::UnboundedReceiver<Command>>,
    crowded: bool,
    alarm: Alarm,
    seldom: Seldom,
    reporter: Reporter,
    frontend: Arc<dyn Frontend>,
    status: StatusPlace,
    log: Arc<Log>,
    snapshot: watch::Sender<Snapshot>,
    changes: watch::Sender<u64>,
    on_end: EndHandler,
    on_demand: bool,
    calls: Calls,
}

impl Actor {
    async fn run(mut self: Box<Self>) {
        self.log.host(format_args!("starting {} at {:.0}", self.reporter.name, jiff::Timestamp::now()));
        loop {
            self.flush();
            if self.session.is_closed() {
                break;
            }
            // One that sends without end gets one turn like everybody else.
            if std::mem::take(&mut self.crowded) {
                tokio::task::yield_now().await;
            }
            let due = self.session.poll_deadline().filter(|_| !self.is_reading_last_words());
            if self.alarm.set(due) {
                self.seldom.again();
            }
            // One that is gone can say no more than what is in the pipe.
            let reading = self.decoding.is_some() || !self.session.is_paused() || self.child.has_exited();
            tokio::select! {
                incoming = incoming(&mut self.decoding, &mut self.reader, &mut self.framer), if reading => {
                    self.on_incoming(incoming);
                }
                command = received(&mut self.inbox) => self.on_command(command),
                happening = happened(&self.seldom, &mut self.alarm, &mut self.child) => {
                    self.on_happening(happening);
                }
            }
        }
        self.finish().await;
    }

    fn on_incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Read(read) => self.on_read(read),
            Incoming::Heard(heard) => self.on_heard(*heard),
        }
    }

    fn on_read(&mut self, read: std::io::Result<usize>) {
        if let Ok(1..) = read {
            self.queue.0.heard();
            return self.drain(true);
        }
        self.reader = None;
        match self.framer.finish(self.session.line_limit()) {
            Some(Item::Line(line)) if takes_long(&line) => {
                self.decoding = Some(Decoding::new(line, self.framer.known(), self.session.ear(), true));
            }
            Some(Item::Line(line)) => self.on_tail(self.session.ear().hear(&line, self.framer.known())),
            Some(Item::TooLong) | None => self.wind_up(CLOSED),
        }
    }

    fn on_tail(&mut self, heard: Heard) {
        self.child.half_frame = self.session.handle_tail(heard, now());
        self.wind_up(CLOSED);
    }

    /// A long line was read; what follows it is next.
    fn on_heard(&mut self, heard: Heard) {
        if self.decoding.take().is_some_and(|decoding| decoding.is_tail) {
            return self.on_tail(heard);
        }
        self.session.handle_heard(heard, now());
        self.drain(true);
        if self.child.has_exited() && self.child.count_late_line() {
            self.wind_up("");
        }
    }

    /// Hands over the lines that are complete, until the session wants a pause. `fresh`: something was read.
    fn drain(&mut self, fresh: bool) {
        let (now, mut lines) = (now(), 0);
        while self.decoding.is_none() && (!self.session.is_paused() || self.child.has_exited()) {
            let Some(item) = self.framer.next(self.session.line_limit()) else { break };
            lines += 1;
            match item {
                Item::Line(line) if takes_long(&line) => {
                    self.decoding = Some(Decoding::new(line, self.framer.known(), self.session.ear(), false));
                }
                Item::Line(line) => self.session.handle_line(&line, self.framer.known(), now),
                Item::TooLong => self.session.handle_too_long(),
            }
        }
        self.crowded = lines > CROWD;
        // Behind a line that is being read are lines that nobody has looked at.
        let unfinished = if self.decoding.is_some() { 0 } else { self.framer.unfinished() };
        if unfinished >= LONG_LINE
            && !std::mem::replace(&mut self.wide, true)
            && let Some(reader) = &self.reader
        {
            reader.widen();
        }
        if fresh || lines > 0 {
            self.session.handle_blank(self.framer.take_blank(), now);
            self.session.handle_read(lines, unfinished, now);
        }
    }

    fn on_happening(&mut self, happening: Happening) {
        match happening {
            Happening::Alarm => self.on_alarm(),
            Happening::Exit(exit) => self.on_exit(exit),
            Happening::StderrEnd => self.on_stderr_end(),
        }
    }

    /// True while a long line of a process that has exited is decoded: no deadline ends the session before its last
    /// frames are handled.
    fn is_reading_last_words(&self) -> bool {
        self.decoding.is_some() && self.child.has_exited()
    }

    fn on_alarm(&mut self) {
        // Set before the line came. The deadline is set again once the line is decoded.
        if self.is_reading_last_words() {
            return;
        }
        self.session.handle_deadline(now(), self.queue.0.flushed());
        // What was left when a pause began.
        self.drain(false);
    }

    fn on_command(&mut self, command: Option<Command>) {
        self.carried_out += usize::from(command.as_ref().is_some_and(Command::is_posted));
        match command {
            Some(Command::Send(question)) => self.session.send(question),
            Some(Command::Cancel(id)) => self.session.cancel(&id),
            Some(Command::Tell(words)) => self.session.tell(words, now()),
            Some(Command::Events(run)) => {
                // Lines of commands before it come first.
                self.flush();
                self.queue.0.push_posted(run);
            }
            Some(Command::Recall(why)) => self.session.answer_all(why),
            // Whoever asked may have gone.
            Some(Command::Ping(ping)) => drop(ping.send(())),
            Some(Command::Shutdown) => self.session.shutdown(now()),
            Some(Command::Called(result)) => {
                self.calls.done(&result.id);
                self.session.handle_result(result, now());
            }
            Some(Command::Told) => self.session.told(now()),
            Some(Command::Lost) => self.log.host(EVENTS_DROPPED),
            Some(Command::WriterEnd(end)) => self.on_writer_end(end),
            None => {
                self.inbox = None;
                self.session.shutdown(now());
            }
        }
    }

    fn on_writer_end(&mut self, end: WriterEnd) {
        match end {
            WriterEnd::Done => {}
            WriterEnd::Stalled => self.session.stalled(),
            WriterEnd::Broken(error) => {
                self.log.host(format_args!("its input is closed: {error}"));
                self.deafened();
            }
        }
    }

    fn deafened(&mut self) {
        if self.child.has_exited() || self.child.process.is_none() {
            return self.wind_up("");
        }
        self.session.deafened(self.queue.0.flushed(), now());
    }

    fn on_exit(&mut self, exit: Exit) {
        if exit.never_started {
            self.session.never_started();
        }
        self.log.host(&exit.text);
        self.child.exit = Some(exit);
        self.drain(false);
        self.wind_up("");
    }

    fn on_stderr_end(&mut self) {
        self.child.stderr = None;
        if self.child.has_exited() {
            self.wind_up("");
        }
    }

    /// The end is near. Whatever is known of it counts; what is still in the pipes is read, but not for long.
    fn wind_up(&mut self, symptom: &str) {
        let at = Instant::now() + self.session.timeouts().pipe_drain;
        let all_read = self.reader.is_none() && self.decoding.is_none() && self.child.stderr.is_none();
        let left_well = self.child.exit.as_ref().is_some_and(|exit| exit.left_well);
        match (&self.child.exit, &self.child.process) {
            (Some(_), _) if all_read => {
                // All it said is known: an extension that may leave and owes nobody an answer did as if it were asked to.
                if self.on_demand && left_well && self.owes_nobody() {
                    self.session.shutdown(now());
                }
                self.session.end(&self.child.obituary(&self.log));
            }
            (Some(_), _) => self.session.end_at(at.into_std(), self.child.obituary(&self.log)),
            (None, Some(_)) => self.session.half_closed(at.into_std(), symptom),
            (None, None) => self.session.end("closed the connection"),
        }
    }

    /// True if nobody waits for an answer, nor has just asked.
    fn owes_nobody(&mut self) -> bool {
        while let Some(Ok(command)) = self.inbox.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            self.on_command(Some(command));
        }
        self.session.is_idle()
    }

    fn flush(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Write { number, line, droppable } => self.write(number, line, droppable),
                Output::CloseInput => self.queue.0.close(),
                Output::Terminate => self.child.terminate(&self.log),
                // Whoever asked may have gone; the answer goes with them.
                Output::Answer(ticket, answer) => drop(ticket.send(answer)),
                Output::Fault(code, message) => self.fault(code, message),
                Output::Log(text) => self.log.noted(&text, now()),
                Output::Ui(ui) => self.show(ui),
                Output::Call(wanted) => self.calls.begin(wanted, &self.commands),
                Output::CancelCall(id) => self.calls.cancel(&id),
                Output::DropCalls => self.calls.cancel_all(),
                Output::Changed => self.publish(),
            }
        }
        if self.carried_out > 0 {
            self.queue.0.taken(std::mem::take(&mut self.carried_out));
        }
    }

    fn write(&mut self, number: u64, line: String, droppable: bool) {
        tracing::trace!(extension = %self.reporter.name, dir = "out", bytes = line.len(), number);
        if droppable {
            self.queue.0.push_droppable(line);
        } else if !self.queue.0.push(number, line) {
            self.session.refuse(number);
        }
    }

    fn fault(&self, code: FaultCode, message: String) {
        let mut failure = Failure { code, message };
        if self.session.state() == ExtensionState::from(failure.clone()) {
            failure = (self.on_end)(now(), self.session.has_greeted(), failure);
        }
        self.log.failure(&failure);
        self.reporter.fault(failure.code, failure.message);
    }

    fn show(&self, ui: Ui) {
        let extension = self.reporter.name.clone();
        match ui {
            Ui::Notify(note) => {
                let event = AgentEvent::ExtNotify { extension, level: note.level, message: note.message };
                self.reporter.emit(event);
            }
            Ui::ClearNotes(_) => self.reporter.emit(AgentEvent::ExtClearNotes { extension }),
            Ui::PanelRender(panel) => self.frontend.render_panel(&extension, &panel),
            Ui::Status(SetStatus { key, text }) => self.status.set(&key, text),
            Ui::PanelClose(panel) => self.frontend.close_panel(&extension, &panel.panel_id),
        }
    }

    fn publish(&mut self) {
        let snapshot = Snapshot::of(&self.session);
        let offers = &snapshot.offers;
        let filter = if snapshot.is_alive() { EventFilter::of(offers) } else { EventFilter::default() };
        let reports_gaps = offers.only_watch() && offers.announced(capability::EVENT_GAP);
        self.queue.0.subscribe(filter, reports_gaps);
        self.snapshot.send_replace(snapshot);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Kills what is left and waits for its end, but not for ever.
    async fn finish(mut self: Box<Self>) {
        // Whoever still asks is told at once, and not when the last process is gone.
        self.inbox = None;
        self.status.leave();
        self.calls.cancel_all();
        let dropped = self.queue.0.lost();
        if dropped > 0 {
            self.log.host(format_args!("{dropped} events were dropped"));
        }
        self.child.kill(self.session.timeouts().kill_grace, &self.log).await;
        self.calls.end().await;
        self.child.stop_reading_stderr();
        self.log.last("gone");
        self.frontend.extension_gone(&self.reporter.name);
    }
}

fn now() -> StdInstant {
    Instant::now().into_std()
}
