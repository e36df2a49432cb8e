//! The launcher process: starts one program, waits for it, and ends the whole process tree.
//!
//! The launcher is a separate process with a single thread. Forking is therefore safe, and the "parent has ended"
//! signal never arrives merely because one thread of the parent ended.

mod host;
#[cfg(target_os = "linux")]
mod inner_launcher;
mod order;
mod prepare;
mod signals;
pub(crate) mod tree;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use rustix::event::{PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};

use host::HostWatch;
pub(crate) use order::{LaunchOrder, SandboxOrder};
use signals::SignalInbox;

use crate::program::ProgramKind;
use crate::sys;

/// Asks a guardian to kill the whole tree immediately.
pub(crate) const KILL_TREE: Signal = Signal::USR1;

/// The signal by which a guardian ends if it has started nothing. A program never appears to end by it: such an end is
/// reported as exit code 128 plus the signal number, as shells do.
pub(crate) const NEVER_STARTED: Signal = Signal::VTALARM;

pub(crate) fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    #[cfg(target_os = "linux")]
    let mut args = args.peekable();
    #[cfg(target_os = "linux")]
    if args.next_if(|flag| flag == inner_launcher::CONFINE).is_some() {
        return inner_launcher::run(args);
    }
    match run_order(args) {
        Ok(status) => exit_like(status),
        Err(error) => {
            // Standard error may be closed; the exit status reports the same failure.
            let _ = writeln!(io::stderr(), "{error}");
            sys::die_by_signal(NEVER_STARTED.as_raw());
            ExitCode::FAILURE
        }
    }
}

/// Runs a launch order to the end of the whole tree. Returns the program's status, or `None` if it could not be
/// collected.
fn run_order(args: impl Iterator<Item = OsString>) -> io::Result<Option<WaitStatus>> {
    let order = LaunchOrder::parse(args)?;
    sys::close_inherited();
    let mut inbox = SignalInbox::open()?;
    let host = HostWatch::open(order.host)?;
    prepare::harden_guardian();
    let mut tree = start(&order, &mut inbox, &host)?;
    // A guardian that cannot watch the tree does not let the program run.
    let end = release_streams().and_then(|()| tree.watch_until_end(&mut inbox, &host));
    if order.kind == ProgramKind::Service || !matches!(end, Ok(WatchEnd::Exited)) {
        tree.kill(&mut inbox);
    }
    Ok(tree.status)
}

/// Starts the program and returns its tree.
///
/// # Errors
/// When the program does not run. All processes of the attempt have ended by then.
fn start(order: &LaunchOrder, inbox: &mut SignalInbox, host: &HostWatch) -> io::Result<GuardedTree> {
    let started = prepare::start(order)?;
    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_mut, reason = "without a sandbox, nothing changes it")
    )]
    let mut tree = GuardedTree { program: started.pid, group: started.pid, status: None };
    #[cfg(target_os = "linux")]
    if let Some(report) = started.report {
        if let Err(error) = report.wait(inbox, host) {
            tree.kill(inbox);
            return Err(error);
        }
        tree.group = tree::group_inside(tree.program).unwrap_or(tree.program);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (inbox, host);
    Ok(tree)
}

/// Replaces the guardian's standard streams with `/dev/null`, so that the program's end closes them.
fn release_streams() -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// The reason why a guardian stopped watching.
enum WatchEnd {
    /// The program has ended.
    Exited,
    /// The host is gone, or requested a kill.
    KillRequested,
}

/// The program and all processes below it.
struct GuardedTree {
    /// The started process: the program, or the wrapper in front of it.
    program: Pid,
    group: Pid,
    /// The status of the program after it has ended.
    status: Option<WaitStatus>,
}

impl GuardedTree {
    /// Waits until the program has ended, the host is gone, or a kill was requested.
    fn watch_until_end(&mut self, inbox: &mut SignalInbox, host: &HostWatch) -> io::Result<WatchEnd> {
        loop {
            let news = inbox.take();
            self.reap_children();
            if news.kill || host.is_gone()? {
                return Ok(WatchEnd::KillRequested);
            }
            if self.status.is_some() {
                return Ok(WatchEnd::Exited);
            }
            if news.terminate {
                // The program may have left its group empty; then the signal has no receiver.
                let _ = kill_process_group(self.group, Signal::TERM);
            }
            wait_for(inbox, Some(host))?;
        }
    }

    /// Kills until no process is left, including processes that appear meanwhile.
    fn kill(&mut self, inbox: &mut SignalInbox) {
        let give_up = std::time::Instant::now() + crate::timeouts::TREE;
        loop {
            if self.status.is_none() || !cfg!(target_os = "linux") {
                let _ = kill_process_group(self.program, Signal::KILL);
            }
            tree::kill_children();
            if self.reap_children() || std::time::Instant::now() >= give_up {
                return;
            }
            inbox.take();
            if wait_for(inbox, None).is_err() {
                return;
            }
        }
    }

    /// Collects the status of every child that has ended. Returns true if no child is left.
    fn reap_children(&mut self) -> bool {
        use rustix::process::{WaitOptions, wait};
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((child, status))) if child == self.program => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }
}

/// Waits for a signal, or for the host's end if `host` is given; otherwise for one round at most.
fn wait_for(inbox: &SignalInbox, host: Option<&HostWatch>) -> io::Result<()> {
    let mut fds = vec![inbox.poll_fd()];
    fds.extend(host.and_then(HostWatch::poll_fd));
    let limit = host.map_or(Some(crate::timeouts::ROUND), HostWatch::poll_interval);
    let limit = limit.map(|limit| Timespec::try_from(limit).expect("every timeout of this crate fits"));
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn exit_like(status: Option<WaitStatus>) -> ExitCode {
    let Some(status) = status else { return ExitCode::FAILURE };
    if let Some(signal) = status.terminating_signal() {
        if signal != NEVER_STARTED.as_raw() {
            sys::die_by_signal(signal);
        }
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Polls a descriptor only for readability.
fn poll_readable(fd: &impl std::os::fd::AsFd) -> rustix::event::PollFd<'_> {
    rustix::event::PollFd::new(fd, PollFlags::IN)
}
