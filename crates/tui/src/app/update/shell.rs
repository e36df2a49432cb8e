//! Shell commands of the user.

use haft_protocol::rpc::{CommandFailure, SteerCommand};

use super::super::activity::ShellCommand;
use super::super::pending_request::PendingRequest;
use super::super::state::AppState;
use super::super::{BackendRequest, ShellRequest};
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

/// Queues the output for the next step of the agent or for the next prompt.
pub(super) fn send_shell_output(state: &mut AppState, printed: QueuedShellOutput) {
    state.deferred.queue_revision += 1;
    state.queue.push_shell_output(&printed);
    state
        .out
        .send(SteerCommand { message: printed.message, images: Vec::new() }, PendingRequest::ShellOutput);
}
