//! Levels of notes.

use serde::{Deserialize, Serialize};

/// The level of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// Something went well.
    Success,
    /// Something needs attention.
    Warn,
    /// Something failed.
    Error,
    /// For information; also what a level nobody knows is taken for.
    #[serde(other)]
    Info,
}
