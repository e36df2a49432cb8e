//! `GroupChild`: a running program and every process that it started.

use std::io::{self, PipeReader};
use std::process::{ExitStatus, Stdio};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::group::ProcessGroup;
use crate::program::start_error;
use crate::sandbox::Sandbox;
use crate::spawn::{EnvPolicy, SpawnOptions, SpawnedProcess, StderrMode, StdioMode};
use crate::terminal_request::TerminalRequestWatch;

/// A program in its own process group (Windows: a job), or behind a [`Launcher`](crate::Launcher). Dropping the child
/// kills the whole group; behind a launcher, the whole process tree.
#[derive(Debug)]
#[must_use = "dropping the child kills its whole process group"]
pub struct GroupChild {
    group: ProcessGroup,
    started: SpawnedProcess,
    kill_on_drop: bool,
}

impl GroupChild {
    /// Starts a program. Must be called within a tokio runtime; blocks for less than a millisecond.
    ///
    /// # Errors
    /// When the program cannot be started. The text names the program, or the working directory if that is missing, and
    /// includes the system's message; the kind is the system's. When the sandbox is not available, the inner error is a
    /// [`SandboxError`](crate::sandbox::SandboxError). Failures that only the launcher can detect are reported by
    /// [`never_started`](Self::never_started).
    pub fn spawn(spec: SpawnOptions) -> io::Result<Self> {
        if !spec.program.is_absolute() {
            let text = format!("cannot start {}: the program path is not absolute", spec.program.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if let Some(sandbox) = &spec.sandbox {
            check_confinable(sandbox, spec.launcher.is_some())?;
        }
        let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
        start(spec).map_err(|error| start_error(&program, Some(&cwd), &error))
    }

    /// The process id of the program, which on Unix is also the id of its group. Behind a launcher: the id of the
    /// launcher, which is the program's parent.
    pub fn id(&self) -> u32 {
        self.started.id
    }

    /// The writing end of a piped standard input; `None` after the first call.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.started.stdin.take()
    }

    /// The reading end of a piped standard output; `None` after the first call.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.started.stdout.take()
    }

    /// The reading end of a piped standard error; `None` after the first call.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.started.stderr.take()
    }

    /// Waits for the program itself, not for its descendants; behind a launcher, for both. Cancel-safe, and may be
    /// called again.
    ///
    /// # Errors
    /// When the system cannot report how the program ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.group.wait().await
    }

    /// Watches for the program being stopped because it, or a descendant, requests this process's terminal. A stopped
    /// program waits forever, so a caller without a terminal to give should kill it.
    ///
    /// # Errors
    /// When the SIGCHLD handler cannot be installed.
    pub fn watch_terminal_requests(&self) -> io::Result<TerminalRequestWatch> {
        TerminalRequestWatch::for_process(self.started.id)
    }

    /// True if a status that [`wait`](Self::wait) returned means that the launcher could not start the program. The
    /// last line on the program's standard error is the reason.
    pub fn never_started(&self, status: ExitStatus) -> bool {
        self.group.never_started(status)
    }

    /// Asks the whole group to end with SIGTERM. Windows has no such signal, so the job is killed.
    ///
    /// # Errors
    /// When the system refuses. A group that has already ended is not an error.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.group.terminate()
    }

    /// Kills the whole group at once: SIGKILL; on Windows the job is terminated. Works after the program has ended too,
    /// for processes that it left behind.
    ///
    /// Behind a launcher, the first call asks the launcher to kill everything below it. A caller that still waits after
    /// a while should call again: the second call kills the tree directly, including the launcher.
    ///
    /// # Errors
    /// When the system refuses. A group that has already ended is not an error.
    pub fn kill(&mut self) -> io::Result<()> {
        self.group.kill()
    }

    /// Detaches from the group without killing it. Processes that the program left in the background keep running;
    /// behind a launcher, as long as this process does.
    pub fn release(mut self) {
        self.kill_on_drop = false;
    }
}

impl Drop for GroupChild {
    fn drop(&mut self) {
        if self.kill_on_drop
            && let Err(error) = self.group.kill()
        {
            tracing::warn!(pid = self.started.id, %error, "cannot kill the process group");
        }
    }
}

