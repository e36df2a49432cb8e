//! Tests of the crate through its public API.

#![expect(clippy::unwrap_used, reason = "what a test does not expect fails it")]

mod arguments;
mod compaction;
mod connection_end;
mod content;
mod failures;
mod frames;
mod guide;
mod order;
mod panels;
mod polyglot;
mod process;
mod registration;
mod roles;
mod serve;
mod services;
mod session;
mod tools;
mod ui;
