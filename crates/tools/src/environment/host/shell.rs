//! Runs a shell command in a process group of its own.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use haft_launch::{
    GroupChild, ProgramKind, SpawnOptions, StderrMode, StdioMode, TerminalRequestWatch, find_program,
};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::HostEnvironment;
use super::collector::OutputCollector;
use super::protected::AppearedNames;
use crate::environment::run_blocking;
use crate::environment::{EnvironmentError, RunEnd, RunReport, ShellCommand};
use crate::timeouts;

/// The first bytes of the output, which are searched for the warning of an editor.
const WARNING_WITHIN: usize = 1024;

/// The read buffer, as large as a pipe's.
const BUFFER: usize = 64 * 1024;

pub(super) async fn run(
    cancel: &CancellationToken,
    host: &HostEnvironment,
    command: ShellCommand,
    progress: &(dyn Fn(String) + Send + Sync),
) -> Result<RunReport, EnvironmentError> {
    // The first search of a large directory takes a while.
    tokio::select! {
        biased;
        () = cancel.cancelled() => return Ok(OutputCollector::new(&host.scratch).finish(RunEnd::Cancelled, false)),
        found = host.find_protected_paths() => found?,
    }
    let mut running =
        RunningCommand::start(host, &command.command, progress).map_err(EnvironmentError::Start)?;
    let end = tokio::select! {
        biased;
        () = cancel.cancelled() => RunEnd::Cancelled,
        () = sleep(command.timeout) => RunEnd::TimedOut,
        end = running.read_until_end() => end.map_err(EnvironmentError::Start)?,
    };
    match end {
        RunEnd::Cancelled | RunEnd::TimedOut => running.stop().await,
        // A stopped process cannot handle a signal.
        RunEnd::WantedTerminal => running.kill().await,
        RunEnd::Exited(_) | RunEnd::Signaled(_) => {}
    }
    let background = timeout(timeouts::OUTPUT_GRACE, running.read_until_eof()).await.is_err();
    let RunningCommand { child, mut collector, .. } = running;
    // After a normal end, the remaining processes are in the background on purpose. A killed group is gone.
    child.release();
    report_rest(&mut collector, progress);
    let (reads, host) = (host.reads.clone(), host.clone());
    let report = run_blocking(move || {
        let AppearedNames { created, removed } = host.take_appeared_names();
        let report = RunReport { created, removed, ..collector.finish(end, background) };
        if let Some(notices) = &host.notices {
            report.appeared_notes().for_each(|note| (notices.0)(&note));
        }
        // The caller may read the complete output, wherever it is stored.
        if let (Some(reads), Some(full)) = (&reads, &report.full) {
            reads.admit(&full.path);
        }
        Ok(report)
    });
    report.await
}

fn report_rest(collector: &mut OutputCollector, progress: &(dyn Fn(String) + Send + Sync)) {
    if collector.has_piece() {
        progress(collector.take_piece());
    }
}

/// A running command with its output so far.
struct RunningCommand<'a> {
    child: GroupChild,
    stdout: ChildStdout,
    buffer: Vec<u8>,
    collector: OutputCollector,
    progress: &'a (dyn Fn(String) + Send + Sync),
    next_progress: Instant,
    status: Option<ExitStatus>,
    wish: TerminalRequestWatch,
    wants_terminal: bool,
    output_len: usize,
    eof: bool,
}

impl<'a> RunningCommand<'a> {
    fn start(
        host: &HostEnvironment,
        command: &str,
        progress: &'a (dyn Fn(String) + Send + Sync),
    ) -> io::Result<Self> {
        let (shell, flags) = find_shell()?;
        let mut spec = SpawnOptions::new(shell, &host.cwd).args(flags.iter().copied().chain([command]));
        spec.env = host.env_policy()?;
        spec.launcher.clone_from(&host.launcher);
        spec.kind = ProgramKind::Command;
        spec.sandbox = host.command_sandbox()?;
        spec.stdout = StdioMode::Piped;
        spec.stderr = StderrMode::SameAsStdout;
        let mut child = GroupChild::spawn(spec)?;
        let stdout = child.take_stdout().ok_or_else(|| io::Error::other("the command has no output pipe"))?;
        Ok(Self {
            wish: child.watch_terminal_requests()?,
            wants_terminal: false,
            output_len: 0,
            child,
            stdout,
            buffer: vec![0; BUFFER],
            collector: OutputCollector::new(&host.scratch),
            progress,
            next_progress: Instant::now(),
            status: None,
            eof: false,
        })
    }

