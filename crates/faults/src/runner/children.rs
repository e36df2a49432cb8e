//! The processes of rows: this program with other arguments, with a timeout for their end.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::oracle::tagged_processes;
use crate::skip::SKIPPED;

/// The interval between two checks of a running process.
const LOOK: Duration = Duration::from_millis(20);

/// A process that is killed on drop.
pub(crate) struct RowProcess(std::process::Child);

/// The end of a row's process.
pub(crate) enum RowExit {
    Passed,
    Skipped,
    Failed,
    Died(String),
    Hung(Duration),
}

impl RowProcess {
    /// Starts this program with other arguments and writes its output to a file.
    pub(crate) fn start(args: &[String], output: &Path) -> Result<Self> {
        let binary = std::env::current_exe().context("find the path of this binary")?;
        let file = File::create(output).with_context(|| format!("create {}", output.display()))?;
        #[expect(clippy::disallowed_methods, reason = "starts rows, not extensions")]
        let mut command = Command::new(binary);
        command.args(args).stdin(Stdio::null());
        command.stdout(file.try_clone().context("duplicate the file handle")?).stderr(file);
        Ok(Self(command.spawn().context("start this program")?))
    }

    /// Waits for the end of the process.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<RowExit> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(status) = self.0.try_wait().context("check a row's process")? {
                return Ok(match status.code() {
                    Some(0) => RowExit::Passed,
                    Some(1) => RowExit::Failed,
                    Some(code) if code == i32::from(SKIPPED) => RowExit::Skipped,
                    _ => RowExit::Died(status.to_string()),
                });
            }
            // sleep: between two checks
            std::thread::sleep(LOOK);
        }
        Ok(RowExit::Hung(patience))
    }
}

impl Drop for RowProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills every process of a row, wherever it is.
pub(crate) fn kill_tagged(tag: &str) {
    for pid in tagged_processes(tag) {
        if let Some(pid) = rustix::process::Pid::from_raw(pid) {
            // The process may end in between.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
