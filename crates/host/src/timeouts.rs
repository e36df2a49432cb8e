//! All durations of the host.

use std::time::Duration;

use haft_packages::ExtensionSpec;
use haft_protocol::ext::{InterceptKind, Limits};

/// The deadlines of the host for everything that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the process start to `hello`. Runtimes that compile or download first need up to a minute.
    pub hello: Duration,
    /// The same for a gate, for an extension of the command line, and for a process hook: others wait for them.
    pub awaited_hello: Duration,
    /// From `hello` to `ready`; afterwards the extension counts as ready with what it has registered.
    pub ready: Duration,
    /// The silence that counts as `ready` for extensions that never send it, once they have registered
    /// something.
    pub idle_ready: Duration,
    /// One interception, from the query.
    pub intercept: Duration,
    /// One question to the person, or to an extension that approves calls; no answer means no.
    pub approval: Duration,
    /// One tool call, from the query.
    pub tool_call: Duration,
    /// One command, from the query.
    pub command: Duration,
    /// Completions of a command, from the query.
    pub completions: Duration,
    /// A file operation of the host for an extension, from its approval.
    pub host_call: Duration,
    /// The longest time for which an extension locks a file.
    pub file_lock: Duration,
    /// The longest time in which an extension reads nothing of its input.
    pub write_stall: Duration,
    /// The longest time from the first byte of a line to its newline.
    pub partial_line: Duration,
    /// The longest time above the frame rate without a pause.
    pub overrun: Duration,
    /// The silence of an extension with open work after which it receives a `ping`.
    pub ping: Duration,
    /// From a `ping` to any sign of life.
    pub pong: Duration,
    /// The time in which an extension that closed its input can answer the queries that it has read.
    pub half_closed: Duration,
    /// From `shutdown` to the terminate signal.
    pub shutdown_grace: Duration,
    /// From the terminate signal to the kill; also the time limit for the end of a killed process.
    pub kill_grace: Duration,
    /// The time in which the output of an exited process is still read.
    pub pipe_drain: Duration,
    /// The minimum time between two reports of unknown frame types.
    pub unknown_type_pause: Duration,
    /// The time that a start waits for the hello of an extension, and then for its `ready`. A required
    /// extension and one from the command line are waited for until their deadlines.
    pub start_patience: Duration,
    /// The additional time that a start waits for silent extensions when all others are ready.
    pub start_margin: Duration,
    /// The time that an extension without hello occupies the start gate.
    pub start_turn: Duration,
    /// The time that a tool call waits for a starting extension before the user receives a note.
    pub slow_start_notice: Duration,
    /// The time in which a replaced extension can finish its open queries.
    pub drain: Duration,
    /// The restart timing after a crash.
    pub restarts: RestartTiming,
}

/// The restart timing after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestartTiming {
    /// The pause after the first crash; each further crash doubles it. Up to a quarter is added, so that many
    /// extensions do not restart at the same time.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// The time span of a crash loop: after the number of crashes in the limits, there is no automatic
    /// restart.
    pub window: Duration,
    /// The running time after which earlier crashes are forgotten.
    pub stable: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(60),
            awaited_hello: Duration::from_secs(10),
            ready: Duration::from_secs(10),
            idle_ready: Duration::from_millis(250),
            intercept: Duration::from_secs(5),
            approval: Duration::from_secs(60),
            tool_call: Duration::from_secs(60),
            command: Duration::from_secs(30),
            completions: Duration::from_secs(1),
            host_call: Duration::from_secs(30),
            file_lock: Duration::from_secs(60),
            write_stall: Duration::from_secs(10),
            partial_line: Duration::from_secs(30),
            overrun: Duration::from_secs(10),
            ping: Duration::from_secs(5),
            pong: Duration::from_secs(10),
            half_closed: Duration::from_secs(2),
            shutdown_grace: Duration::from_secs(2),
            kill_grace: Duration::from_secs(1),
            pipe_drain: Duration::from_millis(200),
            unknown_type_pause: Duration::from_secs(1),
            start_patience: Duration::from_millis(500),
            start_margin: Duration::from_millis(40),
            start_turn: Duration::from_millis(500),
            slow_start_notice: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            restarts: RestartTiming::default(),
        }
    }
}

