//! All durations of this crate.

use std::time::Duration;

/// The time that a person has to answer a question, unless the asker sets another. Equal to the
/// deadline of a gate.
pub const DIALOG: Duration = Duration::from_secs(60);

/// The time that haft waits for a client that reads nothing, after all other work has ended.
pub const LAST_WORDS: Duration = Duration::from_secs(10);
