//! Calls that are the machine's, or make another view of it. Those without a safe interface are made by Perl, which has
//! one for any number.

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
        // One that nobody has made, most likely.
        "common-memory" => call(libc::SYS_shmget, &[0x6861_6674, 0, 0]),
        "ring" => call(libc::SYS_io_uring_setup, &[1, 0]),
        "kernel-program" => call(libc::SYS_bpf, &[0, 0, 0]),
        "count-events" => call(libc::SYS_perf_event_open, &[0, 0, -1, -1, 0]),
        "handle-faults" => call(libc::SYS_userfaultfd, &[0]),
        "keys" => call(libc::SYS_keyctl, &[0, -3, 0]),
        "new-kernel" => call(libc::SYS_kexec_load, &[0, 0, 0, 0]),
        // Far beyond what any kernel has, and with the bit of the other set of numbers.
        "newer-call" => call(0x4000_0000 + libc::SYS_getpid, &[]),
        "type-into-terminal" => call(libc::SYS_ioctl, &[0, 0x5412, 0]),
        _ => return None,
    })
}

fn enter_namespace() -> io::Result<()> {
    Ok(setns(File::open("/proc/self/ns/uts")?, CloneFlags::CLONE_NEWUTS)?)
}

/// Cuts a file off by the call that opens nothing.
pub(crate) fn truncate(path: &Path) -> io::Result<()> {
    run_in_perl("$r = truncate($ARGV[0], 0) ? 0 : -1", &[path.to_string_lossy().into_owned()])
}

/// A call by its number, in a process that ends then.
fn call(number: libc::c_long, args: &[libc::c_int]) -> io::Result<()> {
    let words = std::iter::once(number.to_string()).chain(args.iter().map(ToString::to_string));
    run_in_perl("$r = syscall(shift @ARGV, @ARGV)", &words.collect::<Vec<_>>())
}

#[expect(clippy::disallowed_methods, reason = "the one way to any system call without unsafe code")]
fn run_in_perl(statement: &str, args: &[String]) -> io::Result<()> {
    // What is no number of an error is one that no call gives.
    let script =
        format!("@ARGV = map {{ /^-?\\d+$/ ? $_ + 0 : $_ }} @ARGV; {statement}; print $r == -1 ? $! + 0 : 0");
    let mut command = Command::new("/usr/bin/perl");
    command.args(["-e", &script, "--"]).args(args).stdin(Stdio::null());
    let output = command.output().map_err(|error| io::Error::other(format!("perl: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().parse() {
        Ok(0) => Ok(()),
        Ok(error) => Err(io::Error::from_raw_os_error(error)),
        Err(_) => Err(io::Error::other(format!("perl said {text:?} and {:?}", output.status))),
    }
}
