//! Starts extension processes. No other file of this crate does.

pub(crate) mod connection;
pub(crate) mod log;

use std::ffi::OsString;
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;

use haft_launch::{EnvPolicy, GroupChild, Launcher, Sandbox, SpawnOptions, StderrMode, StdioMode};
use haft_packages::ExtensionSpec;
use haft_protocol::defense::{Defense, is_up};
use tokio::process::{ChildStderr, ChildStdout};

use crate::wire::StdinPipe;

/// The host's ends of the pipes of a started extension.
#[derive(Debug)]
pub(crate) struct ProcessPipes {
    pub(crate) stdin: StdinPipe,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessExit {
    pub(crate) text: String,
    /// True if the launcher could not start the program; the reason is the last line on standard error.
    pub(crate) never_started: bool,
    /// True if the process exited by itself with status 0.
    pub(crate) exited_cleanly: bool,
}

/// A started extension with all its child processes. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct ExtensionProcess {
    child: GroupChild,
    exited: bool,
}

impl ExtensionProcess {
    /// Starts the program in the extension's directory with exactly this environment. Uses the launcher if
    /// there is one, and the sandbox if requested. Fails when the system supports neither.
    pub(crate) fn start(
        spec: &ExtensionSpec,
        program: &Path,
        args: &[String],
        env: Arc<[(OsString, OsString)]>,
        launcher: Option<Launcher>,
        sandbox: Option<Sandbox>,
    ) -> io::Result<(Self, ProcessPipes)> {
        let mut spawn = SpawnOptions::new(program, &spec.dir).args(args);
        spawn.env = EnvPolicy::Only(env);
        spawn.launcher = launcher.filter(|_| is_up(Defense::OwnSession));
        spawn.sandbox = sandbox;
        #[cfg(unix)]
        let stdin = {
            let (theirs, ours) = StdinPipe::create()?;
            spawn.stdin = StdioMode::File(OwnedFd::from(theirs).into());
            Some(ours)
        };
        #[cfg(not(unix))]
        {
            spawn.stdin = StdioMode::Piped;
        }
        spawn.stdout = StdioMode::Piped;
        spawn.stderr = StderrMode::Own(StdioMode::Piped);
        let mut child = GroupChild::spawn(spawn)?;
        #[cfg(not(unix))]
        let stdin = child.take_stdin();
        let (stdout, stderr) = (child.take_stdout(), child.take_stderr());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok((Self { child, exited: false }, ProcessPipes { stdin, stdout, stderr }))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the exit as the system reports it, independent of the streams. Completes only once.
    /// Cancel-safe.
    pub(crate) async fn wait_for_exit(&mut self) -> ProcessExit {
        if self.exited || !is_up(Defense::ExitStatus) {
            return std::future::pending().await;
        }
        let status = self.child.wait().await;
        self.exited = true;
        match status {
            Ok(status) => ProcessExit {
                text: describe_status(status),
                never_started: self.child.never_started(status),
                exited_cleanly: status.success(),
            },
            Err(error) => {
                let text = format!("ended with an unknown status: {error}");
                ProcessExit { text, never_started: false, exited_cleanly: false }
            }
        }
    }

    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        self.child.terminate()
    }

    /// Kills the process and its children, including those that an ended process left. A second call is more
    /// forceful.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.exited
    }
}

fn describe_status(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was killed by signal {signal}");
    }
    status.code().map_or_else(|| format!("ended: {status}"), |code| format!("exited with status {code}"))
}
