//! Every duration of this crate.

use std::time::Duration;

/// The time limit of a command when the model sets none.
pub(crate) const COMMAND: Duration = Duration::from_secs(120);

/// The longest time the model may ask for.
pub(crate) const COMMAND_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// From the polite signal to the kill, for a command that is out of time or cancelled.
pub(crate) const STOP_GRACE: Duration = Duration::from_millis(500);

/// The time that a killed command has to be gone. Only a process that hangs in the kernel takes longer, and nobody can
/// do anything about it.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(5);

/// The time that output is read after the shell has ended: a process in the background may hold the pipe for ever.
pub(crate) const OUTPUT_GRACE: Duration = Duration::from_millis(300);

/// The shortest time between two pieces of progress.
pub(crate) const PROGRESS: Duration = Duration::from_millis(100);

/// The time for an exact diff; after that it gets coarser, not wrong.
pub(crate) const DIFF: Duration = Duration::from_millis(500);

/// The time that the whole of a result is kept that was too long for the model.
pub(crate) const RESULTS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
