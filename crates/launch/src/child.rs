//! `GroupChild`: a running program with everything it started.

use std::io::{self, PipeReader};
use std::process::{ExitStatus, Stdio};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::group::ProcessGroup;
use crate::program::explain;
use crate::sandbox::Sandbox;
use crate::spawn::{EnvPolicy, SpawnOptions, SpawnedProcess, StderrMode, StdioMode};
use crate::wish::TerminalRequestWatch;

/// A program in a process group (Windows: a job) of its own, or behind a [`Launcher`](crate::Launcher). Dropping it
/// kills it with everything that it started: the whole group, and behind a launcher wherever it went.
#[derive(Debug)]
#[must_use = "dropping the child kills its whole process group"]
pub struct GroupChild {
    group: ProcessGroup,
    started: SpawnedProcess,
    kill_on_drop: bool,
}

impl GroupChild {
    /// Starts a program. Must be called within a tokio runtime; blocks for a fraction of a millisecond.
    ///
    /// # Errors
    /// When the program cannot be started. The text names the program, or the directory when that is what is
    /// missing, and keeps the system's own words; the kind is the system's. When its sandbox cannot be had, the error
    /// is a [`SandboxError`](crate::sandbox::SandboxError) within. What only the launcher finds out about either is told
    /// by [`never_started`](Self::never_started).
    pub fn spawn(spec: SpawnOptions) -> io::Result<Self> {
        if !spec.program.is_absolute() {
            let text =
                format!("cannot start {}: the path of the program must be absolute", spec.program.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if let Some(sandbox) = &spec.sandbox {
            check_confinable(sandbox, spec.launcher.is_some())?;
        }
        let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
        start(spec).map_err(|error| explain(&program, Some(&cwd), &error))
    }

    /// The process id of the program, which is also the id of its group on Unix; behind a launcher that of the launcher,
    /// which is the program's parent.
    pub fn id(&self) -> u32 {
        self.started.id
    }

    /// The writing end of a piped standard input; `None` the second time.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.started.stdin.take()
    }

    /// The reading end of a piped standard output; `None` the second time.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.started.stdout.take()
    }

    /// The reading end of a piped standard error; `None` the second time.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.started.stderr.take()
    }

    /// Waits for the program itself, not for what it started; behind a launcher until all of that is gone, too. Safe to
    /// drop and to call again.
    ///
    /// # Errors
    /// When the system cannot say how the program ended.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.group.wait().await
    }

    /// Sees when the program is stopped because it, or what it started, wants the terminal of this process: it waits
    /// for ever then, so whoever has no terminal to give kills it.
    ///
    /// # Errors
    /// When the system does not tell what becomes of processes.
    pub fn watch_terminal_requests(&self) -> io::Result<TerminalRequestWatch> {
        TerminalRequestWatch::for_process(self.started.id)
    }

    /// True if a status that [`wait`](Self::wait) returned means that the launcher could not start the program. The
    /// reason is the last thing on the program's standard error.
    pub fn never_started(&self, status: ExitStatus) -> bool {
        self.group.never_started(status)
    }

    /// Asks the whole group to end: SIGTERM; on Windows, where there is no such thing, the job is killed.
    ///
    /// # Errors
    /// When the system refuses. A group that is gone already is no error.
    pub fn terminate(&mut self) -> io::Result<()> {
        self.group.terminate()
    }

    /// Kills the whole group at once: SIGKILL; on Windows the job is terminated. Works after the program has
    /// ended too, for what it left behind.
    ///
    /// Behind a launcher, the launcher is asked to kill everything below it. Whoever still waits for the end after a
    /// while kills again: the second call relies on nobody's help, and ends the launcher, too.
    ///
    /// # Errors
    /// When the system refuses. A group that is gone already is no error.
    pub fn kill(&mut self) -> io::Result<()> {
        self.group.kill()
    }

    /// Lets go of the group without killing it: what the program left running in the background lives on; behind a
    /// launcher as long as this process does.
    pub fn release(mut self) {
        self.kill_on_drop = false;
    }
}

impl Drop for GroupChild {
    fn drop(&mut self) {
        if self.kill_on_drop
            && let Err(error) = self.group.kill()
        {
            tracing::warn!(pid = self.started.id, %error, "process group could not be killed");
        }
    }
}

/// Nothing is started that could not be confined as it was asked for.
fn check_confinable(sandbox: &Sandbox, launched: bool) -> io::Result<()> {
    if !launched {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a sandbox needs a launcher"));
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
    // The command holds this process's copies of the child's ends; it must be gone before anybody reads to the end.
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

/// Both are one pipe handle; tokio reads pipes under the name of a child's output.
#[cfg(unix)]
fn own_end(reader: PipeReader) -> std::process::ChildStdout {
    std::os::fd::OwnedFd::from(reader).into()
}

/// Both are one pipe handle; tokio reads pipes under the name of a child's output.
#[cfg(windows)]
fn own_end(reader: PipeReader) -> std::process::ChildStdout {
    std::os::windows::io::OwnedHandle::from(reader).into()
}
