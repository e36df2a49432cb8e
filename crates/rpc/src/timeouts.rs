//! Every duration of this crate.

use std::time::Duration;

/// The time that a question waits for a person, unless its asker sets another. As long as a gate may take for its
/// answer.
pub const DIALOG: Duration = Duration::from_secs(60);

/// The time that a client that reads nothing is waited for when everything else is over.
pub const LAST_WORDS: Duration = Duration::from_secs(10);
