//! Other processes, and the probe's own rights.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, Stdio};

use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getppid, getrlimit, getsid, getuid, kill_process,
    pidfd_open, pidfd_send_signal, prlimit, setpriority_user,
};

use crate::SceneFacts;

/// A signal without effect on its receiver.
const HARMLESS: Signal = Signal::URG;

pub(crate) fn attempt(name: &str, facts: &SceneFacts) -> Option<io::Result<()>> {
    let [host, other] = ["host", "other"].map(|name| facts.number(name));
    Some(match name {
        "start-thread" => std::thread::Builder::new().spawn(|| ()).map(drop),
        "signal-own-child" => own_child(),
        "limit-itself" => set_limit(None),
        "environ-of-host" => fs::read(format!("/proc/{host}/environ")).map(drop),
        "command-line-of-host" => fs::read(format!("/proc/{host}/cmdline")).map(drop),
        "memory-of-host" => read_memory(host),
        "read-memory-by-call" => read_memory_by_call(host),
        "trace-host" => trace_process(other),
        "signal-host" => send_signal(host),
        "signal-guardian" => send_signal(getppid().map_or(0, Pid::as_raw_pid)),
        "signal-other" => send_signal(other),
        "signal-other-by-descriptor" => signal_by_descriptor(other),
        "limit-other" => pid(other).and_then(|pid| set_limit(Some(pid))),
        "slow-all-of-user" => Ok(setpriority_user(getuid(), 0)).and_then(|result| Ok(result?)),
        "list-processes" => fs::read_dir("/proc").map(drop),
        "no-capabilities" => no_capabilities(),
        "no-new-rights" => status("NoNewPrivs:", "1"),
        "is-filtered" => status("Seccomp:", "2"),
        "own-session" => own_session(),
        "no-core-dump" => fail_unless(getrlimit(Resource::Core).maximum == Some(0)),
        "nothing-inherited" => nothing_inherited(),
        _ => return None,
    })
}

fn pid(number: i32) -> io::Result<Pid> {
    Pid::from_raw(number).ok_or_else(|| io::Error::other("not a process id"))
}

fn send_signal(number: i32) -> io::Result<()> {
    Ok(kill_process(pid(number)?, HARMLESS)?)
}

fn signal_by_descriptor(number: i32) -> io::Result<()> {
    let descriptor = pidfd_open(pid(number)?, PidfdFlags::empty())?;
    Ok(pidfd_send_signal(descriptor, HARMLESS)?)
}

#[expect(clippy::disallowed_methods, reason = "the probe tests its own child")]
fn own_child() -> io::Result<()> {
    let mut child = Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let result = i32::try_from(child.id()).map_err(io::Error::other).and_then(send_signal);
    child.kill()?;
    child.wait()?;
    result
}

/// Sets a limit to its current value.
fn set_limit(of: Option<Pid>) -> io::Result<()> {
    let limit: Rlimit = getrlimit(Resource::Cpu);
    prlimit(of, Resource::Cpu, limit)?;
    Ok(())
}

fn read_memory(of: i32) -> io::Result<()> {
    File::open(format!("/proc/{of}/mem"))?.read_at(&mut [0], 0).map(drop)
}

fn read_memory_by_call(of: i32) -> io::Result<()> {
    use nix::sys::uio::{RemoteIoVec, process_vm_readv};
    let mut byte = [0_u8];
    let mut local = [io::IoSliceMut::new(&mut byte)];
    let remote = [RemoteIoVec { base: 0x1000, len: 1 }];
    process_vm_readv(nix::unistd::Pid::from_raw(of), &mut local, &remote)?;
    Ok(())
}

fn trace_process(of: i32) -> io::Result<()> {
    let of = nix::unistd::Pid::from_raw(of);
    nix::sys::ptrace::attach(of)?;
    nix::sys::wait::waitpid(of, None)?;
    Ok(nix::sys::ptrace::detach(of, None)?)
}

fn fail_unless(it: bool) -> io::Result<()> {
    if it { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
}

fn status(field: &str, value: &str) -> io::Result<()> {
    let text = fs::read_to_string("/proc/self/status")?;
    fail_unless(text.lines().any(|line| line.strip_prefix(field).is_some_and(|rest| rest.trim() == value)))
}

/// True for no capabilities, or only the one that lets a container's root open files of other owners.
fn no_capabilities() -> io::Result<()> {
    let text = fs::read_to_string("/proc/self/status")?;
    let sets = text.lines().filter_map(|line| line.strip_prefix("CapEff:").or(line.strip_prefix("CapPrm:")));
    fail_unless(
        sets.map(|set| u64::from_str_radix(set.trim(), 16).unwrap_or(u64::MAX)).all(|set| set & !2 == 0),
    )
}

/// Succeeds in its own session, or in that of a namespace's first process.
fn own_session() -> io::Result<()> {
    let leader = getsid(None)?;
    fail_unless(leader == getpid() || leader == Pid::INIT)
}

/// Succeeds if only the standard streams and the listing itself are open.
fn nothing_inherited() -> io::Result<()> {
    let open = fs::read_dir("/proc/self/fd")?.flatten().count();
    fail_unless(open == 4)
}
