//! Process trees that die whole, and what a process does to itself at start.
//!
//! For whom: the extension host and the tools, which start programs, and the binary, which hardens itself. The
//! promise: a [`GroupChild`] and everything it started are gone once it is killed or dropped; behind a [`Launcher`] on
//! Linux also what left its group or its session, and also when the host itself is killed. The limit: on Unix without a
//! launcher, and on other Unix systems than Linux, a process that leaves the group (`setsid`) survives. Never in here:
//! `pre_exec` in the host, which would make every start copy the memory map of the whole program (the launcher, a small
//! process, may fork); knowledge of what is started and why.

mod child;
#[cfg(unix)]
mod guardian;
mod harden;
mod launcher;
mod program;
pub mod sandbox;
mod spawn;
#[cfg(unix)]
mod sys;
#[cfg(unix)]
mod timeouts;
mod wish;

#[cfg(unix)]
#[path = "group/unix.rs"]
mod group;
#[cfg(windows)]
#[path = "group/windows.rs"]
mod group;

pub use child::GroupChild;
pub use harden::{HardenError, harden_self};
pub use launcher::{Launcher, launcher_main};
pub use program::find_program;
pub use sandbox::Sandbox;
pub use spawn::{EnvPolicy, SpawnOptions, StderrMode, StdioMode};
pub use wish::TerminalRequestWatch;
