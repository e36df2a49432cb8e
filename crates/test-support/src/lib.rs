//! The other ends of haft's connections: scripted peers, a loopback model server, an extension that misbehaves.
//!
//! For whom: the tests of every crate. Never in here: anything a program could depend on.

pub mod model_server;
pub mod pty;
#[cfg(target_os = "linux")]
pub mod sandbox;
pub mod terminal;

mod binary;
mod fake_peer;

use std::time::Duration;

pub use binary::{example_extension, example_hook, example_path, launcher_path, test_binary};
pub use fake_peer::FakePeer;

/// The deadline of every wait in a test whose event must come: no machine is so busy that it is reached.
pub const PATIENCE: Duration = Duration::from_secs(120);
