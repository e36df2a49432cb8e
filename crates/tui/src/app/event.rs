//! Events of the interface.

use haft_protocol::rpc::ServerLine;

use super::BackendReply;
use crate::keys::Chord;
use crate::mouse::MouseAction;

/// One thing that happens.
#[derive(Debug)]
pub enum UiEvent {
    /// A key.
    Key(Chord),
    /// Text that was pasted, as one piece.
    Paste(String),
    /// Something that was done with the mouse.
    Mouse(MouseAction),
    /// The terminal has this many columns and rows.
    Resize(u16, u16),
    /// A line that was typed, where lines are typed and not keys.
    TypedLine(String),
    /// The person interrupts what goes on, where that is no key.
    Interrupt,
    /// A line of the connection.
    Line(Box<ServerLine>),
    /// The connection is over: no line comes any more.
    Disconnected,
    /// An answer of the program.
    Answer(BackendReply),
    /// The person's own editor is closed: the text, or why there is none.
    Edited(Result<String, String>),
    /// Text was sent to the clipboard, or why not. Nobody knows whether the terminal took it.
    Copied(Result<(), String>),
    /// It is as late as the state wanted to be told.
    Tick,
}
