//! A run of a program from its start to its end, with all that it starts: wall time, CPU time, memory.
//!
//! Each run has a parent of its own, this binary in another role, because the system adds up what children used and
//! remembers the largest one until their parent ends.

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

/// A run that takes longer is killed, and has failed.
const LIMIT: Duration = Duration::from_secs(300);

/// A program to run and watch.
#[derive(Debug, Clone)]
pub(crate) struct WatchedProgram {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// All of its environment.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
}

/// The resources that a run used.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ResourceUsage {
    /// When it was started, by [`platform::now`].
    pub(crate) at: f64,
    /// Seconds until it had ended.
    pub(crate) wall: f64,
    /// Seconds of CPU, children that were waited for included.
    pub(crate) cpu: f64,
    /// The most memory that one process of them held at once, in bytes.
    pub(crate) peak: f64,
    /// True if it ended with success.
    pub(crate) success: bool,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub(crate) used: ResourceUsage,
    /// The text on both outputs.
    pub(crate) said: String,
}

impl WatchedProgram {
    /// Runs it with no input. A failure of the program itself is no error.
    pub(crate) fn run(&self) -> Result<FinishedRun> {
        let own = std::env::current_exe().context("find this binary")?;
        #[expect(clippy::disallowed_methods, reason = "a benchmark's own child")]
        let mut command = Command::new(own);
        // No pipe: something that the program leaves behind would keep it open.
        let said = tempfile::NamedTempFile::new().context("make a file")?;
        command.args([peers::MARK, ROLE]).arg(said.path()).arg(&self.program).args(&self.args);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value))).current_dir(&self.cwd);
        let output = command.stdin(Stdio::null()).output().context("start the watching parent")?;
        let used = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("run {}: {}", self.name(), String::from_utf8_lossy(&output.stderr)))?;
        let said = std::fs::read(said.path()).context("read what a program said")?;
        Ok(FinishedRun { used, said: String::from_utf8_lossy(&said).into_owned() })
    }

    /// Runs it, and fails when it does.
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

/// The end of what a program said.
pub(crate) fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ")
}

/// The role: runs the program with its outputs in a file, and says what it used.
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
    // What it left behind would work beside the next run.
    platform::kill_group(group);
    let (cpu, peak) = platform::children()?;
    let used = ResourceUsage { at, wall, cpu, peak, success: status.success() };
    io::stdout().write_all(serde_json::to_string(&used)?.as_bytes())
}
