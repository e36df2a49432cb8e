//! Every duration of this crate.

use std::time::Duration;

/// The time that a process hook has to answer about a call of the model or of a tool. PicoClaw's, like the next one.
pub(crate) const INTERCEPTOR: Duration = Duration::from_secs(5);

/// The time that a process hook has to approve a tool: a person may be asked.
pub(crate) const APPROVAL: Duration = Duration::from_secs(60);

/// The longest that a process hook may be given.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
