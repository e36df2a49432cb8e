//! The program to start, and its connection to this process.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::launcher::Launcher;
use crate::sandbox::Sandbox;

/// A program to start. Fill in the public fields after [`SpawnOptions::new`].
#[derive(Debug)]
pub struct SpawnOptions {
    /// Absolute. A bare name is refused, because looking one up in a changed `PATH` needs a slow start; see
    /// [`crate::find_program`].
    pub program: PathBuf,
    /// Its arguments, the program's own name left out.
    pub args: Vec<OsString>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// Its environment.
    pub env: EnvPolicy,
    /// Its standard input.
    pub stdin: StdioMode,
    /// Its standard output.
    pub stdout: StdioMode,
    /// Its standard error.
    pub stderr: StderrMode,
    /// The launcher that starts and guards it. None, and on Windows always: this process itself, in a group of its own.
    pub launcher: Option<Launcher>,
    /// The sandbox; put on by the launcher, without which there is none. None: whatever this process may.
    pub sandbox: Option<Sandbox>,
}

impl SpawnOptions {
    /// A program with no arguments, this process's environment, and nothing on its three streams.
    pub fn new(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: EnvPolicy::default(),
            stdin: StdioMode::Null,
            stdout: StdioMode::Null,
            stderr: StderrMode::Own(StdioMode::Null),
            launcher: None,
            sandbox: None,
        }
    }

    /// Replaces the arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }
}

/// The environment of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvPolicy {
    /// This process's, changed.
    Inherit {
        /// Names that are left out.
        remove: Vec<OsString>,
        /// Names that are set, after the removal.
        set: Vec<(OsString, OsString)>,
    },
    /// Nothing but this. Shared, because many programs get the same.
    Only(Arc<[(OsString, OsString)]>),
}

impl Default for EnvPolicy {
    fn default() -> Self {
        Self::Inherit { remove: Vec::new(), set: Vec::new() }
    }
}

/// The kind of a program's standard stream.
#[derive(Debug)]
pub enum StdioMode {
    /// Nothing: reads end at once, writes vanish.
    Null,
    /// This process's own.
    Inherit,
    /// A pipe; take the other end from the child.
    Piped,
    /// An open file.
    File(File),
}

/// The kind of a program's standard error.
#[derive(Debug)]
pub enum StderrMode {
    /// A stream of its own.
    Own(StdioMode),
    /// Whatever standard output is, so that both arrive in the order they were written.
    SameAsStdout,
}

/// The three pipes and the id of a program that has just started.
#[derive(Debug)]
pub(crate) struct SpawnedProcess {
    pub(crate) id: u32,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}
