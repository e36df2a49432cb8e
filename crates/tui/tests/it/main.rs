//! The text layer from outside, what is drawn for what comes in; and what keys do.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod app;
mod clean;
mod dialog;
mod diff;
mod editor;
mod images;
#[cfg(unix)]
mod lines;
mod markdown;
mod panel;
mod picker;
mod shown;
mod streaming;
mod strip;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod terminal_inline;
mod theme;
mod transcript;
mod wrap;
