//! Every duration of this crate.

use std::time::Duration;

/// The time that all hooks have together over one tool call beside the times that some have of their own, unless the
/// builder sets another.
pub(crate) const GATE_BUDGET: Duration = Duration::from_secs(30);

/// The longest time of its own that a hook over a tool call can have: what a clock can still be set to.
pub(crate) const LONGEST_PATIENCE: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// The time that a cancelled tool has to hand over its output. Then it is dropped. Longer than a command gets that
/// ignores the polite signal, or its output would never be seen.
pub(crate) const CANCELLED_TOOL: Duration = Duration::from_secs(2);

/// The time that a change of a file waits for earlier ones that have not named their file. A disk answers in far less;
/// one that is gone never does, and then the order is worth less than going on.
pub(crate) const UNNAMED_FILE: Duration = Duration::from_secs(1);

/// The time that an entry of a session that no caller waits for may be in memory only.
pub(crate) const GROUP_COMMIT: Duration = Duration::from_secs(1);
