//! A separate job object, by process-wrap, which suspends the program until it is in the job.

use std::io;
use std::process::ExitStatus;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject};
use tokio::process::Command;

use crate::spawn::SpawnedProcess;

/// The program's job; every process it starts is in the job too.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    job: Box<dyn ChildWrapper>,
}

impl ProcessGroup {
    pub(crate) fn spawn(command: &mut Command, _guarded: bool) -> io::Result<(Self, SpawnedProcess)> {
        // CommandWrap takes the command by value; the placeholder is never started.
        #[expect(clippy::disallowed_methods, reason = "a placeholder that is never started")]
        let command = std::mem::replace(command, Command::new(""));
        let mut job = CommandWrap::from(command).wrap(JobObject).spawn()?;
        let id = job
            .id()
            .ok_or_else(|| io::Error::other("cannot read the process id: the program has already ended"))?;
        let started = SpawnedProcess {
            id,
            stdin: job.stdin().take(),
            stdout: job.stdout().take(),
            stderr: job.stderr().take(),
        };
        Ok((Self { job }, started))
    }

    /// Waits for the program, not for its job: the job's own wait lasts until every process in it has ended.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.job.inner_mut().wait().await
    }

    pub(crate) fn never_started(&self, _status: ExitStatus) -> bool {
        false
    }

    /// Kills the job, because a job without a console has no softer signal.
    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        self.kill()
    }

    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.job.start_kill()
    }
}
