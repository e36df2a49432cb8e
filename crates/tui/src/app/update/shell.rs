//! Commands of the person's for the shell.

use haft_protocol::rpc::{CommandFailure, SteerCommand};

use super::super::BackendRequest;
use super::super::pending::Pending;
use super::super::state::State;
use super::super::work::Shell;
use crate::queue::QueuedShellOutput;

pub(super) fn shell(state: &mut State, command: String, kept: bool) {
    let number = state.out.next_number();
    state.stack.conversation.transcript_mut().start_shell(number, &command, kept, state.now);
    state.work.shells.push(Shell { number, command: command.clone(), kept });
    state.out.ask(BackendRequest::Shell { number, command });
}

pub(super) fn shell_end(state: &mut State, number: u64, outcome: Result<(String, Option<i32>), CommandFailure>) {
    let Some(at) = state.work.shells.iter().position(|shell| shell.number == number) else { return };
    let Shell { command, kept, .. } = state.work.shells.remove(at);
    let shown = outcome.as_ref().map(|(_, status)| *status).map_err(ToString::to_string);
    state.stack.conversation.transcript_mut().finish_shell(number, shown, state.now);
    // It may have gone to another branch.
    state.out.ask(BackendRequest::Branch);
    if let Ok((output, status)) = outcome
        && kept
    {
        let ended = match status {
            Some(0) => String::new(),
            Some(status) => format!("\n\nIt ended with status {status}."),
            None => "\n\nIt was stopped.".to_owned(),
        };
        let message = format!("I ran `{command}`:\n\n```\n{}\n```{ended}", output.trim_end());
        say_printed(state, QueuedShellOutput { command, message });
    }
}

/// The agent reads it at its next step, or before the next prompt.
pub(super) fn say_printed(state: &mut State, printed: QueuedShellOutput) {
    state.held.told += 1;
    state.queue.push_shell_output(&printed);
    state.out.send(SteerCommand { message: printed.message, images: Vec::new() }, Pending::ShellSaid);
}
