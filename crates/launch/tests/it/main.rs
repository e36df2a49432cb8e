//! Real processes: what only they can show.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod group;
mod harden;
mod start;
