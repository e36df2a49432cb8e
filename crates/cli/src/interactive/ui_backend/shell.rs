//! Commands of the user: shell commands and the editor.

use std::collections::BTreeMap;
use std::io;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use haft_core::hooks::{ReviewedUserBash, UserBash};
use haft_core::sanitize::{sanitize, sanitize_line};
use haft_protocol::rpc::{CommandFailure, ErrorCode};
use haft_tools::{Environment as _, EnvironmentError, RunEnd, RunReport, ShellCommand};
use haft_tui::app::{BackendReply, ShellRequest};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::UiBackend;
use crate::timeouts::{DEMO, SHELL};
use crate::token::VARIABLES as TOKEN_VARIABLES;

/// Plays `haft demo` and returns its output.
#[expect(clippy::disallowed_methods, reason = "haft itself, which is waited for")]
pub(super) async fn play_demo() -> anyhow::Result<String> {
    let haft = std::env::current_exe().context("cannot find the program file of haft")?;
    let mut demo = tokio::process::Command::new(haft);
    demo.arg("demo").stdin(Stdio::null()).kill_on_drop(true);
    let played = tokio::time::timeout(DEMO, demo.output()).await.context("the demo did not end")?;
    let played = played.context("cannot start the demo")?;
    // The progress is on standard error, the answer on standard output.
    let [progress, answer] =
        [played.stderr, played.stdout].map(|text| sanitize(&String::from_utf8_lossy(&text)));
    anyhow::ensure!(played.status.success(), "the demo failed: {progress}");
    Ok(format!("{progress}{answer}"))
}

/// The running commands.
#[derive(Default)]
pub(in crate::interactive) struct RunningShells(Mutex<BTreeMap<u64, CancellationToken>>);

