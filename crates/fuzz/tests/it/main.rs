//! Replays the committed inputs of every fuzz target. `cargo xtask fuzz` searches for new ones.

#![expect(clippy::unwrap_used, reason = "a helper that fails must fail its test")]

mod replay;
