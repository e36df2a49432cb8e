//! All durations of this crate.

use std::time::Duration;

/// The time that all hooks share for one tool call, in addition to their own decision times. The builder can override
/// it.
pub(crate) const GATE_BUDGET: Duration = Duration::from_secs(30);

/// The maximum of a hook's own decision time, within the range of the clock.
pub(crate) const MAX_DECISION_TIME: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The time to compute the preview of a call, before the person is asked without it. Reading and comparing a file of the
/// maximum size takes about a second.
pub(crate) const PREVIEW: Duration = Duration::from_secs(5);

/// The time that a cancelled tool has to return its output. Longer than the time for a command that ignores the
/// termination signal; otherwise its output would be lost.
pub(crate) const CANCELLED_TOOL: Duration = Duration::from_secs(2);

/// The time that background jobs have to end with their session. Longer than the time to kill a command that ignores the
/// termination signal.
pub(crate) const JOBS_END: Duration = Duration::from_secs(7);

/// The time that a file change waits for earlier changes that have not named their file. A disk answers much faster; a
/// missing disk never answers, and then the order is given up.
pub(crate) const UNNAMED_FILE: Duration = Duration::from_secs(1);

/// The maximum time that an entry without a waiting caller stays unsynced.
pub(crate) const GROUP_COMMIT: Duration = Duration::from_secs(1);
