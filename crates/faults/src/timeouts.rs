//! The durations that several modules share.

use std::time::Duration;

/// The longest wait for anything that must happen. Nobody waits that long while all is well, so a busy machine fails no
/// row. Deadlines that must not pass are three times longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The same when the defences are down and it is not expected to happen.
pub(crate) const LITTLE_PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
