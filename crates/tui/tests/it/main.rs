//! The text layer from outside: what is drawn for what comes in.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod clean;
mod diff;
mod markdown;
mod shown;
mod streaming;
mod theme;
mod wrap;
