//! Every duration of this crate.

use std::time::Duration;

/// How long all hooks together may take over one tool call beside the times that some have of their own, unless the builder says otherwise.
pub(crate) const GATE_BUDGET: Duration = Duration::from_secs(30);

/// The longest time of its own that a hook over a tool call can have: what a clock can still be set to.
pub(crate) const LONGEST_PATIENCE: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How long a cancelled tool may take to hand over what it has. Then it is dropped. Longer than a command gets that
/// ignores the polite signal, or its output would never be seen.
pub(crate) const CANCELLED_TOOL: Duration = Duration::from_secs(2);

/// How long a change of a file waits for those in front that have not said which file they want. A disk answers in
/// far less; one that is gone never does, and then the order is worth less than going on.
pub(crate) const UNNAMED_FILE: Duration = Duration::from_secs(1);

/// How long an entry of a session that nobody waits for may be in the system's memory only.
pub(crate) const GROUP_COMMIT: Duration = Duration::from_secs(1);
