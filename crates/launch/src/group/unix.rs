//! A separate process group, by tokio's `process_group`, which keeps the fast start; or a guardian.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};

use crate::guardian::{KILL_TREE, NEVER_STARTED, tree};
use crate::spawn::SpawnedProcess;

/// The started process, and the way to signal the rest of its group.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    leader: Child,
    id: Pid,
    reach: SignalRoute,
}

/// The way to signal the processes that the leader started.
#[derive(Debug)]
enum SignalRoute {
    /// The processes are in the group that is named after the leader.
    ///
    /// The group's number stays taken while any member lives, so a signal after the leader's end reaches the remaining
    /// members. After the whole group has ended, the system may give the number to another process. That takes a full
    /// cycle of process numbers between the end and the signal, and is an accepted risk.
    Group,
    /// The leader is a guardian, which reaches the whole tree and ends last.
    Guardian {
        /// True if a kill was already requested.
        asked: bool,
    },
}

impl ProcessGroup {
    pub(crate) fn spawn(command: &mut Command, guarded: bool) -> io::Result<(Self, SpawnedProcess)> {
        let reach = if guarded { SignalRoute::Guardian { asked: false } } else { SignalRoute::Group };
        // A guardian gets its own group too: Ctrl+C in the host's terminal must not end the guardian before its work is
        // done.
        command.process_group(0);
        let mut leader = command.spawn()?;
        let id = leader
            .id()
            .ok_or_else(|| io::Error::other("cannot read the process id: the program has already ended"))?;
        let pid = i32::try_from(id)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other(format!("the system returned an invalid process id, {id}")))?;
        let started = SpawnedProcess {
            id,
            stdin: leader.stdin.take(),
            stdout: leader.stdout.take(),
            stderr: leader.stderr.take(),
        };
        Ok((Self { leader, id: pid, reach }, started))
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader.wait().await
    }

    pub(crate) fn never_started(&self, status: ExitStatus) -> bool {
        matches!(self.reach, SignalRoute::Guardian { .. }) && status.signal() == Some(NEVER_STARTED.as_raw())
    }

    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        match self.reach {
            SignalRoute::Group => self.signal_group(Signal::TERM),
            SignalRoute::Guardian { .. } => self.signal_leader(Signal::TERM),
        }
    }

    pub(crate) fn kill(&mut self) -> io::Result<()> {
        match &mut self.reach {
            SignalRoute::Group => self.signal_group(Signal::KILL),
            SignalRoute::Guardian { asked: asked @ false } => {
                *asked = true;
                self.signal_leader(KILL_TREE)?;
                // The guardian may be stopped.
                self.signal_leader(Signal::CONT)
            }
            SignalRoute::Guardian { asked: true } if self.leader.id().is_none() => Ok(()),
            SignalRoute::Guardian { asked: true } => {
                tree::kill_below(self.id);
                self.signal_leader(Signal::KILL)
            }
        }
    }

    fn signal_group(&self, signal: Signal) -> io::Result<()> {
        ignore_missing_process(kill_process_group(self.id, signal))
    }

    /// Signals the leader. Does nothing after the leader's end was observed, because another process may have its
    /// number.
    fn signal_leader(&self, signal: Signal) -> io::Result<()> {
        if self.leader.id().is_none() {
            return Ok(());
        }
        ignore_missing_process(kill_process(self.id, signal))
    }
}

/// Treats a signal to a group without processes as delivered.
fn ignore_missing_process(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        // macOS returns EPERM for a group that contains only zombies.
        Err(Errno::PERM) if cfg!(target_vendor = "apple") => Ok(()),
        Err(error) => Err(error.into()),
    }
}
