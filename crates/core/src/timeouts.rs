//! Every duration of this crate.

use std::time::Duration;

/// How long a cancelled tool may take to hand over what it has. Then it is dropped.
pub(crate) const CANCELLED_TOOL: Duration = Duration::from_millis(500);
