//! Shell commands of the user.

use haft_protocol::rpc::{CommandFailure, SteerCommand};

use super::super::activity::ShellCommand;
use super::super::intent::AnswerUse;
use super::super::pending_request::PendingRequest;
use super::super::state::AppState;
use super::super::{BackendRequest, ShellRequest, TerminalCommand};
use crate::dialog::{AnswerKind, Question};
use crate::queue::QueuedShellOutput;

pub(super) fn run_shell_command(state: &mut AppState, command: String, send_output: bool) {
    let number = state.out.next_number();
    state.stack.conversation.transcript_mut().start_shell(number, &command, send_output, state.now);
    state.work.shells.push(ShellCommand { number, command: command.clone(), reported_to_model: send_output });
    let shell = ShellRequest { command, excluded: !send_output };
    state.out.ask_backend(BackendRequest::Shell { number, shell });
}

pub(super) fn finish_shell_command(
    state: &mut AppState,
    number: u64,
    outcome: Result<(String, Option<i32>), CommandFailure>,
) {
    let Some(at) = state.work.shells.iter().position(|shell| shell.number == number) else { return };
    let ShellCommand { command, reported_to_model, .. } = state.work.shells.remove(at);
    let shown = outcome.as_ref().map(|(_, status)| *status).map_err(ToString::to_string);
    state.stack.conversation.transcript_mut().finish_shell(number, shown, state.now);
    // The command may have changed the git branch.
    state.out.ask_backend(BackendRequest::Branch);
    if let Ok((output, status)) = outcome
        && reported_to_model
    {
        let ending = match status {
            Some(0) => String::new(),
            Some(status) => format!("\n\nThe command exited with status {status}."),
            None => "\n\nThe command was stopped.".to_owned(),
        };
        let message = format!("I ran `{command}`:\n\n```\n{}\n```{ending}", output.trim_end());
        send_shell_output(state, QueuedShellOutput { command, message });
    }
}

/// Asks whether a command that needs a terminal may use the real one. In linear mode, haft reads the terminal itself.
pub(super) fn offer_terminal(state: &mut AppState, number: u64, command: String) {
    let Some(shell) = state.work.shells.iter().find(|shell| shell.number == number) else { return };
    if state.linear.enabled {
        return;
    }
    let is_reported = shell.reported_to_model;
    let question = Question {
        grants: true,
        ..Question::from_haft(
            AnswerKind::Confirm,
            "Run the command in your terminal?".to_owned(),
            format!(
                "{command}\n\nThe command needs a terminal or an editor. haft hides its screen until the command ends. The \
             command then runs as in your shell: outside of the sandbox, and with all your environment variables."
            ),
        )
    };
    state.open_dialog(question, AnswerUse::RunInTerminal(TerminalCommand { command, is_reported }));
}

/// Reports the end of a command that ran in the terminal. Its output is not known.
pub(super) fn report_terminal_command(
    state: &mut AppState,
    TerminalCommand { command, is_reported }: TerminalCommand,
    ended: Result<Option<i32>, String>,
) {
    let end = match ended {
        Ok(Some(status)) => format!("exited with status {status}"),
        Ok(None) => "was stopped".to_owned(),
        Err(error) => return state.show_error(error),
    };
    state.show_info(format!("!{command} ran in the terminal and {end}"));
    state.out.ask_backend(BackendRequest::Branch);
    if is_reported {
        let message =
            format!("I ran `{command}` in my own terminal. The command {end}; its output was not recorded.");
        send_shell_output(state, QueuedShellOutput { command, message });
    }
}

/// Queues the output for the next step of the agent or for the next prompt.
pub(super) fn send_shell_output(state: &mut AppState, printed: QueuedShellOutput) {
    state.deferred.queue_revision += 1;
    state.queue.push_shell_output(&printed);
    state
        .out
        .send(SteerCommand { message: printed.message, images: Vec::new() }, PendingRequest::ShellOutput);
}
