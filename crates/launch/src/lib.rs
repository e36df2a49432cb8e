//! Process groups that die whole, and what a process does to itself at start.
//!
//! For whom: the extension host and the tools, which start programs, and the binary, which hardens itself. The
//! promise: a [`GroupChild`] and everything it started are gone once it is killed or dropped. The limit: on Unix a
//! process that leaves the group (`setsid`) survives. Never in here: `pre_exec`, which would make every start copy
//! the memory map of the whole program; knowledge of what is started and why.

mod child;
mod harden;
mod program;
mod spawn;

#[cfg(unix)]
#[path = "group/unix.rs"]
mod group;
#[cfg(windows)]
#[path = "group/windows.rs"]
mod group;

pub use child::GroupChild;
pub use harden::{HardenError, harden_self};
pub use program::find_program;
pub use spawn::{EnvPolicy, Spawn, Stderr, Stream};