impl Default for RestartTiming {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            window: Duration::from_secs(180),
            stable: Duration::from_secs(180),
        }
    }
}

impl Timeouts {
    /// Returns the deadline of a decision of this extension: from its configuration or its grant, or the default.
    pub(crate) fn intercept_within(&self, spec: &ExtensionSpec, hook: InterceptKind) -> Duration {
        let configured = spec.as_hook().map(|configured| configured.timeout_for(hook));
        let granted = || spec.permissions.as_ref().and_then(|granted| granted.timeout_for(hook));
        configured.or_else(granted).unwrap_or_else(|| self.intercept_of(hook))
    }

    /// Returns the deadline of an extension's decision.
    pub(crate) fn intercept_of(&self, hook: InterceptKind) -> Duration {
        match hook {
            hook if hook.may_call_model() => self.tool_call,
            hook if hook.may_ask_person() => self.approval,
            _ => self.intercept,
        }
    }

    /// Returns the time limit of a tool with this own limit in milliseconds, where 0 means no limit.
    pub(crate) fn tool_call_within(&self, own_ms: Option<u64>) -> Duration {
        match own_ms {
            None => self.tool_call,
            Some(0) => UNLIMITED,
            Some(own_ms) => Duration::from_millis(own_ms).min(UNLIMITED),
        }
    }

    /// Returns the limits as announced to extensions: sizes and rates from `limits`, times from this value.
    pub(crate) fn apply_to_limits(&self, limits: Limits) -> Limits {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Limits {
            hello_ms: ms(self.hello),
            ready_ms: ms(self.ready),
            command_ms: ms(self.command),
            completions_ms: ms(self.completions),
            tool_call_ms: ms(self.tool_call),
            host_call_ms: ms(self.host_call),
            intercept_ms: ms(self.intercept),
            write_stall_ms: ms(self.write_stall),
            partial_line_ms: ms(self.partial_line),
            overrun_ms: ms(self.overrun),
            ping_ms: ms(self.ping),
            pong_ms: ms(self.pong),
            shutdown_ms: ms(self.shutdown_grace),
            kill_ms: ms(self.kill_grace),
            approval_ms: ms(self.approval),
            restart_min_ms: ms(self.restarts.first_pause),
            restart_max_ms: ms(self.restarts.longest_pause),
            crash_window_ms: ms(self.restarts.window),
            ..limits
        }
    }
}

/// The time limit of a call without a limit. Later times could overflow a clock.
const UNLIMITED: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The minimum time between two shown states of progress of one tool call.
pub(crate) const PROGRESS_PAUSE: Duration = Duration::from_millis(50);

/// The time span in which the log limit of an extension's output applies.
pub(crate) const LOG_WINDOW: Duration = Duration::from_secs(1);

/// The pause between two reads of an extension's output while it is dropped.
pub(crate) const DROPPED_PAUSE: Duration = Duration::from_millis(10);

/// The time that a host call waits for an agent: the first extensions start before the agent.
pub(crate) const AGENT_PATIENCE: Duration = Duration::from_secs(10);

/// The time in which a model must answer an extension.
pub(crate) const COMPLETION_TIME: Duration = Duration::from_secs(120);

/// The time that a call has after its deadline to report its progress.
pub(crate) const LEASE_GRACE: Duration = Duration::from_secs(1);

/// The time that a shutdown waits for calls of the extension. Longer than the time of a cancelled tool, and
/// long enough for the kill of a started command.
pub(crate) const CALLS_END: Duration = Duration::from_secs(4);

/// The unit of rates.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// The time without an excess after which the next excess is reported again.
pub(crate) const CALM: Duration = Duration::from_secs(1);

/// The time span in which too many lines that are not text end a connection.
pub(crate) const GARBLED_WINDOW: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announced_defaults_match_protocol() {
        assert_eq!(Timeouts::default().apply_to_limits(Limits::default()), Limits::default());
    }
}
