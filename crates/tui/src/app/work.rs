//! The work under way, and its start.

use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct ActivityState {
    pub(super) agent_running: bool,
    pub(super) compacting: bool,
    /// Prompts that were sent and are not replied to.
    pub(super) unanswered_prompts: usize,
    /// The number of begins and ends: what is known of an earlier time does not count.
    pub(super) revision: u64,
    pub(super) since: Option<Instant>,
    pub(super) shells: Vec<ShellCommand>,
}

/// A command of the person's.
#[derive(Debug)]
pub(super) struct ShellCommand {
    pub(super) number: u64,
    pub(super) command: String,
    /// True if the model is told, in the session in which the command began or one that goes on with it.
    pub(super) reported_to_model: bool,
}

impl ActivityState {
    pub(super) fn is_active(&self) -> bool {
        self.agent_running || self.compacting || self.unanswered_prompts > 0
    }

    pub(super) fn start_run(&mut self) {
        self.revision += 1;
        self.agent_running = true;
    }

    pub(super) fn end_run(&mut self) {
        self.revision += 1;
        self.agent_running = false;
    }

    /// Nothing is worked on any more, as somebody knows who must know.
    pub(super) fn stop_all(&mut self) {
        (self.agent_running, self.compacting, self.unanswered_prompts) = (false, false, 0);
    }

    pub(super) fn track_start(&mut self, now: Instant) {
        self.since = match self.is_active() || !self.shells.is_empty() {
            true => self.since.or(Some(now)),
            false => None,
        };
    }
}
