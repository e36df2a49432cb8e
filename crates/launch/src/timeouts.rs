//! Every duration of this crate.

use std::time::Duration;

/// The time that a guardian kills what is left of a tree. Only a process that hangs in the kernel, or one that forks
/// faster than it is killed, takes more than a few milliseconds.
pub(crate) const TREE: Duration = Duration::from_secs(2);

/// The time that a guardian waits for a killed process before it looks for further ones.
pub(crate) const ROUND: Duration = Duration::from_millis(5);

/// The time between two looks of a guardian for its host, where the system does not report its end.
pub(crate) const HOST_POLL: Duration = Duration::from_millis(250);
