//! The program to start, and its connection to this process.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::launcher::Launcher;
use crate::program::ProgramKind;
use crate::sandbox::Sandbox;

/// The options of a program to start. Set the public fields after [`SpawnOptions::new`].
#[derive(Debug)]
pub struct SpawnOptions {
    /// The program's absolute path. A bare name is rejected, because a lookup in a changed `PATH` needs a slow start;
    /// see [`crate::find_program`].
    pub program: PathBuf,
    /// The arguments, without the program's own name.
    pub args: Vec<OsString>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The environment.
    pub env: EnvPolicy,
    /// The standard input.
    pub stdin: StdioMode,
    /// The standard output.
    pub stdout: StdioMode,
    /// The standard error.
    pub stderr: StderrMode,
    /// The launcher that starts and guards the program. If `None`, and always on Windows, this process starts the
    /// program in its own group.
    pub launcher: Option<Launcher>,
    /// The kind of program, which determines the launcher's rules.
    pub kind: ProgramKind,
    /// The sandbox, which the launcher applies. `None` means the rights of this process.
    pub sandbox: Option<Sandbox>,
}

impl SpawnOptions {
    /// Returns options with no arguments, this process's environment, and no standard streams.
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
            kind: ProgramKind::Service,
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
    /// The environment of this process with changes.
    Inherit {
        /// Names to remove.
        remove: Vec<OsString>,
        /// Names to set after the removal.
        set: Vec<(OsString, OsString)>,
    },
    /// Only these variables. Shared, because many programs get the same environment.
    Only(Arc<[(OsString, OsString)]>),
}

impl Default for EnvPolicy {
    fn default() -> Self {
        Self::Inherit { remove: Vec::new(), set: Vec::new() }
    }
}

/// The mode of one of a program's standard streams.
#[derive(Debug)]
pub enum StdioMode {
    /// Nothing: reads return the end at once, writes are discarded.
    Null,
    /// The stream of this process.
    Inherit,
    /// A pipe; take the other end from the child.
    Piped,
    /// An open file.
    File(File),
}

/// The mode of a program's standard error.
#[derive(Debug)]
pub enum StderrMode {
    /// A separate stream.
    Own(StdioMode),
    /// The same stream as standard output, so that both arrive in the order in which they were written.
    SameAsStdout,
}

/// The three pipes and the id of a started program.
#[derive(Debug)]
pub(crate) struct SpawnedProcess {
    pub(crate) id: u32,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}
