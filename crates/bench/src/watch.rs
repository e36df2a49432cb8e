//! The resource usage of a program with all its child processes: wall time, CPU time, memory.
//!
//! Each run has a separate parent, this binary in another role. The system sums the CPU time of all children of a
//! parent and records their largest memory until the parent ends.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::{peers, platform};

/// The name of the role.
pub(crate) const ROLE: &str = "watch";

/// The longest run; a longer one is killed and has failed.
const LIMIT: Duration = Duration::from_secs(300);

/// A program to run and measure.
#[derive(Debug, Clone)]
pub(crate) struct WatchedProgram {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The complete environment.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
}

/// The resources that a run used.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ResourceUsage {
    /// The time of the start, by [`platform::now`].
    pub(crate) at: f64,
    /// Seconds until the end.
    pub(crate) wall: f64,
    /// CPU seconds, including children that were waited for.
    pub(crate) cpu: f64,
    /// The largest memory of one of the processes, in bytes.
    pub(crate) peak: f64,
    /// True if the program exited successfully.
    pub(crate) success: bool,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) used: ResourceUsage,
    /// The text on standard output and standard error.
    pub(crate) said: String,
}

impl WatchedProgram {
    /// Runs the program without input. A failure of the program is not an error.
    pub(crate) fn run(&self) -> Result<FinishedRun> {
        let own = std::env::current_exe().context("find the path of this binary")?;
        #[expect(clippy::disallowed_methods, reason = "a benchmark's own child")]
        let mut command = Command::new(own);
        // The output goes to a file, because a process that the program leaves behind would keep a pipe open.
        let said = tempfile::NamedTempFile::new().context("create a file")?;
        command.args([peers::MARK, ROLE]).arg(said.path()).arg(&self.program).args(&self.args);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value))).current_dir(&self.cwd);
        let output = command.stdin(Stdio::null()).output().context("start the measuring parent")?;
        let used = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("run {}: {}", self.name(), String::from_utf8_lossy(&output.stderr)))?;
        let said = std::fs::read(said.path()).context("read the output of a program")?;
        Ok(FinishedRun { used, said: String::from_utf8_lossy(&said).into_owned() })
    }

    /// Runs the program and returns an error if it fails.
    pub(crate) fn run_successfully(&self) -> Result<ResourceUsage> {
        let FinishedRun { used, said } = self.run()?;
        if !used.success {
            bail!("{} failed: {}", self.name(), last_lines(&said));
        }
        Ok(used)
    }

    fn name(&self) -> String {
        self.program.display().to_string()
    }
}

/// Returns the last lines of a program's output.
pub(crate) fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ")
}

/// The role: runs the program with its outputs in a file, and prints its resource usage.
pub(crate) fn watch_program(said: &str, program: &str, args: &[&str]) -> io::Result<()> {
    let said = File::options().append(true).open(said)?;
    #[expect(clippy::disallowed_methods, reason = "a benchmark's own child")]
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    platform::own_group(&mut command);
    let at = platform::now();
    let mut child = command.spawn()?;
    let group = child.id();
    thread::spawn(move || {
        thread::sleep(LIMIT);
        platform::kill_group(group);
    });
    let status = child.wait()?;
    let wall = platform::now() - at;
    // Remaining processes would disturb the next run, so they are killed.
    platform::kill_group(group);
    let (cpu, peak) = platform::children_usage()?;
    let used = ResourceUsage { at, wall, cpu, peak, success: status.success() };
    io::stdout().write_all(serde_json::to_string(&used)?.as_bytes())
}
