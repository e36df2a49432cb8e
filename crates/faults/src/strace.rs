//! Runs this program under `strace`, which lists its system calls, and can kill the program or make the n-th call fail.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};

use crate::defense;

/// The reason to skip a row on a machine without tracing.
pub(crate) const NEEDED: &str = "strace, and the right to trace";

/// True if programs can be traced on this machine.
pub(crate) fn can_trace() -> bool {
    let ran = strace_command().args(["-qq", "-e", "trace=none", "true"]).output();
    ran.is_ok_and(|ran| ran.status.success())
}

/// Runs this program with these arguments to its end. `log` gets the calls named in `calls`, separated by commas;
/// `inject` interrupts one of them.
pub(crate) fn run(args: &[&OsStr], log: &Path, calls: &str, inject: Option<&str>) -> Result<Output> {
    let mut strace = strace_command();
    strace.args(["-f", "-qq", "-o"]).arg(log).args(["-e", &format!("trace={calls}")]);
    if let Some(inject) = inject {
        strace.args(["-e", &format!("inject={inject}")]);
    }
    strace.arg(std::env::current_exe()?).args(args).envs(defense::inherited());
    strace.output().context("run strace")
}

/// True if the traced program was killed; `strace` ends like the program.
pub(crate) fn is_killed(ran: &Output) -> bool {
    ran.status.signal() == Some(9)
}

#[expect(clippy::disallowed_methods, reason = "starts strace, not an extension")]
fn strace_command() -> Command {
    let mut command = Command::new("strace");
    command.stdin(Stdio::null());
    command
}
