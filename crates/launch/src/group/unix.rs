//! A process group of its own, by tokio's `process_group`, which keeps the fast start.

use std::io;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use crate::child::Started;

/// The leader, and the group that is named after it.
///
/// The group's number stays taken while any member lives, so a signal after the leader's end reaches what it left
/// behind. Once the whole group is gone the system may give the number to another process; that takes a full turn
/// of the process numbers between the end and the signal, and is accepted.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Child,
    id: Pid,
}

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<(Self, Started)> {
        let mut leader = command.process_group(0).spawn()?;
        let id =
            leader.id().ok_or_else(|| io::Error::other("the program ended before it had a process id"))?;
        let group = i32::try_from(id)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other(format!("the system gave {id} as a process id")))?;
        let started = Started {
            id,
            stdin: leader.stdin.take(),
            stdout: leader.stdout.take(),
            stderr: leader.stderr.take(),
        };
        Ok((Self { leader, id: group }, started))
    }

    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader.wait().await
    }

    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.signal(Signal::KILL)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match kill_process_group(self.id, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            // macOS says so of a group in which nobody but zombies is left.
            Err(Errno::PERM) if cfg!(target_vendor = "apple") => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
