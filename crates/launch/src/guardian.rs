//! The launcher's life: it starts one program, waits, and leaves nothing of it behind.
//!
//! A process of its own with a single thread, so that forking is harmless, and so that "my parent has ended" is not said
//! when only a thread of it has.

mod host;
#[cfg(target_os = "linux")]
mod inside;
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

use crate::sys;

/// Asks a guardian to kill the whole tree at once.
pub(crate) const KILL_TREE: Signal = Signal::USR1;

/// A guardian that ends by this signal has started nothing. No program ends by it, for one that does is reported with
/// the exit code that shells give: 128 and the signal.
pub(crate) const NEVER_STARTED: Signal = Signal::VTALARM;

pub(crate) fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args.peekable();
    #[cfg(target_os = "linux")]
    if args.next_if(|flag| flag == inside::CONFINE).is_some() {
        return inside::run(args);
    }
    match guard(args) {
        Ok(status) => exit_like(status),
        Err(error) => {
            // Nobody may read it; the status says the same.
            let _ = writeln!(io::stderr(), "{error}");
            sys::die_by_signal(NEVER_STARTED.as_raw());
            ExitCode::FAILURE
        }
    }
}

/// From the arguments to the end of the whole tree: how the program ended, unless it could not be made to.
fn guard(args: impl Iterator<Item = OsString>) -> io::Result<Option<WaitStatus>> {
    let order = LaunchOrder::parse(args)?;
    sys::close_inherited();
    let mut inbox = SignalInbox::open()?;
    let host = HostWatch::open(order.host)?;
    prepare::harden_guardian();
    let mut tree = start(&order, &mut inbox, &host)?;
    // A guardian that cannot watch does not let the program run.
    let _ = release_streams().and_then(|()| tree.watch(&mut inbox, &host));
    tree.kill(&mut inbox);
    Ok(tree.status)
}

/// The program, running.
///
/// # Errors
/// When it does not run; then nothing is left of it.
fn start(order: &LaunchOrder, inbox: &mut SignalInbox, host: &HostWatch) -> io::Result<GuardedTree> {
    let started = prepare::start(order)?;
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

/// The streams are the program's alone from here on: their ends mean the program's end, not the guardian's.
fn release_streams() -> io::Result<()> {
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// The program and everything below it.
struct GuardedTree {
    /// The started process: the program, or what stays in front of it.
    program: Pid,
    group: Pid,
    /// The status of the program, once it has ended.
    status: Option<WaitStatus>,
}

impl GuardedTree {
    /// Until the program has ended, the host is gone, or a kill was asked for.
    fn watch(&mut self, inbox: &mut SignalInbox, host: &HostWatch) -> io::Result<()> {
        loop {
            let news = inbox.take();
            self.reap();
            if self.status.is_some() || news.kill || host.is_gone()? {
                return Ok(());
            }
            if news.terminate {
                // It may have left its group empty; then there is nobody to ask.
                let _ = kill_process_group(self.group, Signal::TERM);
            }
            wait_for(inbox, Some(host))?;
        }
    }

    /// Kills until nothing is left, also what appears meanwhile.
    fn kill(&mut self, inbox: &mut SignalInbox) {
        let give_up = std::time::Instant::now() + crate::timeouts::TREE;
        loop {
            if self.status.is_none() || !cfg!(target_os = "linux") {
                let _ = kill_process_group(self.program, Signal::KILL);
            }
            tree::kill_children();
            if self.reap() || std::time::Instant::now() >= give_up {
                return;
            }
            inbox.take();
            if wait_for(inbox, None).is_err() {
                return;
            }
        }
    }

    /// Takes note of every child that has ended. Says whether none is left.
    fn reap(&mut self) -> bool {
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

/// Sleeps until there is news: of the host, too, if it is watched; if not, for a round at most.
fn wait_for(inbox: &SignalInbox, host: Option<&HostWatch>) -> io::Result<()> {
    let mut fds = vec![inbox.poll_fd()];
    fds.extend(host.and_then(HostWatch::poll_fd));
    let limit = host.map_or(Some(crate::timeouts::ROUND), HostWatch::poll_interval);
    let limit = limit.map(|limit| Timespec::try_from(limit).expect("a duration of this crate is short"));
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

/// Nothing but "something is there to read" is asked of any descriptor.
fn poll_readable(fd: &impl std::os::fd::AsFd) -> rustix::event::PollFd<'_> {
    rustix::event::PollFd::new(fd, PollFlags::IN)
}
