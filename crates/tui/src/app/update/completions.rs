//! What may follow an extension's command: the extension is asked while it is typed, one question at a time.

use haft_protocol::rpc::{CompleteCommand, CompletionsData};

use super::super::known::Completed;
use super::super::pending::Pending;
use super::super::state::State;

impl State {
    /// Asks what may follow the command that is typed, unless that is known, or somebody is still asked: then the answer
    /// asks on.
    pub(super) fn ask_completions(&mut self) {
        let Some((name, prefix)) = self.typed_command() else {
            // The next one is told anew.
            self.known.said = None;
            return;
        };
        let known = self.known.said.as_ref().is_some_and(|said| said.of.0 == name && said.of.1 == prefix);
        if known || self.open.any(Pending::is_completions) {
            return;
        }
        let command = CompleteCommand { name: name.clone(), prefix: prefix.clone() };
        self.send(command, Pending::Completions(name, prefix));
    }

    /// An extension has answered, or failed to. What is not there any more is asked for no longer.
    pub(super) fn completed(&mut self, of: (String, String), data: CompletionsData) {
        let typed = self.typed_command();
        let is_of_it = |typed: &(String, String)| typed.0 == of.0;
        if !typed.as_ref().is_some_and(is_of_it) {
            return self.ask_completions();
        }
        let is_typed = typed.as_ref() == Some(&of);
        self.known.said = Some(Completed { of, items: data.items });
        self.input.complete(&self.known);
        if !is_typed {
            self.ask_completions();
        }
    }

    /// The command that is typed and completes, with what stands behind it up to the cursor.
    fn typed_command(&self) -> Option<(String, String)> {
        let (command, prefix) = self.input.arguments()?;
        let info = self.known.other(command).filter(|info| info.completes)?;
        Some((info.name.clone(), prefix.to_owned()))
    }
}
