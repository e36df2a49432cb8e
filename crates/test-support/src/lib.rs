//! Test tools for the other ends of haft's connections: scripted peers, a loopback model server, a misbehaving
//! extension.
//!
//! This crate is for the tests of all crates. Programs must not depend on it.

pub mod model_server;
pub mod pty;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod subprocess;
pub mod terminal;

mod binary;
mod fake_peer;

use std::time::Duration;

pub use binary::{example_extension, example_hook, example_path, launcher_path, test_binary, wolli_examples};
pub use fake_peer::FakePeer;

/// The deadline of every wait for an event that must come; longer than even a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(120);
