//! Liveness of an extension: detects silence despite open work, and unfinished lines.

use std::collections::VecDeque;
use std::time::Instant;

use haft_protocol::ids::RequestId;

use crate::timeouts::Timeouts;

/// The number of remembered unanswered pings, which distinguish a late answer from an invented one.
const MAX_REMEMBERED: usize = 8;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LivenessAlert {
    /// Send a ping with this id, which contains the number of the next line.
    Ping(RequestId),
    Silent,
    /// A line of this many bytes is not finished in time.
    Unfinished(usize),
}

/// A ping that waits for any sign of life.
#[derive(Debug)]
struct PendingPing {
    until: Instant,
    line: u64,
}

/// The liveness of one connection.
#[derive(Debug, Default)]
pub(super) struct LivenessMonitor {
    pub(super) pings: bool,
    /// The start of the silence: something was written or is open, and nothing was received since.
    silent: Option<Instant>,
    pending_ping: Option<PendingPing>,
    open: VecDeque<RequestId>,
    sent: u64,
    /// The start time and the current length of the unfinished line.
    unfinished: Option<(Instant, usize)>,
}

impl LivenessMonitor {
    pub(super) fn note_written(&mut self, at: Instant) {
        if self.pings {
            self.silent.get_or_insert(at);
        }
    }

    /// Records received input. `busy` is true if the extension still has work.
    pub(super) fn note_heard(&mut self, busy: bool, now: Instant) {
        self.pending_ping = None;
        self.silent = (self.pings && busy).then_some(now);
    }

    /// Records that a read ended this many bytes into a line. `fresh` is true if the line began in this read.
    pub(super) fn note_unfinished(&mut self, bytes: usize, fresh: bool, now: Instant) {
        let since = self.unfinished.filter(|_| !fresh).map_or(now, |(since, _)| since);
        self.unfinished = (bytes > 0).then_some((since, bytes));
    }

    /// True if this id belongs to a ping that was still unanswered.
    pub(super) fn take_ping(&mut self, id: &RequestId) -> bool {
        let place = self.open.iter().position(|open| open == id);
        place.is_some_and(|place| self.open.remove(place).is_some())
    }

    /// Returns the time of the next check by [`take_alert`](Self::take_alert).
    pub(super) fn deadline(&self, timeouts: &Timeouts) -> Option<Instant> {
        let ping = self.silent.map(|since| since + timeouts.ping);
        let life = self.pending_ping.as_ref().map_or(ping, |asked| Some(asked.until));
        let line = self.unfinished.map(|(since, _)| since + timeouts.partial_line);
        [life, line].into_iter().flatten().min()
    }

    /// Returns the actions that are due. `lines` were written so far, and the first `flushed` of them have
    /// left.
    pub(super) fn take_alert(
        &mut self,
        timeouts: &Timeouts,
        lines: u64,
        flushed: u64,
        now: Instant,
    ) -> Option<LivenessAlert> {
        if let Some((_, bytes)) = self.unfinished.filter(|(since, _)| *since + timeouts.partial_line <= now) {
            return Some(LivenessAlert::Unfinished(bytes));
        }
        if let Some(asked) = &mut self.pending_ping {
            if asked.until > now {
                return None;
            }
            if asked.line > flushed {
                // The ping has not left yet. The writer detects an extension that does not read.
                asked.until = now + timeouts.pong;
                return None;
            }
            return Some(LivenessAlert::Silent);
        }
        self.silent.filter(|since| *since + timeouts.ping <= now)?;
        self.sent += 1;
        let id = RequestId::new(format!("ping-{}", self.sent));
        if self.open.len() == MAX_REMEMBERED {
            self.open.pop_front();
        }
        self.open.push_back(id.clone());
        self.pending_ping = Some(PendingPing { until: now + timeouts.pong, line: lines + 1 });
        Some(LivenessAlert::Ping(id))
    }
}
