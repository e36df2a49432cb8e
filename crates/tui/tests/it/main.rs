//! Tests of the public text layer: the drawing of input, and the effects of keys.

#![expect(clippy::unwrap_used, reason = "a failing helper must fail its test")]

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
