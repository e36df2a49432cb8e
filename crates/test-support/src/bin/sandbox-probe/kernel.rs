//! System calls that affect the machine or create another view of it. Calls without a safe Rust interface are made by
//! Perl, which can make any call by number.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, setns};

use crate::SceneFacts;

pub(crate) fn attempt(name: &str, _: &SceneFacts) -> Option<io::Result<()>> {
    Some(match name {
        "own-users" => call(libc::SYS_unshare, &[libc::CLONE_NEWUSER]),
        "own-users-by-clone" => call(libc::SYS_clone, &[libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0]),
        "enter-namespace" => enter_namespace(),
        "mount" => call(libc::SYS_mount, &[0, 0, 0, 0, 0]),
        "chroot" => run_in_perl("$r = chroot('.') ? 0 : -1", &[]),
        // A key that no other process is likely to use.
        "common-memory" => call(libc::SYS_shmget, &[0x6861_6674, 0, 0]),
        "ring" => call(libc::SYS_io_uring_setup, &[1, 0]),
        "kernel-program" => call(libc::SYS_bpf, &[0, 0, 0]),
        "count-events" => call(libc::SYS_perf_event_open, &[0, 0, -1, -1, 0]),
        "handle-faults" => call(libc::SYS_userfaultfd, &[0]),
        "keys" => call(libc::SYS_keyctl, &[0, -3, 0]),
        "new-kernel" => call(libc::SYS_kexec_load, &[0, 0, 0, 0]),
        // A number far beyond any kernel's calls, with the bit of the other call table.
        "newer-call" => call(0x4000_0000 + libc::SYS_getpid, &[]),
        "type-into-terminal" => call(libc::SYS_ioctl, &[0, 0x5412, 0]),
        _ => return None,
    })
}

fn enter_namespace() -> io::Result<()> {
    Ok(setns(File::open("/proc/self/ns/uts")?, CloneFlags::CLONE_NEWUTS)?)
}

/// Truncates a file with the call that does not open it.
pub(crate) fn truncate(path: &Path) -> io::Result<()> {
    run_in_perl("$r = truncate($ARGV[0], 0) ? 0 : -1", &[path.to_string_lossy().into_owned()])
}

/// Makes a system call by number in a short-lived process.
fn call(number: libc::c_long, args: &[libc::c_int]) -> io::Result<()> {
    let words = std::iter::once(number.to_string()).chain(args.iter().map(ToString::to_string));
    run_in_perl("$r = syscall(shift @ARGV, @ARGV)", &words.collect::<Vec<_>>())
}

#[expect(clippy::disallowed_methods, reason = "makes any system call without unsafe code")]
fn run_in_perl(statement: &str, args: &[String]) -> io::Result<()> {
    // Text that is not an error number cannot come from a system call.
    let script =
        format!("@ARGV = map {{ /^-?\\d+$/ ? $_ + 0 : $_ }} @ARGV; {statement}; print $r == -1 ? $! + 0 : 0");
    let mut command = Command::new("/usr/bin/perl");
    command.args(["-e", &script, "--"]).args(args).stdin(Stdio::null());
    let output = command.output().map_err(|error| io::Error::other(format!("perl: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().parse() {
        Ok(0) => Ok(()),
        Ok(error) => Err(io::Error::from_raw_os_error(error)),
        Err(_) => Err(io::Error::other(format!("perl printed {text:?} and ended with {:?}", output.status))),
    }
}
