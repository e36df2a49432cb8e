//! Noticing that the host is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, poll};
use rustix::process::{Pid, getppid};

use super::poll_readable;

/// The host, which is this process's parent.
pub(super) struct HostWatch {
    host: Pid,
    /// Becomes readable when the host ends. None where the system has no such thing.
    ended: Option<OwnedFd>,
}

impl HostWatch {
    /// # Errors
    /// When the host has ended already.
    pub(super) fn open(host: Pid) -> io::Result<Self> {
        let ended = descriptor(host);
        let watch = Self { host, ended };
        // Asked after the descriptor was opened: while it is our parent, the number is still the host's.
        if watch.is_orphan() {
            return Err(io::Error::other("the host was gone before the program could be started"));
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

    /// Returns the time between two calls of [`is_gone`](Self::is_gone); `None` when there is a descriptor for that.
    pub(super) fn poll_interval(&self) -> Option<Duration> {
        self.ended.is_none().then_some(crate::timeouts::HOST_POLL)
    }

    fn is_orphan(&self) -> bool {
        getppid() != Some(self.host)
    }
}

/// None also on a Linux before 5.3, or in a sandbox that does not know the call.
#[cfg(target_os = "linux")]
fn descriptor(host: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(host, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_host: Pid) -> Option<OwnedFd> {
    None
}
