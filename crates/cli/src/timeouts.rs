//! All durations of the binary.

use std::time::Duration;

/// The time that a prompt on the command line waits for the first byte of piped input. A pipe that was left open must
/// not block a script.
pub(crate) const PIPED_STDIN_GRACE: Duration = Duration::from_secs(3);

/// The polling interval of `haft ext logs -f`.
pub(crate) const FOLLOW_POLL: Duration = Duration::from_millis(250);

/// The time that an interrupted prompt has to release the terminal before it is restored.
pub(crate) const PROMPT_END: Duration = Duration::from_millis(200);

/// The time that `haft doctor` waits for a model server on this machine to accept a connection.
pub(crate) const LOCAL_SERVER: Duration = Duration::from_millis(500);

/// The time after which the screen opens, even if the session is not open yet.
pub(crate) const FIRST_DRAW: Duration = Duration::from_millis(30);

/// The time limit of `haft demo` on the screen.
pub(crate) const DEMO: Duration = Duration::from_secs(30);

/// The time limit of git while it records or compares the files of a project.
pub(crate) const WORKING_TREE: Duration = Duration::from_secs(20);

/// The time limit of a web page, with redirects.
pub(crate) const PAGE: Duration = Duration::from_secs(30);

/// The time that a program has to print the clipboard. Some wait for the owner of the clipboard, which may hang.
pub(crate) const CLIPBOARD: Duration = Duration::from_secs(5);

/// The time limit of a shell command of the user.
pub(crate) const SHELL: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that the interface has to close the screen when haft ends. A terminal that blocks is left as it is.
pub(crate) const SCREEN_END: Duration = Duration::from_secs(2);
