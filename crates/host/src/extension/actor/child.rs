//! The process behind an extension, and the facts about its end.

use tokio::task::JoinHandle;
use tokio::time::{Duration, timeout};

use crate::process::log::ExtensionLog;
use crate::process::{ExtensionProcess, ProcessExit};
use crate::wire::decode::LONG_FRAME;
use crate::wire::fault::PRINTED;
use crate::wire::pipe::WIDE;

/// The number of long lines that a pipe can hold, and the line before them.
const LATE_LINES: usize = WIDE / LONG_FRAME + 1;

/// The process of one extension. An extension behind a pair of streams has none.
pub(super) struct ChildProcess {
    pub(super) process: Option<ExtensionProcess>,
    pub(super) stderr: Option<JoinHandle<()>>,
    /// The exit of the process, once it has ended.
    pub(super) exit: Option<ProcessExit>,
    /// Bytes of an unfinished frame.
    pub(super) half_frame: Option<usize>,
    /// Long lines that were read since the process ended.
    late_lines: usize,
}

impl ChildProcess {
    pub(super) fn new(process: Option<ExtensionProcess>, stderr: Option<JoinHandle<()>>) -> Self {
        Self { process, stderr, exit: None, half_frame: None, late_lines: 0 }
    }

    pub(super) fn has_exited(&self) -> bool {
        self.exit.is_some()
    }

    /// Counts a long line of a process that has ended, and returns true if the drain time may start again.
    /// Decoding the line may have used up the time for the lines behind it. The number of restarts is bounded
    /// by the pipe's capacity, because a leftover child process may write forever.
    pub(super) fn count_late_line(&mut self) -> bool {
        self.late_lines += 1;
        self.late_lines <= LATE_LINES
    }

    pub(super) fn exit_summary(&self, log: &ExtensionLog) -> String {
        let tail = log.tail();
        let (mut text, never_started) =
            self.exit.clone().map(|exit| (exit.text, exit.never_started)).unwrap_or_default();
        if never_started {
            // The launcher's message comes last.
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

    pub(super) fn terminate(&mut self, log: &ExtensionLog) {
        if let Some(Err(error)) = self.process.as_mut().map(ExtensionProcess::terminate) {
            log.log_host_line(format_args!("cannot terminate the process: {error}"));
        }
    }

    /// Kills the remaining processes and waits a limited time for their end.
    pub(super) async fn kill(&mut self, grace: Duration, log: &ExtensionLog) {
        let Some(process) = &mut self.process else { return };
        // Behind a launcher, the second kill needs no cooperation.
        for _ in 0..2 {
            if let Err(error) = process.kill() {
                log.log_host_line(format_args!("cannot kill the process: {error}"));
            }
            if process.is_gone() || timeout(grace, process.wait_for_exit()).await.is_ok() {
                break;
            }
            log.log_host_line(format_args!("process {} still runs after the kill signal", process.id()));
        }
    }

    /// Stops reading standard error: a process that left the process group may hold it open forever.
    pub(super) fn stop_reading_stderr(&mut self) {
        if let Some(stderr) = self.stderr.take() {
            stderr.abort();
        }
    }
}
