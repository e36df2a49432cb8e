//! Carrying out what the session wants.

use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{SetStatus, capability};

use super::{Actor, now};
use crate::extension::Snapshot;
use crate::extension::send_queue::event::EventFilter;
use crate::session::{ExtensionState, Output, Ui};
use crate::wire::fault::{Failure, FaultCode};

impl Actor {
    /// Carries out what the session wants.
    pub(super) fn flush(&mut self) {
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

    /// Reports a failure. What to say of the one that ends the connection is decided elsewhere.
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
}
