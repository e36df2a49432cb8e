//! The place of an extension among those that the log for watchers tells their events.

use std::sync::{Arc, Weak};

use futures::channel::mpsc;

use crate::extension::fanout::{Filter, Seat};
use crate::extension::watching::Watching;
use crate::extension::writer::Released;
use crate::extension::{Command, EventCount, Ticket};
use crate::session::{ExtensionState, Session};

/// The place in the log, if the extension has one.
pub(super) struct Seating {
    /// True if another thread can write to the extension.
    pub(super) can_move: bool,
    pub(super) seat: Option<Seat>,
    pub(super) watching: Watching,
}

impl Seating {
    /// Joins the log with an extension that only watches, as soon as its subscriptions are known. What an extension offers
    /// only grows, so that an extension that has left does not come back.
    pub(super) fn choose(
        &mut self,
        session: &Session<Ticket>,
        commands: &Weak<mpsc::UnboundedSender<Command>>,
        count: &Arc<EventCount>,
    ) {
        let offers = session.offers();
        match &self.seat {
            Some(seat) if offers.only_watch() => seat.refilter(Filter::of(offers)),
            Some(seat) => seat.leave(),
            None if self.can_move && offers.only_watch() && session.state() == ExtensionState::Ready => {
                self.seat = self.watching.join(offers, Weak::clone(commands), count);
            }
            None => {}
        }
    }

    /// The writer was handed over. An extension that leaves the log does more than watch, and has no place there.
    pub(super) fn on_released(&mut self, released: &Released) {
        if !released.to_log {
            self.seat = None;
        }
    }

    /// The end of the extension.
    pub(super) fn end(&mut self) {
        self.seat = None;
        self.watching.end();
    }
}
