//! `Launcher`: the command of the process between a host and the program that it starts.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The command of the launcher: a program that hands its arguments to [`launcher_main`].
///
/// The launcher starts the requested program in its own session and with few rights, stays as its guardian, and ends
/// with the same status. The program's descendants end with the program, or as soon as the host is gone. This holds
/// however the two ended and wherever a process hid. On Windows a job does the same, and the launcher is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The program; an absolute path.
    pub program: PathBuf,
    /// The arguments before those of [`launcher_main`]; a subcommand, if the program has others.
    pub args: Vec<OsString>,
}

impl Launcher {
    /// Starts this same executable again with `role` as its subcommand. On Linux the path finds the executable even
    /// after an update has replaced it on disk, so host and launcher always have the same version.
    ///
    /// # Errors
    /// When the system cannot report the path of this executable.
    pub fn this_program(role: impl Into<OsString>) -> io::Result<Self> {
        let found = std::env::current_exe()?;
        let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { found };
        Ok(Self { program, args: vec![role.into()] })
    }
}

/// Runs the launcher with the arguments `--host PID -- PROGRAM ARGS…`, without the executable's name and subcommand.
/// Call this function first in `main`, before any thread, runtime or log, and exit with the returned code.
///
/// Returns after the program has ended. If a signal ended the program, the launcher ends by the same signal. If the
/// program cannot be started, the launcher writes the reason to standard error, and
/// [`GroupChild::never_started`](crate::GroupChild::never_started) returns true in the host.
///
/// Guarantees are weaker on Unix systems other than Linux: a process that leaves the program's group survives, the
/// host's end is noticed within a quarter of a second, and a killed guardian leaves the program running. On Windows no
/// program is started.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    #[cfg(unix)]
    return crate::guardian::run(args.into_iter());
    #[cfg(not(unix))]
    {
        drop(args);
        ExitCode::FAILURE
    }
}
