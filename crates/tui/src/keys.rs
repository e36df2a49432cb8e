//! Keys and their actions.
//!
//! Everything that a key can do is an [`Action`], declared once in [`ACTIONS`] with its name, its keys and what it does;
//! the documentation, [`markdown`], is made of the same table. The user's own file changes the keys: [`Keymap::read`].
//! Which actions a key can mean depends on what has the keyboard, the [`Context`].
//!
//! Invariant: what closes a panel, a dialog or a list, what aborts and what quits keeps its keys, whatever a file says.

mod chord;
mod context;
mod crossterm;
mod file;
mod keymap;
mod table;

pub use chord::{Chord, ChordError, ChordKey, Modifiers};
pub use context::Context;
pub use crossterm::from_crossterm;
pub use file::{KeybindingProblem, KeysError};
pub use keymap::{KeyPress, Keymap};
pub use table::{
    ACTIONS, Action, App, Browse, Completion, Confirm, Dialog, Edit, Entry, Panel, Picker, Prompt, Scroll,
    Search, Section, markdown,
};
