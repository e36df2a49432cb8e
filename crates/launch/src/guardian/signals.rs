//! Signals to the guardian.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd as _;

use rustix::event::PollFd;
use rustix::process::Signal;

use super::{KILL_TREE, poll_readable};
use crate::sys;

/// The signals that arrived since the last call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingSignals {
    /// The host asks the program to end.
    pub(super) terminate: bool,
    /// The host asks to kill the whole tree.
    pub(super) kill: bool,
}

/// The receiver of signals. A process has one, and it exists until the end.
pub(super) struct SignalInbox {
    wake: PipeReader,
    _writer: PipeWriter,
}

impl SignalInbox {
    /// Starts recording these signals, which then no longer end the process.
    pub(super) fn open() -> io::Result<Self> {
        let (wake, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&wake, true)?;
        sys::note_signals(&[Signal::CHILD, Signal::TERM, KILL_TREE], writer.as_raw_fd())?;
        Ok(Self { wake, _writer: writer })
    }

    pub(super) fn poll_fd(&self) -> PollFd<'_> {
        poll_readable(&self.wake)
    }

    /// Returns the pending signals without blocking.
    pub(super) fn take(&mut self) -> PendingSignals {
        // The pipe is emptied first: a later signal then causes one needless wake-up instead of a missed one.
        let _ = rustix::io::read(&self.wake, &mut [0; 64]);
        let noted = sys::take_noted();
        let has = |signal: Signal| noted & sys::signal_bit(signal.as_raw()) != 0;
        PendingSignals { terminate: has(Signal::TERM), kill: has(KILL_TREE) }
    }

    /// Puts back taken signals without a wake-up.
    #[cfg(target_os = "linux")]
    pub(super) fn put_back(&mut self, news: PendingSignals) {
        let both = [(news.terminate, Signal::TERM), (news.kill, KILL_TREE)];
        both.iter().filter(|(noted, _)| *noted).for_each(|(_, signal)| sys::note_again(signal.as_raw()));
    }
}
