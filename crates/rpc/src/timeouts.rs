//! All durations of this crate.

use std::time::Duration;

/// The time that haft waits for a client that reads nothing, after all other work has ended.
pub const LAST_WORDS: Duration = Duration::from_secs(10);
