//! Every duration of this crate.

use std::time::Duration;

/// How long a command may run when the model says nothing.
pub(crate) const COMMAND: Duration = Duration::from_secs(120);

/// The longest time the model may ask for.
pub(crate) const COMMAND_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// From the polite signal to the kill, for a command that is out of time or cancelled.
pub(crate) const STOP_GRACE: Duration = Duration::from_millis(500);

/// How long a killed command may take to be gone. Only a process that hangs in the kernel takes longer, and
/// nobody can do anything about it.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(5);

/// How long output is read after the shell has ended: a process in the background may hold the pipe for ever.
pub(crate) const OUTPUT_GRACE: Duration = Duration::from_millis(300);

/// The shortest time between two pieces of progress.
pub(crate) const PROGRESS: Duration = Duration::from_millis(100);

/// How long a diff is computed exactly; then it gets coarser, not wrong.
pub(crate) const DIFF: Duration = Duration::from_millis(500);

/// How long the whole of a result stays that was too long for the model.
pub(crate) const RESULTS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
