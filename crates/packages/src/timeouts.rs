//! Every duration of this crate.

use std::time::Duration;

/// From the start of a process hook to its answer to `hook.hello`.
pub(crate) const HOOK_HELLO: Duration = Duration::from_secs(5);

/// A process hook before and after the model and tools, unless the user says otherwise.
pub(crate) const HOOK_INTERCEPT: Duration = Duration::from_secs(5);

/// A process hook that approves a tool, unless the user says otherwise.
pub(crate) const HOOK_APPROVAL: Duration = Duration::from_secs(60);

/// The lag of the clock that dates changes of files, where dates are finer than seconds: a tick of the system's clock,
/// or the step of file systems that count hundredths.
pub(crate) const CLOCK_LAG: Duration = Duration::from_millis(20);

/// The lag of a date in whole seconds: the longest step of a file system is 2 s.
pub(crate) const DATE_STEP: Duration = Duration::from_secs(3);

/// The longest deadline for `hello`, `ready` or an interception that a manifest may ask for.
pub(crate) const MAX_ASKED: Duration = Duration::from_secs(60);

/// The longest time that `git` may take to clone an extension.
pub(crate) const CLONE: Duration = Duration::from_secs(300);

/// Between two looks at how much a clone has written.
pub(crate) const CLONE_LOOK: Duration = Duration::from_millis(100);

/// The age from which a preparation in a private copy is a leftover.
pub(crate) const SCRAP_AGE: Duration = Duration::from_secs(3600);

/// The time that a change of what is installed waits for another one, or for a start that sweeps up.
pub(crate) const WORKSHOP: Duration = Duration::from_secs(5);

pub(crate) const WORKSHOP_LOOK: Duration = Duration::from_millis(10);
