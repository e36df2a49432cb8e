//! Carrying out what the session wants.

use haft_protocol::event::AgentEvent;
use haft_protocol::ext::SetStatus;

use super::{Actor, EVENTS_DROPPED, now};
use crate::extension::Snapshot;
use crate::session::{ExtensionState, Output, Ui};
use crate::wire::fault::{Failure, FaultCode};

impl Actor {
    /// Carries out what the session wants.
    pub(super) fn flush(&mut self) {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Write { number, line, droppable } => self.write(number, line, droppable),
                Output::CloseInput => self.writer.close(),
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
    }

    fn write(&mut self, number: u64, line: String, droppable: bool) {
        tracing::trace!(extension = %self.reporter.name, dir = "out", bytes = line.len(), number);
        if self.writer.push(number, line, droppable, self.seating.seat.as_ref()) {
            return;
        }
        if !droppable {
            return self.session.refuse(number);
        }
        if self.event_count.lose(1) {
            self.log.host(EVENTS_DROPPED);
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
        self.seating.choose(&self.session, &self.commands, &self.event_count);
        self.snapshot.send_replace(Snapshot::of(&self.session));
        self.changes.send_modify(|count| *count += 1);
    }
}
