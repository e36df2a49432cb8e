//! `Launcher`: the program between a host and what it starts.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command of the launcher: a program that hands its arguments to [`launcher_main`].
///
/// The launcher starts the program it is asked to start with what a foreign program should have (a session and few
/// rights), stays as its guardian, and ends as it ended. What the program started ends with it, or as soon as the host is
/// gone, however either of them ended and wherever a process hid. On Windows a job does the same, and the launcher is
/// not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program, absolute.
    pub program: PathBuf,
    /// The words before the arguments of [`launcher_main`]; a role, if the program has others.
    pub args: Vec<OsString>,
}

impl Launcher {
    /// This very program, started again in another role. On Linux it is named in a way that finds it even when an
    /// update has replaced it on disk, so that host and launcher are always of one version.
    ///
    /// # Errors
    /// When the system cannot say where this program is.
    pub fn this_program(role: impl Into<OsString>) -> io::Result<Self> {
        let found = std::env::current_exe()?;
        let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { found };
        Ok(Self { program, args: vec![role.into()] })
    }
}

/// The launcher: `--host PID -- PROGRAM ARGS…`, without the name of this program and without its role. Call it first
/// thing in `main`, before any thread, runtime or log, and end with what it returns.
///
/// It does not come back as long as the program runs. A program that was ended by a signal makes it end by the same
/// signal. When the program cannot be started, the reason is written to standard error, and the host's
/// [`GroupChild::never_started`](crate::GroupChild::never_started) says so.
///
/// What is weaker where there is no Linux: a process that leaves the program's group survives, the host's end is
/// noticed within a quarter of a second, and a guardian that is killed leaves the program running. On Windows nothing is
/// started at all.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    #[cfg(unix)]
    return crate::guardian::run(args.into_iter());
    #[cfg(not(unix))]
    {
        drop(args);
        ExitCode::FAILURE
    }
}
