//! Behaviour seen from outside.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod lines;
mod writer;
