//! Events of the interface.

use haft_protocol::rpc::ServerLine;

use super::{BackendReply, TerminalCommand};
use crate::keys::Chord;
use crate::mouse::MouseAction;

/// An event of the terminal, the connection or the backend.
#[derive(Debug)]
pub enum UiEvent {
    /// A key press.
    Key(Chord),
    /// Pasted text.
    Paste(String),
    /// A mouse action.
    Mouse(MouseAction),
    /// The new columns and rows of the terminal.
    Resize(u16, u16),
    /// A typed line, in the linear mode.
    TypedLine(String),
    /// An interrupt of the user, in the linear mode.
    Interrupt,
    /// A line from the agent.
    Line(Box<ServerLine>),
    /// The connection to the agent has ended.
    Disconnected,
    /// A reply of the backend.
    Answer(BackendReply),
    /// The result of the external editor: the text, or an error for the user.
    Edited(Result<String, String>),
    /// A shell command ran in the terminal: its exit code, `None` after a signal, or an error for the user.
    RanInTerminal(TerminalCommand, Result<Option<i32>, String>),
    /// The result of copying: an error for the user if it failed. The terminal does not confirm that it took the text.
    Copied(Result<(), String>),
    /// The time that [`AppState::wakes_at`](super::AppState::wakes_at) returned has come.
    Tick,
}
