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

use haft_launch::{EnvPolicy, GroupChild, Launcher, Sandbox, Spawn, Stderr, Stream};
use haft_packages::ExtensionSpec;
use haft_protocol::defence::{Defence, is_up};
use tokio::process::{ChildStderr, ChildStdout};

use crate::wire::Input;

/// The three ends of a started extension's pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: Input,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) text: String,
    /// The launcher could not start it; why is the last thing on standard error.
    pub(crate) never_started: bool,
    /// By itself, with status 0.
    pub(crate) left_well: bool,
}

/// A started extension with everything it started. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct Process {
    child: GroupChild,
    exited: bool,
}

impl Process {
    /// Starts the program of an extension in the extension's directory with nothing but this environment, by the
    /// launcher if there is one, and confined if that is asked for. Fails when the system cannot do either.
    pub(crate) fn start(
        spec: &ExtensionSpec,
        program: &Path,
        args: &[String],
        env: Arc<[(OsString, OsString)]>,
        launcher: Option<Launcher>,
        sandbox: Option<Sandbox>,
    ) -> io::Result<(Self, Pipes)> {
        let mut spawn = Spawn::new(program, &spec.dir).args(args);
        spawn.env = EnvPolicy::Only(env);
        spawn.launcher = launcher.filter(|_| is_up(Defence::OwnSession));
        spawn.sandbox = sandbox;
        #[cfg(unix)]
        let stdin = {
            let (theirs, ours) = Input::pipe()?;
            spawn.stdin = Stream::File(OwnedFd::from(theirs).into());
            Some(ours)
        };
        #[cfg(not(unix))]
        {
            spawn.stdin = Stream::Piped;
        }
        spawn.stdout = Stream::Piped;
        spawn.stderr = Stderr::Own(Stream::Piped);
        let mut child = GroupChild::spawn(spawn)?;
        #[cfg(not(unix))]
        let stdin = child.take_stdin();
        let (stdout, stderr) = (child.take_stdout(), child.take_stderr());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("its pipes are missing"));
        };
        Ok((Self { child, exited: false }, Pipes { stdin, stdout, stderr }))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end, by the system's word and not by a stream's; says how it ended. Never comes back a
    /// second time. Safe to drop and to call again.
    pub(crate) async fn exited(&mut self) -> Exit {
        if self.exited || !is_up(Defence::ExitStatus) {
            return std::future::pending().await;
        }
        let status = self.child.wait().await;
        self.exited = true;
        match status {
            Ok(status) => Exit {
                text: described(status),
                never_started: self.child.never_started(status),
                left_well: status.success(),
            },
            Err(error) => {
                let text = format!("ended, and the system cannot say how: {error}");
                Exit { text, never_started: false, left_well: false }
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

fn described(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was ended by signal {signal}");
    }
    status.code().map_or_else(|| format!("ended: {status}"), |code| format!("exited with status {code}"))
}
