//! Starts programs, ends whole process trees, confines programs, and hardens the calling process.
//!
//! Used by the extension host and the tools, which start programs, and by the binary, which hardens itself.
//!
//! Guarantee: killing or dropping a [`GroupChild`] ends the program and everything that it started. Behind a
//! [`Launcher`] on Linux this includes processes that left the group or the session, and it also happens when the host
//! itself is killed.
//!
//! Limit: on Unix without a launcher, and on Unix systems other than Linux, a process that leaves the group (`setsid`)
//! survives.
//!
//! Out of scope: `pre_exec` in the host, because it would copy the memory map of the whole program at every start (the
//! launcher is small and may fork); and any knowledge about the programs.

mod ancestry;
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
mod terminal_request;
#[cfg(unix)]
mod timeouts;

#[cfg(unix)]
#[path = "group/unix.rs"]
mod group;
#[cfg(windows)]
#[path = "group/windows.rs"]
mod group;

pub use ancestry::{TOOL_VARIABLE, ToolMark, tool_mark};
pub use child::GroupChild;
pub use harden::{HardenError, harden_self};
pub use launcher::{Launcher, launcher_main};
pub use program::{ProgramKind, find_program};
pub use sandbox::Sandbox;
pub use spawn::{EnvPolicy, SpawnOptions, StderrMode, StdioMode};
pub use terminal_request::TerminalRequestWatch;
