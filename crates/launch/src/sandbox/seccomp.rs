//! The filter of system calls, by seccomp.

mod calls;
mod program;
#[cfg(test)]
mod tests;

use std::io;

use seccompiler::{BpfProgram, apply_filter};

use super::NetworkAccess;

/// A filter of system calls. Forbidden calls fail with `EPERM`. Calls fail with `ENOSYS`, as on an old kernel, if
/// their arguments lie in memory, which a filter cannot read, or if they are newer than the list; runtimes then fall
/// back to older calls. A call by the numbers of another architecture kills the program.
pub(super) struct SyscallFilter(BpfProgram);

impl SyscallFilter {
    /// # Errors
    /// When this processor architecture has no filter.
    pub(super) fn new(net: NetworkAccess, abi: u32) -> io::Result<Self> {
        program::filter_program(calls::restricted_calls(net, abi), calls::NEWEST)
            .map(Self)
            .map_err(filter_error)
    }

    pub(super) fn install(&self) -> io::Result<()> {
        apply_filter(&self.0).map_err(filter_error)
    }
}

fn filter_error(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("cannot filter system calls: {error}"))
}
