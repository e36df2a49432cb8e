//! Whether an extension is told its events by the log for those who only watch, and what the log has to say to it.

use super::{Actor, EVENTS_DROPPED, now};
use crate::extension::fanout::{Filter, Word};
use crate::extension::writer::Released;
use crate::session::ExtensionState;

impl Actor {
    /// One that only watches is told by the log, as soon as what it subscribes to is known. What it offers only grows, so
    /// whoever has left does not come back.
    pub(super) fn choose_seat(&mut self) {
        let offers = self.session.offers();
        match &self.seat {
            Some(seat) if offers.only_watch() => seat.refilter(Filter::of(offers)),
            Some(seat) => seat.leave(),
            None if self.can_move && offers.only_watch() && self.session.state() == ExtensionState::Ready => {
                self.seat = self.watching.join(offers, self.commands.clone(), &self.event_count);
            }
            None => {}
        }
    }

    pub(super) fn on_log(&mut self, word: Word) {
        match word {
            Word::Joined => {
                self.writer.release(true, None);
                // It may have come to do more than watch meanwhile.
                self.choose_seat();
            }
            Word::Left => self.writer.release(false, self.seat.as_ref()),
            Word::Written => self.session.told(now()),
            Word::Lost(_) => self.log.host(EVENTS_DROPPED),
        }
    }

    /// Somebody else writes from now on. Whoever leaves the log does more than watch, and has no place there.
    pub(super) fn on_released(&mut self, released: Released) {
        if !released.to_log {
            self.seat = None;
        }
        self.writer.resume(released, self.seat.as_ref());
    }
}
