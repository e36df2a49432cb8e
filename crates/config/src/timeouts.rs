//! The durations of this crate.

use std::time::Duration;

/// The default deadline of a process hook for an answer about a call of the model or of a tool. The same as in
/// PicoClaw.
pub(crate) const INTERCEPTOR: Duration = Duration::from_secs(5);

/// The default deadline of a process hook for approving a tool call, in which a person may be involved.
pub(crate) const APPROVAL: Duration = Duration::from_secs(60);

/// The maximum deadline of a process hook.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
