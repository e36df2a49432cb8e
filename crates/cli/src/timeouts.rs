//! All durations of the binary.

use std::time::Duration;

/// How long a prompt on the command line waits for the first byte of a piped standard input. A pipe that
/// somebody forgot to close must not stall a script.
pub(crate) const PIPED_STDIN_GRACE: Duration = Duration::from_secs(3);

/// How often `haft ext logs -f` looks for more.
pub(crate) const FOLLOW_POLL: Duration = Duration::from_millis(250);

/// How long an interrupted prompt has to let go of the terminal, before that is made what it was.
pub(crate) const PROMPT_END: Duration = Duration::from_millis(200);

/// How long a command of the person's own may run.
pub(crate) const SHELL: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the interface has to leave the screen when haft ends. A terminal that takes nothing any more is left behind.
pub(crate) const SCREEN_END: Duration = Duration::from_secs(2);