    /// Reads output until the shell has ended, or waits for a terminal that it does not get.
    async fn read_until_end(&mut self) -> io::Result<RunEnd> {
        loop {
            if let Some(status) = self.status {
                return Ok(run_end(status));
            }
            if self.wants_terminal {
                return Ok(RunEnd::WantedTerminal);
            }
            self.wait_for_event().await?;
        }
    }

    /// Reads output until the shell has ended. Cancellation-safe.
    async fn read_until_exit(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            self.wait_for_event().await?;
        }
    }

    /// Reads output until no process holds the pipe. Cancellation-safe.
    async fn read_until_eof(&mut self) {
        while !self.eof {
            if self.wait_for_event().await.is_err() {
                self.eof = true;
            }
        }
    }

    /// Waits for one event. Cancellation-safe.
    async fn wait_for_event(&mut self) -> io::Result<()> {
        tokio::select! {
            status = self.child.wait(), if self.status.is_none() => self.status = Some(status?),
            read = self.stdout.read(&mut self.buffer), if !self.eof => match read {
                Ok(0) | Err(_) => self.eof = true,
                Ok(len) => {
                    let piece = self.buffer.get(..len).unwrap_or_default();
                    self.wants_terminal |= self.output_len < WARNING_WITHIN && waits_for_keys(piece);
                    self.output_len += piece.len();
                    self.collector.push(piece);
                }
            },
            () = self.wish.wait(), if self.status.is_none() && !self.wants_terminal => self.wants_terminal = true,
            () = sleep_until(self.next_progress), if self.collector.has_piece() => {
                self.next_progress = Instant::now() + timeouts::PROGRESS;
                (self.progress)(self.collector.take_piece());
            }
            else => std::future::pending().await,
        }
        Ok(())
    }

    /// Sends SIGTERM, then SIGKILL. Afterwards every process of the group is dead or dying.
    async fn stop(&mut self) {
        self.send_signal(GroupChild::terminate);
        self.wait_at_most(timeouts::STOP_GRACE).await;
        self.kill().await;
    }

    async fn kill(&mut self) {
        self.send_signal(GroupChild::kill);
        self.wait_at_most(timeouts::KILL_WAIT).await;
    }

    fn send_signal(&mut self, signal: fn(&mut GroupChild) -> io::Result<()>) {
        if let Err(error) = signal(&mut self.child) {
            tracing::warn!(pid = self.child.id(), %error, "cannot signal a command");
        }
    }

    async fn wait_at_most(&mut self, limit: Duration) {
        if let Ok(Err(error)) = timeout(limit, self.read_until_exit()).await {
            tracing::warn!(pid = self.child.id(), %error, "cannot wait for a command");
        }
    }
}

/// True if the output begins with the message of an editor that then waits for keys forever: Vim without a terminal
/// continues with a warning.
fn waits_for_keys(output: &[u8]) -> bool {
    String::from_utf8_lossy(output).contains("Vim: Warning: Input is not from a terminal")
}

/// Returns bash if there is one, because models write for bash. The user's own shell would make results differ
/// between machines.
#[cfg(unix)]
fn find_shell() -> io::Result<(PathBuf, &'static [&'static str])> {
    let bash = PathBuf::from("/bin/bash");
    let shell = if bash.exists() { bash } else { find_program("bash").unwrap_or_else(|_| "/bin/sh".into()) };
    Ok((shell, &["-c", "--"]))
}

/// Returns bash if there is one (git includes it), otherwise the shell of Windows.
#[cfg(not(unix))]
fn find_shell() -> io::Result<(PathBuf, &'static [&'static str])> {
    match find_program("bash") {
        Ok(bash) => Ok((bash, &["-c", "--"])),
        Err(_) => Ok((find_program("cmd")?, &["/C"])),
    }
}

#[cfg(unix)]
fn run_end(status: ExitStatus) -> RunEnd {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => RunEnd::Exited(code),
        (None, signal) => RunEnd::Signaled(signal.unwrap_or_default()),
    }
}

#[cfg(not(unix))]
fn run_end(status: ExitStatus) -> RunEnd {
    RunEnd::Exited(status.code().unwrap_or(-1))
}
