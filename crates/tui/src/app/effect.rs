//! Effects that the interface asks for.

use haft_protocol::rpc::RpcRequest;

use super::BackendRequest;

/// One thing to do. None of them is waited for: what comes of it is an [`Event`](super::Event).
#[derive(Debug)]
pub enum Effect {
    /// A command for the agent's side.
    Send(Box<RpcRequest>),
    /// A question for the program.
    Ask(BackendRequest),
    /// Text for the clipboard.
    Copy(String),
    /// Text that the person's own editor shall open.
    OpenEditor(String),
    /// The program stops until the shell has it go on.
    Suspend,
    /// The whole screen is drawn anew.
    Redraw,
    /// The terminal draws attention to itself.
    Bell,
    /// The title of the terminal's window. Clean.
    Title(String),
    /// It is over.
    Quit,
}
