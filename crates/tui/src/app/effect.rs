//! Effects that the interface requests.

use haft_protocol::rpc::RpcRequest;

use super::BackendRequest;

/// A shell command of the user that gets the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalCommand {
    /// The command.
    pub command: String,
    /// True if the model is told that the command ran.
    pub is_reported: bool,
}

/// An action to carry out. The interface does not wait for it; a result arrives as a [`UiEvent`](super::UiEvent).
#[derive(Debug)]
pub enum Effect {
    /// A request to the agent.
    Send(Box<RpcRequest>),
    /// A request to the backend.
    Ask(BackendRequest),
    /// Copies a text to the clipboard.
    Copy(String),
    /// Opens a text in the external editor of the user.
    OpenEditor(String),
    /// Runs a shell command in the terminal, and hides the interface until the command ends.
    RunInTerminal(TerminalCommand),
    /// Suspends the program until the shell resumes it.
    Suspend,
    /// Redraws the whole screen.
    Redraw,
    /// Rings the bell of the terminal.
    Bell,
    /// Shows a desktop notification, if the terminal supports it. The text contains no control characters.
    Notify(String),
    /// Sets the title of the terminal's window. The text contains no control characters.
    Title(String),
    /// Ends the interface.
    Quit,
}