/// Rejects a program whose sandbox is not available, before anything is started.
fn check_confinable(sandbox: &Sandbox, launched: bool) -> io::Result<()> {
    if !launched {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "cannot start the program in a sandbox without a launcher; set `launcher`",
        ));
    }
    sandbox.check().map_err(|error| io::Error::new(io::ErrorKind::Unsupported, error))
}

#[cfg_attr(not(unix), expect(unused_mut, reason = "only launchers change it"))]
fn start(mut spec: SpawnOptions) -> io::Result<GroupChild> {
    #[cfg(unix)]
    let guarded = match spec.launcher.take() {
        Some(launcher) => start_through_launcher(launcher, &mut spec).map(|()| true)?,
        None => false,
    };
    #[cfg(not(unix))]
    let guarded = false;
    // The command holds this process's copies of the child's ends. It must be dropped before the output is read to its
    // end.
    let (mut command, merged) = command(spec)?;
    let (group, mut started) = ProcessGroup::spawn(&mut command, guarded)?;
    if let Some(reader) = merged {
        started.stdout = Some(ChildStdout::from_std(own_end(reader))?);
    }
    Ok(GroupChild { group, started, kill_on_drop: true })
}

#[cfg(unix)]
fn start_through_launcher(launcher: crate::Launcher, spec: &mut SpawnOptions) -> io::Result<()> {
    crate::program::check_startable(&spec.program)?;
    let program = std::mem::replace(&mut spec.program, launcher.program);
    let sandbox =
        spec.sandbox.take().map(|sandbox| crate::guardian::SandboxOrder::new(sandbox, &launcher.args));
    let order = crate::guardian::LaunchOrder {
        host: rustix::process::getpid(),
        kind: spec.kind,
        sandbox: sandbox.transpose()?,
        program: program.into(),
        args: std::mem::take(&mut spec.args),
    };
    spec.args = launcher.args.into_iter().chain(order.into_args()?).collect();
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs")]
fn command(spec: SpawnOptions) -> io::Result<(Command, Option<PipeReader>)> {
    let mut command = Command::new(spec.program);
    command.args(spec.args).current_dir(spec.cwd).stdin(to_stdio(spec.stdin)?);
    set_env(&mut command, spec.env);
    let merged = match (spec.stdout, spec.stderr) {
        (stdout, StderrMode::Own(stderr)) => {
            command.stdout(to_stdio(stdout)?).stderr(to_stdio(stderr)?);
            None
        }
        (StdioMode::Null, StderrMode::SameAsStdout) => {
            command.stdout(Stdio::null()).stderr(Stdio::null());
            None
        }
        (StdioMode::Inherit, StderrMode::SameAsStdout) => {
            command.stdout(Stdio::inherit()).stderr(io::stdout());
            None
        }
        (StdioMode::File(file), StderrMode::SameAsStdout) => {
            command.stderr(file.try_clone()?).stdout(file);
            None
        }
        (StdioMode::Piped, StderrMode::SameAsStdout) => {
            let (reader, writer) = io::pipe()?;
            command.stderr(writer.try_clone()?).stdout(writer);
            Some(reader)
        }
    };
    Ok((command, merged))
}

fn to_stdio(stream: StdioMode) -> io::Result<Stdio> {
    Ok(match stream {
        StdioMode::Null => Stdio::null(),
        StdioMode::Inherit => Stdio::inherit(),
        StdioMode::Piped => Stdio::piped(),
        StdioMode::File(file) => file.into(),
    })
}

fn set_env(command: &mut Command, env: EnvPolicy) {
    match env {
        EnvPolicy::Inherit { remove, set } => {
            for name in remove {
                command.env_remove(name);
            }
            command.envs(set);
        }
        EnvPolicy::Only(all) => {
            command.env_clear().envs(all.iter().map(|(name, value)| (name, value)));
        }
    }
}

/// Converts the pipe's reading end: both types wrap one pipe handle, and tokio reads pipes as a child's output.
#[cfg(unix)]
fn own_end(reader: PipeReader) -> std::process::ChildStdout {
    std::os::fd::OwnedFd::from(reader).into()
}

/// Converts the pipe's reading end: both types wrap one pipe handle, and tokio reads pipes as a child's output.
#[cfg(windows)]
fn own_end(reader: PipeReader) -> std::process::ChildStdout {
    std::os::windows::io::OwnedHandle::from(reader).into()
}
