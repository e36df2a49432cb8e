//! `notify` and `clear_notes`: notes of an extension, shown with its name.

use serde::{Deserialize, Deserializer, Serialize};

use crate::event::NoteLevel;

/// Shows a note to the user. The note disappears at the next prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notify {
    /// The level; any other value means `info`.
    #[serde(default = "default_level", deserialize_with = "null_is_info")]
    pub level: NoteLevel,
    /// The text; it may have several lines.
    pub message: String,
}

fn default_level() -> NoteLevel {
    NoteLevel::Info
}

fn null_is_info<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NoteLevel, D::Error> {
    Option::deserialize(deserializer).map(|level| level.unwrap_or(NoteLevel::Info))
}

/// Removes all notes of this extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClearNotes {}
