//! Starts extension processes. The one file of this crate that does.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;

use haft_launch::{EnvPolicy, GroupChild, Spawn, Stderr, Stream};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// What of this program's environment an extension gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtensionEnv {
    /// Names that are left out: the variables that hold the providers' keys.
    pub secrets: Vec<String>,
    /// Names that are set.
    pub set: Vec<(String, String)>,
}

/// The three ends of a started extension's pipes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

/// A started extension with everything it started. Dropping it kills them all.
#[derive(Debug)]
pub(crate) struct Process {
    child: GroupChild,
    exited: bool,
    left_well: bool,
}

impl Process {
    /// Starts `program` in `dir`, in a process group of its own.
    ///
    /// # Errors
    /// When the system cannot start it.
    pub(crate) fn start(
        program: &Path,
        args: &[String],
        dir: &Path,
        env: &ExtensionEnv,
    ) -> io::Result<(Self, Pipes)> {
        let mut spawn = Spawn::new(program, dir).args(args);
        spawn.env = EnvPolicy::Inherit {
            remove: env.secrets.iter().map(OsString::from).collect(),
            set: env.set.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        };
        spawn.stdin = Stream::Piped;
        spawn.stdout = Stream::Piped;
        spawn.stderr = Stderr::Own(Stream::Piped);
        let mut child = GroupChild::spawn(spawn)?;
        let (stdin, stdout, stderr) = (child.take_stdin(), child.take_stdout(), child.take_stderr());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(io::Error::other("its pipes are missing"));
        };
        Ok((Self { child, exited: false, left_well: false }, Pipes { stdin, stdout, stderr }))
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end, by the system's word and not by a stream's; says how it ended. Never comes back a
    /// second time. Safe to drop and to call again.
    pub(crate) async fn exited(&mut self) -> String {
        if self.exited {
            return std::future::pending().await;
        }
        let status = self.child.wait().await;
        self.exited = true;
        self.left_well = status.as_ref().is_ok_and(ExitStatus::success);
        status.map_or_else(|error| format!("ended, and the system cannot say how: {error}"), described)
    }

    /// Asks the whole group to end.
    pub(crate) fn terminate(&mut self) -> io::Result<()> {
        self.child.terminate()
    }

    /// Kills the whole group, also what an ended extension left behind.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()
    }

    /// Whether it ended by itself, with status 0.
    pub(crate) fn left_well(&self) -> bool {
        self.left_well
    }

    /// Whether the end was seen.
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
