//! Tests of the crate through its public API.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod author;
mod author_process;
mod wire;
