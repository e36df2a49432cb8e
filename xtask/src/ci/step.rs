//! A step of `cargo xtask ci`: a command with a log, a duration and an outcome.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::repo;

/// The copy of this program in the folder of logs.
pub(super) const OWN: &str = "xtask";

/// A command of `ci`, with the command line that repeats it alone.
#[derive(Debug, Clone)]
pub(super) struct CiStep {
    pub(super) name: &'static str,
    pub(super) program: StepProgram,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(&'static str, String)>,
    /// The file for standard output, if it does not go to the log.
    pub(super) stdout: Option<PathBuf>,
    /// The step that must pass before this one runs.
    pub(super) needs: Option<&'static str>,
    pub(super) repeat: String,
}

/// The program of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepProgram {
    Cargo,
    /// This program, with another command.
    Xtask,
    /// A binary of the build step, by its name.
    Built(&'static str),
}

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Passed,
    Failed(String),
    /// Not run, because a step that it needs failed.
    NotRun(&'static str),
}

/// A finished step.
#[derive(Debug)]
pub(super) struct FinishedStep {
    pub(super) step: CiStep,
    pub(super) outcome: StepOutcome,
    pub(super) took: Duration,
    /// The file with the complete output of the command.
    pub(super) log: PathBuf,
}

impl CiStep {
    /// Creates a step that runs cargo with these arguments, separated by spaces. The same command repeats it.
    pub(super) fn cargo(name: &'static str, args: &str) -> Self {
        Self::new(name, StepProgram::Cargo, args, format!("cargo {args}"))
    }

    /// Creates a step that runs another command of this program.
    pub(super) fn xtask(name: &'static str, args: &str) -> Self {
        Self::new(name, StepProgram::Xtask, args, format!("cargo xtask {args}"))
    }

    /// Creates a step that runs a binary of the build step.
    pub(super) fn built_binary(name: &'static str, binary: &'static str, args: &str, repeat: &str) -> Self {
        Self::new(name, StepProgram::Built(binary), args, repeat.to_owned()).needs("build")
    }

    fn new(name: &'static str, program: StepProgram, args: &str, repeat: String) -> Self {
        let args = args.split(' ').filter(|arg| !arg.is_empty()).map(str::to_owned).collect();
        Self { name, program, args, env: Vec::new(), stdout: None, needs: None, repeat }
    }

    pub(super) fn needs(mut self, step: &'static str) -> Self {
        self.needs = Some(step);
        self
    }

    pub(super) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets a variable of the command, also in the command that repeats it.
    pub(super) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        self.repeat = format!("{name}=\"{value}\" {}", self.repeat);
        self.env.push((name, value));
        self
    }

    /// Returns the variables of the command, as a prefix for another command line.
    pub(super) fn variable_prefix(&self) -> String {
        self.env.iter().map(|(name, value)| format!("{name}=\"{value}\" ")).collect()
    }

    /// Returns the log of this step below `folder`.
    pub(super) fn log(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.log", self.name))
    }

    /// Runs the command and writes its output to the log.
    pub(super) fn run(self, folder: &Path) -> FinishedStep {
        let (start, log) = (Instant::now(), self.log(folder));
        let outcome = match self.status(folder, &log) {
            Ok(None) => StepOutcome::Passed,
            Ok(Some(status)) => StepOutcome::Failed(status),
            Err(error) => StepOutcome::Failed(format!("{error:#}")),
        };
        FinishedStep { step: self, outcome, took: start.elapsed(), log }
    }

    /// Returns the exit status of the command, or `None` if it succeeded.
    fn status(&self, folder: &Path, log: &Path) -> Result<Option<String>> {
        let create = |path: &Path| File::create(path).with_context(|| format!("create {}", path.display()));
        let log = create(log)?;
        let stdout = self.stdout.as_deref().map_or_else(|| Ok(log.try_clone()?), create)?;
        let mut command = self.command(folder)?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(log);
        let status = command.status().with_context(|| format!("start {}", self.name))?;
        Ok((!status.success()).then(|| status.to_string()))
    }

    fn command(&self, folder: &Path) -> Result<Command> {
        let mut command = match self.program {
            StepProgram::Cargo => repo::cargo(),
            StepProgram::Xtask => repo::command(&folder.join(OWN).to_string_lossy()),
            StepProgram::Built(name) => repo::command(&repo::built_binary("debug", name)?.to_string_lossy()),
        };
        command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        // Snapshots are compared, never written.
        command.env("INSTA_UPDATE", "no").env("CARGO_TERM_COLOR", "never");
        Ok(command)
    }
}

impl FinishedStep {
    pub(super) const fn has_passed(&self) -> bool {
        matches!(self.outcome, StepOutcome::Passed)
    }

    /// Returns the text of the log; empty if there is none.
    pub(super) fn text(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }
}
