//! Commands of the person's for the shell.

use haft_protocol::rpc::{Failure, Steer};

use super::super::Ask;
use super::super::pending::Pending;
use super::super::state::State;
use super::super::work::Shell;
use crate::queue::Printed;

impl State {
    pub(super) fn shell(&mut self, command: String, kept: bool) {
        let number = self.out.next_number();
        self.conversation.transcript_mut().shell(number, &command, kept, self.now);
        self.work.shells.push(Shell { number, command: command.clone(), kept });
        self.out.ask(Ask::Shell { number, command });
    }

    /// A command of the person's is over.
    pub(super) fn shell_end(&mut self, number: u64, outcome: Result<(String, Option<i32>), Failure>) {
        let Some(at) = self.work.shells.iter().position(|shell| shell.number == number) else { return };
        let Shell { command, kept, .. } = self.work.shells.remove(at);
        let shown = outcome.as_ref().map(|(_, status)| *status).map_err(ToString::to_string);
        self.conversation.transcript_mut().shell_end(number, shown, self.now);
        // It may have gone to another branch.
        self.out.ask(Ask::Branch);
        if let Ok((output, status)) = outcome
            && kept
        {
            let ended = match status {
                Some(0) => String::new(),
                Some(status) => format!("\n\nIt ended with status {status}."),
                None => "\n\nIt was stopped.".to_owned(),
            };
            let message = format!("I ran `{command}`:\n\n```\n{}\n```{ended}", output.trim_end());
            self.say_printed(Printed { command, message });
        }
    }

    /// The agent reads it at its next step, or before the next prompt.
    pub(super) fn say_printed(&mut self, printed: Printed) {
        self.held.told += 1;
        self.queue.printed(&printed);
        self.out.send(Steer { message: printed.message, images: Vec::new() }, Pending::ShellSaid);
    }

    /// Stops the command of the person's that began last.
    pub(in crate::app) fn stop_shell(&mut self) {
        if let Some(number) = self.work.shells.last().map(|shell| shell.number) {
            self.out.ask(Ask::StopShell { number });
        }
    }
}
