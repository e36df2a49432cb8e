//! Tests of the crate through its public API.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod client;
mod extension;
mod lines;
mod local;
mod played;
mod program;
mod serve;
mod writer;
