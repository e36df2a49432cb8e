//! All timeouts and durations of this crate.

use std::time::Duration;

/// The default time limit of a command.
pub(crate) const COMMAND: Duration = Duration::from_secs(120);

/// The maximum time limit of a command.
pub(crate) const COMMAND_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum time that a call waits for the end of a background command.
pub(crate) const JOB_WAIT_MAX: Duration = Duration::from_secs(600);

/// The time between SIGTERM and SIGKILL for a command that timed out or was cancelled.
pub(crate) const STOP_GRACE: Duration = Duration::from_millis(500);

/// The time to wait for the end of a killed command. Only a process that hangs in the kernel takes longer.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(5);

/// The time to read output after the shell has ended: a background process may hold the pipe forever.
pub(crate) const OUTPUT_GRACE: Duration = Duration::from_millis(300);

/// The minimum interval between two progress reports.
pub(crate) const PROGRESS: Duration = Duration::from_millis(100);

/// The time for an exact diff; after that, the diff is correct but coarser.
pub(crate) const DIFF: Duration = Duration::from_millis(500);

/// The time that complete results are stored.
pub(crate) const RESULTS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
