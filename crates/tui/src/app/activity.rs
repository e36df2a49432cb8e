//! The activity of the agent and of shell commands.

use std::time::Instant;

#[derive(Debug, Default)]
pub(super) struct ActivityState {
    pub(super) agent_running: bool,
    pub(super) compacting: bool,
    /// The number of prompts without a reply.
    pub(super) unanswered_prompts: usize,
    /// The number of starts and ends of activity. A reply that was requested at an earlier revision is out of date.
    pub(super) revision: u64,
    pub(super) since: Option<Instant>,
    pub(super) shells: Vec<ShellCommand>,
}

/// A shell command that the user started.
#[derive(Debug)]
pub(super) struct ShellCommand {
    pub(super) number: u64,
    pub(super) command: String,
    /// True if the output is sent to the model, in the session that started the command or in its fork.
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

    /// Resets the activity after an authoritative report that the agent is idle.
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
