//! The work under way, and its start.

use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) runs: bool,
    pub(super) sums_up: bool,
    /// Prompts that were sent and are not replied to.
    pub(super) prompts: usize,
    /// The number of begins and ends: what is known of an earlier time does not count.
    pub(super) begun: u64,
    pub(super) since: Option<Instant>,
    pub(super) shells: Vec<Shell>,
}

/// A command of the person's.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) number: u64,
    pub(super) command: String,
    /// True if the model is told, in the session in which the command began or one that goes on with it.
    pub(super) kept: bool,
}

impl Work {
    pub(super) fn is_on(&self) -> bool {
        self.runs || self.sums_up || self.prompts > 0
    }

    pub(super) fn begins(&mut self) {
        self.begun += 1;
        self.runs = true;
    }

    pub(super) fn ends(&mut self) {
        self.begun += 1;
        self.runs = false;
    }

    /// Nothing is worked on any more, as somebody knows who must know.
    pub(super) fn is_over(&mut self) {
        (self.runs, self.sums_up, self.prompts) = (false, false, 0);
    }

    pub(super) fn keep_time(&mut self, now: Instant) {
        self.since = match self.is_on() || !self.shells.is_empty() {
            true => self.since.or(Some(now)),
            false => None,
        };
    }
}
