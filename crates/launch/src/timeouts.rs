//! The durations of this crate.

use std::time::Duration;

/// The time for which a guardian keeps killing the rest of a tree. More than a few milliseconds are needed only for a
/// process that hangs in the kernel, or one that forks faster than it is killed.
pub(crate) const TREE: Duration = Duration::from_secs(2);

/// The time that a guardian waits for a killed process before it looks for more.
pub(crate) const ROUND: Duration = Duration::from_millis(5);

/// The interval at which a guardian checks for its host, where the system does not report the host's end.
pub(crate) const HOST_POLL: Duration = Duration::from_millis(250);
