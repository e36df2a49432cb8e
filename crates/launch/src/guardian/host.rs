//! Detection of the host's end.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, poll};
use rustix::process::{Pid, getppid};

use super::poll_readable;

/// The host, which is this process's parent.
pub(super) struct HostWatch {
    host: Pid,
    /// A descriptor that becomes readable when the host ends. `None` where the system does not have one.
    ended: Option<OwnedFd>,
}

impl HostWatch {
    /// # Errors
    /// When the host has already ended.
    pub(super) fn open(host: Pid) -> io::Result<Self> {
        let ended = open_pidfd(host);
        let watch = Self { host, ended };
        // Checked after the descriptor was opened: while the host is the parent, its number cannot be reused.
        if watch.is_orphan() {
            return Err(io::Error::other("the host ended before the program was started"));
        }
        Ok(watch)
    }

    pub(super) fn is_gone(&self) -> io::Result<bool> {
        match self.poll_fd() {
            Some(fd) => Ok(poll(&mut [fd], Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0),
            None => Ok(self.is_orphan()),
        }
    }

    pub(super) fn poll_fd(&self) -> Option<PollFd<'_>> {
        self.ended.as_ref().map(poll_readable)
    }

    /// Returns the interval for polling [`is_gone`](Self::is_gone); `None` if a descriptor reports the end.
    pub(super) fn poll_interval(&self) -> Option<Duration> {
        self.ended.is_none().then_some(crate::timeouts::HOST_POLL)
    }

    fn is_orphan(&self) -> bool {
        getppid() != Some(self.host)
    }
}

/// Opens a descriptor of the host. `None` before Linux 5.3, or in a sandbox that rejects the call.
#[cfg(target_os = "linux")]
fn open_pidfd(host: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(host, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_pidfd(_host: Pid) -> Option<OwnedFd> {
    None
}
