//! The interactive mode of haft as a library: what is on the screen, and how it is drawn.
//!
//! For whom: the binary, which only starts it. [`run_app_action`] is the state, what happens to it, and how it is drawn; below it
//! are the text layer, from texts of models, tools and extensions to styled lines of a width, and what a person does with
//! keys: their meanings, the editor, what it completes, the prompts of before, and what waits while the agent works. All
//! of that is pure: no IO, no terminal, no clock. Those are in [`terminal`], and nowhere else.
//!
//! Never in here: an extension that is started, a file that is read, a text from outside that is shown as it came. The
//! last one is what [`clean`] is for: spans are made there and nowhere else (`cargo xtask tidy`), and only of text that
//! went through the sanitiser.

pub mod app;
pub mod clean;
pub mod complete;
pub mod dialog;
pub mod diff;
pub mod editor;
mod figures;
pub mod highlight;
pub mod history;
pub mod image;
pub mod keys;
pub mod look;
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
