//! The text layer from outside: what is drawn for what comes in.

mod clean;
mod diff;
mod markdown;
mod shown;
mod streaming;
mod theme;
mod wrap;
