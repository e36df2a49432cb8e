//! Starts extension processes. The one file of this crate that does.

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
use haft_protocol::defence::{Defence, is_up};
use tokio::process::{ChildStderr, ChildStdout};

use crate::wire::StdinPipe;

/// The three ends of a started extension's pipes.
#[derive(Debug)]
pub(crate) struct ProcessPipes {
    pub(crate) stdin: StdinPipe,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessExit {
    pub(crate) text: String,
    /// The launcher could not start it; why is the last thing on standard error.
    pub(crate) never_started: bool,
    /// By itself, with status 0.
    pub(crate) exited_cleanly: bool,
}

/// A started extension with everything it started. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct ExtensionProcess {
    child: GroupChild,
    exited: bool,
}

impl ExtensionProcess {
    /// Starts the program of an extension in the extension's directory with nothing but this environment, by the
    /// launcher if there is one, and confined if that is asked for. Fails when the system cannot do either.
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
        spawn.launcher = launcher.filter(|_| is_up(Defence::OwnSession));
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
            return Err(io::Error::other("its pipes are missing"));
        };
        Ok((Self { child, exited: false }, ProcessPipes { stdin, stdout, stderr }))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end, by the system's word and not by a stream's; says how it ended. Never comes back a
    /// second time. Safe to drop and to call again.
    pub(crate) async fn wait_for_exit(&mut self) -> ProcessExit {
        if self.exited || !is_up(Defence::ExitStatus) {
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
                let text = format!("ended, and the system cannot say how: {error}");
                ProcessExit { text, never_started: false, exited_cleanly: false }
            }
        }
    }

    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        self.child.terminate()
    }

    /// Kills it and what it started, also what an ended extension left behind. A second call is more forceful.
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
        return format!("was ended by signal {signal}");
    }
    status.code().map_or_else(|| format!("ended: {status}"), |code| format!("exited with status {code}"))
}
