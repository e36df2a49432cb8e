//! Keys and their actions.
//!
//! Everything that a key can do is an [`Action`]. [`ACTIONS`] declares each with its name, its keys and its
//! description, and [`markdown`] generates the documentation from the same table. The user's file changes the keys:
//! [`Keymap::read`]. The possible actions of a key depend on the keyboard focus, the [`Context`].
//!
//! Invariant: no file can change the keys that close a panel, a dialog or a list, that abort, or that quit.

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
    ACTIONS, Action, ActionBinding, App, Browse, Completion, Confirm, Dialog, Edit, Panel, Picker, Prompt,
    Scroll, Search, Section, markdown,
};
