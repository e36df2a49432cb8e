//! The filter of system calls, by seccomp.

mod calls;
#[cfg(test)]
mod tests;

use std::io;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter, sock_filter};

use super::NetworkAccess;

/// Two filter programs; the stricter result takes effect.
pub(super) struct SyscallFilters([BpfProgram; 2]);

impl SyscallFilters {
    /// # Errors
    /// When this processor architecture has no filter.
    pub(super) fn new(net: NetworkAccess, abi: u32) -> io::Result<Self> {
        Ok(Self([unknown_calls_filter(abi)?, refused_calls_filter(net, abi).map_err(filter_error)?]))
    }

    pub(super) fn install(&self) -> io::Result<()> {
        self.0.iter().try_for_each(|program| apply_filter(program)).map_err(filter_error)
    }
}

fn filter_error(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("cannot filter system calls: {error}"))
}

/// Builds the filter of forbidden calls, which kills a caller that uses the call numbers of another architecture.
fn refused_calls_filter(net: NetworkAccess, abi: u32) -> Result<BpfProgram, seccompiler::BackendError> {
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = calls::refused_calls(net, abi)?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, target_arch()?)?.try_into()
}

fn target_arch() -> Result<TargetArch, seccompiler::BackendError> {
    TargetArch::try_from(std::env::consts::ARCH)
}

/// Builds the filter of calls that fail with `ENOSYS`, as on an old kernel, so that runtimes fall back to older calls.
/// These are calls whose arguments lie in memory, which a filter cannot read, and all calls newer than the list. The
/// second set of x86-64 call numbers (x32) lies above them all.
fn unknown_calls_filter(abi: u32) -> io::Result<BpfProgram> {
    /// Instructions of the kernel's BPF machine.
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ANSWER: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let answer = |k| sock_filter { code: ANSWER, jt: 0, jf: 0, k };
    let number = |call: libc::c_long| u32::try_from(call).map_err(io::Error::other);
    let absent = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    // The call's number is the first field of the data that a filter reads.
    let mut program = vec![sock_filter { code: LOAD, jt: 0, jf: 0, k: 0 }];
    // Each comparison continues with the result behind it, or skips that result.
    program.push(sock_filter { code: IF_AT_LEAST, jt: 0, jf: 1, k: number(calls::NEWEST)? + 1 });
    program.push(answer(absent));
    for call in calls::unknown_calls(abi) {
        program.push(sock_filter { code: IF_EQUAL, jt: 0, jf: 1, k: number(call)? });
        program.push(answer(absent));
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    Ok(program)
}