impl RunningShells {
    fn begin(&self, number: u64) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.with_running(|running| running.insert(number, cancel.clone()));
        cancel
    }

    fn end(&self, number: u64) {
        self.with_running(|running| running.remove(&number));
    }

    /// Stops a command; does nothing if it has ended.
    pub(super) fn stop(&self, number: u64) {
        if let Some(cancel) = self.with_running(|running| running.get(&number).cloned()) {
            cancel.cancel();
        }
    }

    pub(in crate::interactive) fn stop_all(&self) {
        self.with_running(|running| running.values().for_each(CancellationToken::cancel));
    }

    fn with_running<T>(&self, change: impl FnOnce(&mut BTreeMap<u64, CancellationToken>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The maximum number of output pieces that wait for the screen. Further output appears at the end.
const PIECES: usize = 64;

impl UiBackend {
    /// Runs a command like the tool `bash`, after the hooks of the visible session have reviewed it.
    pub(super) async fn run_shell(
        &self,
        number: u64,
        shell: ShellRequest,
        answers: &mpsc::Sender<BackendReply>,
    ) -> BackendReply {
        let cancel = self.shells.begin(number);
        let ended = match self.review_command(&cancel, shell).await {
            Ok(ReviewedUserBash::Run { command, changed_by }) => {
                let note =
                    changed_by.map(|by| sanitize(&format!("[{by} changed the command to: {command}]\n")));
                if let Some(note) = note.clone() {
                    let _ = answers.send(BackendReply::ShellOutput(number, note)).await;
                }
                let ran = self.run_command(number, &cancel, command, answers).await;
                ran.map(|(output, status)| (note.unwrap_or_default() + &output, status))
            }
            Ok(ReviewedUserBash::Answered { by, output, exit_code }) => {
                let text = format!("[answered by {by}]\n{output}");
                let _ = answers.send(BackendReply::ShellOutput(number, text.clone())).await;
                Ok((text, exit_code))
            }
            Ok(ReviewedUserBash::Blocked { by, reason }) => Err(CommandFailure::new(
                ErrorCode::Failed,
                sanitize_line(&format!("refused by {by}: {reason}")),
            )),
            Ok(ReviewedUserBash::Cancelled) => Err(CommandFailure::new(ErrorCode::Aborted, "stopped")),
            Err(failure) => Err(failure),
        };
        self.shells.end(number);
        BackendReply::ShellEnd(number, ended)
    }

    /// Has the hooks review a command. They belong to the agent, so they run on its threads.
    async fn review_command(
        &self,
        cancel: &CancellationToken,
        ShellRequest { command, excluded }: ShellRequest,
    ) -> Result<ReviewedUserBash, CommandFailure> {
        let Some(agent) = self.context.open.current_agent() else {
            return Ok(ReviewedUserBash::Run { command, changed_by: None });
        };
        let cwd = self.context.cwd.to_string_lossy().into_owned();
        let (cancel, bash) = (cancel.clone(), UserBash::new(command, cwd).with_excluded(excluded));
        self.spawn_task(async move { Ok(agent.review_user_bash(&cancel, bash).await) }).await
    }

    async fn run_command(
        &self,
        number: u64,
        cancel: &CancellationToken,
        command: String,
        answers: &mpsc::Sender<BackendReply>,
    ) -> Result<(String, Option<i32>), CommandFailure> {
        let environment = self
            .context
            .tool_environment()
            .map_err(|error| CommandFailure::new(ErrorCode::Failed, format!("{error:#}")))?;
        let (cancel, (told, mut pieces)) = (cancel.clone(), mpsc::channel(PIECES));
        let (host, text) = (environment.clone(), command.clone());
        let running = self.runtime.spawn(async move {
            let told = move |piece: String| _ = told.try_send(piece);
            host.run(&cancel, ShellCommand { command: text, timeout: SHELL }, &told).await
        });
        // The loop ends when the command ends, because that drops the sender.
        while let Some(piece) = pieces.recv().await {
            let _ = answers.send(BackendReply::ShellOutput(number, piece)).await;
        }
        let ran = running.await.unwrap_or(Err(EnvironmentError::Cancelled));
        let wants_terminal = ran.as_ref().is_ok_and(|report| report.end == RunEnd::WantedTerminal);
        if wants_terminal || environment.editor_was_called() {
            let _ = answers.send(BackendReply::TerminalNeeded(number, command)).await;
        }
        shell_result(ran)
    }
}

fn shell_result(
    outcome: Result<RunReport, EnvironmentError>,
) -> Result<(String, Option<i32>), CommandFailure> {
    let report = outcome.map_err(|error| {
        let code =
            if matches!(error, EnvironmentError::Cancelled) { ErrorCode::Aborted } else { ErrorCode::Failed };
        CommandFailure::new(code, error.to_string())
    })?;
    let (status, end) = match report.end {
        RunEnd::Exited(code) => (Some(code), None),
        RunEnd::Signaled(signal) => (None, Some(format!("killed by signal {signal}"))),
        RunEnd::TimedOut => (None, Some("killed: the command ran for more than a day".to_owned())),
        RunEnd::Cancelled => (None, Some("stopped".to_owned())),
        RunEnd::WantedTerminal => {
            let why = "the command needs a terminal; run it in another terminal";
            return Err(CommandFailure::new(ErrorCode::Failed, why));
        }
    };
    let mut text = report.tail.clone();
    for note in report.notes().into_iter().chain(end) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]"));
    }
    Ok((text, status))
}

/// Runs a program in the foreground until it exits. A process group of its own could not read from the terminal.
/// Returns the exit code; `None` after a signal.
#[expect(clippy::disallowed_methods, reason = "the program uses the terminal while haft waits")]
pub(super) fn run_in_foreground(words: &[String]) -> io::Result<Option<i32>> {
    let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args);
    TOKEN_VARIABLES.iter().for_each(|name| _ = command.env_remove(name));
    Ok(command.status()?.code())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn runs_program_with_arguments() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("text.md").display().to_string();
        let words = |script: &str| ["sh", "-c", script, &file].map(str::to_owned);
        assert_eq!(run_in_foreground(&words("printf edited >\"$0\"")).unwrap(), Some(0));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "edited");
        assert_eq!(run_in_foreground(&words("exit 3")).unwrap(), Some(3));
        assert_eq!(run_in_foreground(&words("kill -9 $$")).unwrap(), None);
        assert!(run_in_foreground(&["no-such-editor".to_owned()]).is_err());
        assert!(run_in_foreground(&[]).is_err());
    }
}
