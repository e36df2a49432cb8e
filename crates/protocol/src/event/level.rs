//! Levels of notes.

use serde::{Deserialize, Serialize};

/// The level of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// Something went well.
    Success,
    /// Something needs attention.
    Warn,
    /// Something failed.
    Error,
    /// Information; readers treat unknown levels as this one.
    #[serde(other)]
    Info,
}
