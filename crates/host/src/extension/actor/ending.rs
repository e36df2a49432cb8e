//! How it ends: what is still read of one that is gone, what is said of it, and that nothing of it stays.

use futures::channel::mpsc;
use tokio::time::{Instant, timeout};

use super::{Actor, now};
use crate::process::Exit;
use crate::wire::decode::LONG_FRAME;
use crate::wire::fault::PRINTED;
use crate::wire::pipe::WIDE;

/// As many long lines as a pipe holds, and the one before them.
const LATE_LINES: usize = WIDE / LONG_FRAME + 1;

impl Actor {
    pub(super) fn on_exit(&mut self, exit: Exit) {
        if exit.never_started {
            self.session.never_started();
        }
        self.log.host(&exit.text);
        self.exit = Some(exit);
        self.drain(false);
        self.wind_up("");
    }

    /// A long line of one that is gone was read. That may have taken all the time that there was for what lies behind it,
    /// which begins again therefore; but not for more than the pipe can have held, since something that it left behind
    /// may write to it for ever.
    pub(super) fn on_late_heard(&mut self) {
        self.late_lines += 1;
        if self.late_lines <= LATE_LINES {
            self.wind_up("");
        }
    }

    pub(super) fn on_stderr_end(&mut self) {
        self.stderr = None;
        if self.exit.is_some() {
            self.wind_up("");
        }
    }

    /// The end is near. Whatever is known of it counts; what is still in the pipes is read, but not for long.
    pub(super) fn wind_up(&mut self, symptom: &str) {
        let at = Instant::now() + self.session.timeouts().pipe_drain;
        let all_read = self.reader.is_none() && self.decoding.is_none() && self.stderr.is_none();
        let left_well = self.exit.as_ref().is_some_and(|exit| exit.left_well);
        match (&self.exit, &self.process) {
            (Some(_), _) if all_read => {
                // All it said is known: one that may leave and owes nobody an answer did as if it were asked to.
                if self.on_demand && left_well && self.owes_nobody() {
                    self.session.shutdown(now());
                }
                self.session.end(&self.obituary());
            }
            (Some(_), _) => self.session.end_at(at.into_std(), self.obituary()),
            (None, Some(_)) => self.session.half_closed(at.into_std(), symptom),
            (None, None) => self.session.end("closed the connection"),
        }
    }

    /// Whether nobody waits for an answer, nor has just asked.
    fn owes_nobody(&mut self) -> bool {
        while let Some(Ok(command)) = self.inbox.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            self.on_command(Some(command));
        }
        self.session.is_idle()
    }

    fn obituary(&self) -> String {
        let tail = self.log.tail();
        let (mut text, never_started) =
            self.exit.clone().map(|exit| (exit.text, exit.never_started)).unwrap_or_default();
        if never_started {
            // The launcher's word comes last.
            return tail.lines().last().unwrap_or_default().to_owned();
        }
        if let Some(bytes) = self.half_frame {
            text.push_str(&format!(", with {bytes} bytes of an unfinished frame"));
        }
        if !tail.is_empty() {
            text.push_str(PRINTED);
            text.push_str(&tail);
        }
        text
    }

    /// Kills what is left and waits for its end, but not for ever.
    pub(super) async fn finish(mut self: Box<Self>) {
        // Whoever still asks is told at once, and not when the last process is gone.
        self.inbox = None;
        self.status.leave();
        self.calls.cancel_all();
        let dropped = self.queue.0.lost();
        if dropped > 0 {
            self.log.host(format_args!("{dropped} events were dropped"));
        }
        if let Some(process) = &mut self.process {
            // Behind a launcher, the second kill relies on nobody's help.
            for _ in 0..2 {
                if let Err(error) = process.kill() {
                    self.log.host(format_args!("cannot be killed: {error}"));
                }
                if process.is_gone()
                    || timeout(self.session.timeouts().kill_grace, process.exited()).await.is_ok()
                {
                    break;
                }
                self.log.host(format_args!("process {} is still there after the kill", process.id()));
            }
        }
        self.calls.end().await;
        if let Some(stderr) = self.stderr.take() {
            // Something that left the process group may hold it open for ever.
            stderr.abort();
        }
        self.log.last("gone");
        self.frontend.extension_gone(&self.reporter.name);
    }
}
