//! Integration tests with real processes.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod group;
mod guarded;
mod harden;
#[cfg(target_os = "linux")]
mod sandbox;
mod start;
mod support;
#[cfg(target_os = "linux")]
mod survivors;
