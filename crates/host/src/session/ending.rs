//! How a connection ends: asked to leave, gone by itself, or thrown out.

use std::time::Instant;

use super::pending::{Kind, Open};
use super::status::Status;
use super::{ExtensionState, Output, Phase, Session};
use crate::timeouts::Timeouts;
use crate::wire::fault::{CallError, FaultCode, PRINTED};

/// What the launcher says when it could not confine what it was to start.
const NO_SANDBOX: &str = "no sandbox: ";

impl<T> Session<T> {
    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.facts.timeouts
    }

    /// Asks the extension to leave and starts the ladder: its own time, then a signal, then the kill.
    pub(crate) fn shutdown(&mut self, now: Instant) {
        match self.phase {
            Phase::Draining { .. } | Phase::Closed(_) => return,
            // Nothing is sent before `hello_ack`: the end of its input tells it.
            Phase::AwaitHello { .. } => {}
            Phase::Registering { .. } | Phase::Ready => {
                match self.facts.speech.farewell().map(|words| self.encode(words)) {
                    Some(Ok(line)) => self.write(line, false),
                    Some(Err(detail)) => self.log(detail),
                    None => {}
                }
            }
        }
        self.out.push_back(Output::CloseInput);
        self.answer_all("is being stopped");
        self.drop_calls();
        let grace = now + self.facts.timeouts.shutdown_grace;
        self.phase = match self.facts.speech.is_warned() {
            true => {
                Phase::Draining { terminate_at: Some(grace), kill_at: grace + self.facts.timeouts.kill_grace }
            }
            false => Phase::Draining { terminate_at: None, kill_at: grace },
        };
        self.changed();
    }

    /// The process is gone: the rest of its output counts until `at`. A later call replaces an earlier one, because the
    /// exit status says more than the end of a stream.
    pub(crate) fn end_at(&mut self, at: Instant, text: String) {
        self.ending = Some((at, text));
    }

    /// The process that ended was not the extension's: the launcher could not start it.
    pub(crate) fn never_started(&mut self) {
        self.never_started = true;
    }

    /// It closed one of its streams and runs on: as good as gone, unless it is leaving anyway. Then it has the time that
    /// everybody has.
    pub(crate) fn half_closed(&mut self, at: Instant, symptom: &str) {
        if !matches!(self.phase, Phase::Draining { .. }) {
            self.end_at(at, symptom.to_owned());
        }
    }

    /// It closed its input and runs on. Without a question that never reached it, it may still answer what it has read;
    /// with one, it has only the time that the end of a process takes to be seen, which says more.
    pub(crate) fn deafened(&mut self, flushed: u64, now: Instant) {
        self.deaf = true;
        let Timeouts { pipe_drain, half_closed, .. } = *self.facts.timeouts;
        let time = if self.pending.waits_beyond(flushed) { pipe_drain } else { half_closed };
        self.half_closed(now + time, "closed its input and kept running");
    }

    /// The connection is over, and this is how.
    pub(crate) fn end(&mut self, text: &str) {
        match self.phase {
            Phase::Draining { .. } => self.close(ExtensionState::Stopped, "was stopped"),
            Phase::AwaitHello { .. } if self.never_started => {
                let code = match text.contains(NO_SANDBOX) {
                    true => FaultCode::SandboxUnavailable,
                    false => FaultCode::SpawnFailed,
                };
                self.fail(code, text.to_owned());
            }
            Phase::AwaitHello { .. } => self.fail(FaultCode::Exited, ended_before_hello(text)),
            Phase::Registering { .. } | Phase::Ready => self.fail(FaultCode::Exited, text.to_owned()),
            Phase::Closed(_) => {}
        }
    }

    /// The extension takes nothing of what is written to it.
    pub(crate) fn stalled(&mut self) {
        if !matches!(self.phase, Phase::Draining { .. }) {
            let after = self.facts.timeouts.write_stall.as_secs_f64();
            self.fail(FaultCode::WriteStalled, format!("read nothing of its input for {after} s"));
        }
    }

    /// A question whose line never left is a symptom: the extension does not read, and no further one can leave.
    pub(super) fn overdue(&mut self, open: Open<T>, flushed: u64) {
        let Open { ticket, kind, what, after, line, .. } = open;
        let seconds = after.as_secs_f64();
        // What is only typed is not worth the extension.
        if line > flushed && kind != Kind::Completions {
            let why = format!("does not read its input: {what} could not be delivered within {seconds} s");
            self.out.push_back(Output::Answer(ticket, Err(CallError::Gone { why: why.clone() })));
            self.fail(FaultCode::WriteStalled, why);
            return;
        }
        let code = match kind {
            Kind::Intercept => FaultCode::HookTimeout,
            Kind::Command | Kind::Completions | Kind::Tool => FaultCode::CallTimeout,
        };
        self.fault(code, format!("{what} was not answered within {seconds} s"));
        self.out.push_back(Output::Answer(ticket, Err(CallError::TimedOut { after })));
        self.end_calls_for(line);
    }

    /// Ends the connection for a reason that is reported. While it is being stopped anyway, nothing is.
    pub(super) fn fail(&mut self, code: FaultCode, message: String) {
        match self.phase {
            Phase::Closed(_) => {}
            Phase::Draining { .. } => {
                self.log(format!("{code}: {message}"));
                self.close(ExtensionState::Stopped, "was stopped");
            }
            Phase::AwaitHello { .. } | Phase::Registering { .. } | Phase::Ready => {
                self.fault(code, message.clone());
                self.close(ExtensionState::Failed { code, message: message.clone() }, &message);
            }
        }
    }

    pub(super) fn close(&mut self, state: ExtensionState, why: &str) {
        self.phase = Phase::Closed(state);
        self.paused = None;
        self.panels.flush().for_each(drop);
        self.status = Status::new(&self.facts.limits);
        self.report_dropped_notes();
        if let Some(text) = self.reports.summary() {
            self.log(text);
        }
        self.answer_all(why);
        self.drop_calls();
        self.changed();
    }

    /// Ends all open questions.
    pub(crate) fn answer_all(&mut self, why: &str) {
        for open in self.pending.drain() {
            self.out.push_back(Output::Answer(open.ticket, Err(CallError::Gone { why: why.to_owned() })));
        }
    }
}

/// What is said of one that ended before it said anything. With these two statuses shells, `env` and the shims of version
/// managers say that they did not get at what they were to run.
fn ended_before_hello(text: &str) -> String {
    let (ended, printed) = text.split_at(text.find(PRINTED).unwrap_or(text.len()));
    let hint = match ended.strip_prefix("exited with status ") {
        Some("126") => ": what it runs could not be run",
        Some("127") => ": what it runs was not found",
        Some(_) | None => return format!("ended before hello: {text}"),
    };
    format!(
        "ended before hello: {ended}{hint}; where that is a shim, as those of pyenv, it may lie outside of what a sandbox \
         lets it reach: name the interpreter itself as `exec`{printed}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_not_got_at_is_told_of() {
        let told = ended_before_hello(&format!("exited with status 126{PRINTED}pyenv: cannot execute"));
        insta::assert_snapshot!(told, @"ended before hello: exited with status 126: what it runs could not be run; where that is a shim, as those of pyenv, it may lie outside of what a sandbox lets it reach: name the interpreter itself as `exec`; it printed: pyenv: cannot execute");
        assert!(ended_before_hello("exited with status 127").contains("was not found; where"));
        for other in ["exited with status 1", "exited with status 1267", "was ended by signal 9"] {
            assert_eq!(ended_before_hello(other), format!("ended before hello: {other}"));
        }
    }
}
