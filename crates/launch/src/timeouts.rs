//! Every duration of this crate.

use std::time::Duration;

/// How long a guardian goes on killing what is left of a tree. Only a process that hangs in the kernel, or one that
/// forks faster than it is killed, takes more than a few milliseconds.
pub(crate) const TREE: Duration = Duration::from_secs(2);

/// How long a guardian waits for a killed process before it looks for further ones.
pub(crate) const ROUND: Duration = Duration::from_millis(5);

/// How often a guardian looks whether its host is there, where the system does not tell it.
pub(crate) const HOST_POLL: Duration = Duration::from_millis(250);
