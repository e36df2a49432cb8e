//! A simulated kernel without some system calls.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// Runs the program; returns only with the reason why the program could not start.
#[expect(clippy::disallowed_methods, reason = "becomes the program")]
pub(crate) fn run(words: &[String]) -> io::Error {
    let mut parts = words.splitn(2, |word| word == "--");
    let (Some(lacking), Some([program, args @ ..])) = (parts.next(), parts.next()) else {
        return io::Error::other("usage: sandbox-probe --without CALL… -- PROGRAM ARGS…");
    };
    match lacking.iter().try_for_each(|what| block_calls(what)) {
        Ok(()) => Command::new(program).args(args).exec(),
        Err(error) => error,
    }
}

fn block_calls(what: &str) -> io::Result<()> {
    let (calls, answer) = match what {
        "landlock" => ([libc::SYS_landlock_create_ruleset].as_slice(), libc::ENOSYS),
        "seccomp" | "new filters" => (&[libc::SYS_seccomp][..], libc::EINVAL),
        // Some systems let every user create namespaces but not use them.
        "namespaces" => (&[libc::SYS_unshare, libc::SYS_mount][..], libc::EPERM),
        _ => return Err(io::Error::other(format!("unknown call {what:?}"))),
    };
    // Some containers let a program ask for filters but not install them.
    let rule = match what {
        "new filters" => vec![filter_is_set().map_err(io::Error::other)?],
        _ => Vec::new(),
    };
    let rules: BTreeMap<_, _> = calls.iter().map(|call| (*call, rule.clone())).collect();
    let answer = SeccompAction::Errno(answer.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answer, arch).map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

fn filter_is_set() -> Result<SeccompRule, seccompiler::BackendError> {
    let operation = u64::from(libc::SECCOMP_SET_MODE_FILTER);
    let first = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, operation)?;
    SeccompRule::new(vec![first])
}
