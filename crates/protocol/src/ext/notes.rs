//! `notify` and `clear_notes`: an extension's notes, shown with its name.

use serde::{Deserialize, Serialize};

use crate::event::Level;

/// A note for the user, at any time. It goes when the user sends the next prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notify {
    /// How loud; a level nobody knows counts as `info`.
    #[serde(default = "info")]
    pub level: Level,
    /// The text; lines are kept.
    pub message: String,
}

fn info() -> Level {
    Level::Info
}

/// Takes back every note of this extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClearNotes {}
