//! Every duration of this crate.

use std::time::Duration;

/// How long a question waits for a person, unless whoever asks says otherwise. As long as a gate may take for its answer.
pub const DIALOG: Duration = Duration::from_secs(60);

/// How long a client that reads nothing at all is waited for when everything else is over.
pub const LAST_WORDS: Duration = Duration::from_secs(10);
