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

/// Creates a named pipe, without a reader and a writer.
///
/// # Errors
/// If `mkfifo` is missing or fails.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "std has no call for it, and rustix none for macOS")]
pub fn create_pipe(path: &std::path::Path) -> std::io::Result<()> {
    let status = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(path).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("mkfifo: {status}"))) }
}

/// The deadline of every wait for an event that must come; longer than even a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(120);
