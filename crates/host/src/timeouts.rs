//! Every duration of the host.

use std::time::Duration;

use haft_protocol::ext::{InterceptKind, Limits};

/// The deadlines of the host, for everything that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From start to `hello`. Runtimes that compile or download first need seconds.
    pub hello: Duration,
    /// From `hello` to `ready`; afterwards the extension counts as ready with what it has registered.
    pub ready: Duration,
    /// Silence that counts as `ready` for extensions that never send it, once they have registered something.
    pub idle_ready: Duration,
    /// One interception, from the moment of asking.
    pub intercept: Duration,
    /// One question to the person, whose silence is a no.
    pub approval: Duration,
    /// One tool call, from the moment of asking.
    pub tool_call: Duration,
    /// One command, from the moment of asking.
    pub command: Duration,
    /// Completions of a command, from the question on.
    pub completions: Duration,
    /// A file operation of the host for an extension, from its approval on.
    pub host_call: Duration,
    /// Longest time in which an extension takes nothing of what is written to it.
    pub write_stall: Duration,
    /// Longest time from the first byte of a line to its newline.
    pub partial_line: Duration,
    /// Longest time over the rate of frames, without a pause.
    pub overrun: Duration,
    /// Silence of an extension that has something to do, after which it is sent a `ping`.
    pub ping: Duration,
    /// From a `ping` to any sign of life.
    pub pong: Duration,
    /// The time that an extension that closed its input has to answer what it has read.
    pub half_closed: Duration,
    /// From `shutdown` to the request to terminate.
    pub shutdown_grace: Duration,
    /// From the request to terminate to the kill; also how long a killed process may take to be gone.
    pub kill_grace: Duration,
    /// The time that the output of a process that has exited is still read.
    pub pipe_drain: Duration,
    /// Least time between two reports of unknown frame types.
    pub unknown_type_pause: Duration,
    /// The time that a start waits for the hello of an extension, and then for it to be ready. A required one, and one
    /// that the command line names, is waited for until its deadlines.
    pub start_patience: Duration,
    /// The time that a start still waits for silent ones when all others are ready.
    pub start_margin: Duration,
    /// The time that one without a hello keeps others from being started.
    pub start_turn: Duration,
    /// The time that a tool call waits for an extension that is being started before people are told.
    pub slow_start_notice: Duration,
    /// The time that a replaced extension has for its open questions.
    pub drain: Duration,
    /// When one that crashed is started again.
    pub restarts: RestartTiming,
}

/// When an extension that crashed is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestartTiming {
    /// The pause after the first crash; each further one doubles it. Up to a quarter is added, so that many do not
    /// start in step.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// So many crashes in this span as the limits say are a loop: it is not started again by itself.
    pub window: Duration,
    /// One that ran for so long has no crashes behind it.
    pub stable: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(10),
            ready: Duration::from_secs(10),
            idle_ready: Duration::from_millis(250),
            intercept: Duration::from_secs(5),
            approval: Duration::from_secs(60),
            tool_call: Duration::from_secs(60),
            command: Duration::from_secs(30),
            completions: Duration::from_secs(1),
            host_call: Duration::from_secs(30),
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
    /// Returns the deadline of an extension's decision about this. Who writes a summary may have to ask a model.
    pub(crate) fn intercept_of(&self, hook: InterceptKind) -> Duration {
        match hook {
            InterceptKind::BeforeCompact => self.tool_call,
            InterceptKind::ToolCall
            | InterceptKind::TurnStart
            | InterceptKind::AssistantMessage
            | InterceptKind::BeforeAgentStart => self.intercept,
        }
    }

    /// The limits as they are announced: sizes and rates as given, times from here.
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

/// In this span a log takes at most so much of what an extension prints as its limits say.
pub(crate) const LOG_WINDOW: Duration = Duration::from_secs(1);

/// Between two reads of what an extension prints while none of it is kept.
pub(crate) const DROPPED_PAUSE: Duration = Duration::from_millis(10);

/// The time that a call to the host waits for an agent: the first extensions are started before there is one.
pub(crate) const AGENT_PATIENCE: Duration = Duration::from_secs(10);

/// The time that a call has after its deadline to report its progress.
pub(crate) const LEASE_GRACE: Duration = Duration::from_secs(1);

/// The time that an end waits for calls of the extension. Longer than a tool gets that is cancelled, and what a command
/// started is killed by then.
pub(crate) const CALLS_END: Duration = Duration::from_secs(4);

/// The unit of rates.
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// So long without an excess, and the next one is another episode, with a report of its own.
pub(crate) const CALM: Duration = Duration::from_secs(1);

/// So many lines within this span that are no text at all end a connection.
pub(crate) const GARBLED_WINDOW: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_by_default_is_what_the_protocol_says() {
        assert_eq!(Timeouts::default().apply_to_limits(Limits::default()), Limits::default());
    }
}
