//! The interactive mode of haft as a library: state, input handling and drawing.
//!
//! The binary is the only user, and only starts it. [`app`] contains the state, its changes and its
//! drawing. Below it is the text layer, which turns texts of models, tools and extensions into styled lines of a
//! width. The other part is keyboard input: key bindings, editor, completion, prompt history and message queue. All
//! of that is pure: no IO, no terminal, no clock. Only [`terminal`] uses those.
//!
//! This crate never starts an extension, reads a user's file, or shows unsanitized text from outside. The module
//! [`clean`] guarantees the last point: only it makes spans (`cargo xtask tidy`), and only of sanitized text.

pub mod app;
pub mod clean;
pub mod complete;
pub mod dialog;
pub mod diff;
pub mod draw_context;
pub mod editor;
pub mod highlight;
pub mod history;
mod humanize;
pub mod image;
pub mod keys;
pub mod markdown;
pub mod panel;
pub mod picker;
pub mod queue;
pub mod terminal;
pub mod theme;
pub mod transcript;
pub mod wrap;

mod field;
mod frame;
mod fuzzy;
mod mouse;
mod timeouts;
