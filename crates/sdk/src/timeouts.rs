//! Every duration of this crate.

use std::time::Duration;

/// How long running handlers may go on after `shutdown` or the end of input. Half of the 2 s after which the host
/// ends the process, so that the last answers and `shutdown_ack` still get out.
pub(crate) const HANDLER_GRACE: Duration = Duration::from_secs(1);

/// How long stopped handlers have to let go, after [`HANDLER_GRACE`].
pub(crate) const ABORT_GRACE: Duration = Duration::from_millis(100);

/// How long the harness waits for an answer or a frame before the test fails. Longer than any deadline of a real host.
pub(crate) const HARNESS_PATIENCE: Duration = Duration::from_secs(90);
