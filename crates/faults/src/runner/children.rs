//! The processes of rows: this program again, with an end that can be waited for.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::oracle::tagged_processes;
use crate::skip::SKIPPED;

/// Between two looks at a process that runs.
const LOOK: Duration = Duration::from_millis(20);

/// A process that is killed when nobody looks at it any more.
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
    /// Starts this program with other arguments; what it says goes to a file.
    pub(crate) fn start(args: &[String], output: &Path) -> Result<Self> {
        let binary = std::env::current_exe().context("find this binary")?;
        let file = File::create(output).with_context(|| format!("make {}", output.display()))?;
        #[expect(clippy::disallowed_methods, reason = "rows are no extensions")]
        let mut command = Command::new(binary);
        command.args(args).stdin(Stdio::null());
        command.stdout(file.try_clone().context("open a file twice")?).stderr(file);
        Ok(Self(command.spawn().context("start this program again")?))
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<RowExit> {
        let start = Instant::now();
        while start.elapsed() < patience {
            if let Some(status) = self.0.try_wait().context("look at a row's process")? {
                return Ok(match status.code() {
                    Some(0) => RowExit::Passed,
                    Some(1) => RowExit::Failed,
                    Some(code) if code == i32::from(SKIPPED) => RowExit::Skipped,
                    _ => RowExit::Died(status.to_string()),
                });
            }
            // sleep: between two looks
            std::thread::sleep(LOOK);
        }
        Ok(RowExit::Hung(patience))
    }
}

impl Drop for RowProcess {
    fn drop(&mut self) {
        // One that is gone already is what this wants.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills every process of a row, however far it ran away.
pub(crate) fn kill_tagged(tag: &str) {
    for pid in tagged_processes(tag) {
        if let Some(pid) = rustix::process::Pid::from_raw(pid) {
            // Gone in between is fine.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
