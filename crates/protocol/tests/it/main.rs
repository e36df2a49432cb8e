//! Tests of the protocol through its public API: fixtures, snapshots, schema.

#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod compat;
mod decode;
mod events;
mod fixtures;
mod matrix;
mod properties;
mod rpc;
mod samples;
mod schema;
mod snapshots;
mod strategies;
