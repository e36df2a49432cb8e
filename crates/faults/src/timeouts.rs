//! Durations that several modules share.

use std::time::Duration;

/// The longest wait for an event that must happen. Successful rows wait far less, so a busy machine fails no row.
/// Deadlines that must not pass are three times longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The same wait without the defenses, when the event may not happen.
pub(crate) const LITTLE_PATIENCE: Duration = Duration::from_secs(5);

/// The interval between two checks.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
