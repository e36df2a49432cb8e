//! All timeouts and durations of this crate.

use std::time::Duration;

/// The deadline from the start of a process hook to its response to `hook.hello`.
pub(crate) const HOOK_HELLO: Duration = Duration::from_secs(5);

/// The default deadline of a process hook before and after model calls and tools.
pub(crate) const HOOK_INTERCEPT: Duration = Duration::from_secs(5);

/// The default deadline of a process hook that approves a tool.
pub(crate) const HOOK_APPROVAL: Duration = Duration::from_secs(60);

/// The lag of timestamps with a resolution finer than a second: a tick of the system's clock, or the resolution of
/// file systems that count hundredths of a second.
pub(crate) const CLOCK_LAG: Duration = Duration::from_millis(20);

/// The lag of timestamps in whole seconds: the coarsest file system counts in steps of 2 s.
pub(crate) const DATE_STEP: Duration = Duration::from_secs(3);

/// The maximum deadline for `hello`, `ready` or an interception in a manifest.
pub(crate) const MAX_ASKED: Duration = Duration::from_secs(60);

/// The maximum time of `git` for cloning an extension.
pub(crate) const CLONE: Duration = Duration::from_secs(300);

/// The interval between two checks of the size of a clone.
pub(crate) const CLONE_LOOK: Duration = Duration::from_millis(100);

/// The age after which temporary files in a private copy are leftovers.
pub(crate) const SCRAP_AGE: Duration = Duration::from_secs(3600);

/// The maximum time that a change waits for another change, or for a start that removes leftovers.
pub(crate) const STAGING_LOCK: Duration = Duration::from_secs(5);

pub(crate) const STAGING_LOCK_RETRY: Duration = Duration::from_millis(10);
