//! All durations of this crate.

use std::time::Duration;

/// The time that running handlers have after `shutdown` or the end of input. Half of the 2 s after
/// which the host ends the process, so that the last responses and `shutdown_ack` still get out.
pub(crate) const HANDLER_GRACE: Duration = Duration::from_secs(1);

/// The time that stopped handlers have to return, after [`HANDLER_GRACE`].
pub(crate) const ABORT_GRACE: Duration = Duration::from_millis(100);

/// The time in which the thread that reads stdin must notice that stdout is broken, before the
/// process ends without it. Longer than the handlers' grace, which the thread grants them when the
/// host is gone.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);

/// The minimum time between two contents of a panel; only the last content in between is sent.
/// About the refresh interval of a screen: the host shows at most 30 contents per second.
pub(crate) const PANEL_INTERVAL: Duration = Duration::from_millis(16);

/// The time that the harness waits for a response or a frame before the test fails. Longer than any
/// deadline of a real host.
pub const HARNESS_PATIENCE: Duration = Duration::from_secs(90);
