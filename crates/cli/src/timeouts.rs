//! All durations of the binary.

use std::time::Duration;

/// The time that a prompt on the command line waits for the first byte of a piped standard input. A pipe that somebody
/// forgot to close must not stall a script.
pub(crate) const PIPED_STDIN_GRACE: Duration = Duration::from_secs(3);

/// The time between two looks of `haft ext logs -f`.
pub(crate) const FOLLOW_POLL: Duration = Duration::from_millis(250);

/// The time that an interrupted prompt has to release the terminal, before that is restored.
pub(crate) const PROMPT_END: Duration = Duration::from_millis(200);

/// The time limit of a command of the person.
pub(crate) const SHELL: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that the interface has to leave the screen when haft ends. A terminal that takes nothing any more is left
/// behind.
pub(crate) const SCREEN_END: Duration = Duration::from_secs(2);
