//! `Launcher`: the command of the process between a host and the program that it starts.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::io::Read as _;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd as _;
#[cfg(target_os = "linux")]
use std::os::unix::fs::PermissionsExt as _;
#[cfg(target_os = "linux")]
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

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

    /// Starts the small program `haft-launcher` in the directory of this executable, which takes 0.8 ms less than a
    /// large program of 30,000 relocations. If it is missing or contains another version of this crate, starts this
    /// same executable, as [`this_program`](Self::this_program) does.
    ///
    /// # Errors
    /// When the system cannot report the path of this executable.
    pub fn beside_this_program(role: impl Into<OsString>) -> io::Result<Self> {
        match small_program() {
            Some(program) => Ok(Self { program, args: Vec::new() }),
            None => Self::this_program(role),
        }
    }
}

/// The name of the small program.
#[cfg(target_os = "linux")]
const SMALL_PROGRAM: &str = "haft-launcher";

/// Identifies the code of this crate in a program file: the error for invalid arguments contains it.
#[cfg(target_os = "linux")]
const BUILD_MARK: &str = concat!("haft-launcher ", env!("CARGO_PKG_VERSION"), " ", env!("HAFT_LAUNCH_BUILD"));

/// The maximum size of the small program in bytes; a release build has less than 1 MiB, a debug build ten.
#[cfg(target_os = "linux")]
const MAX_SMALL_PROGRAM: usize = 32 * 1024 * 1024;

/// Returns the path of the small program. The file stays open, and the path leads to it even after an update has
/// replaced it on disk.
#[cfg(target_os = "linux")]
fn small_program() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<File>> = OnceLock::new();
    let found = FOUND.get_or_init(|| open_small_program(&std::env::current_exe().ok()?));
    found.as_ref().map(|file| format!("/proc/self/fd/{}", file.as_raw_fd()).into())
}

/// Opens the small program beside an executable, if it is of the same build as this code.
#[cfg(target_os = "linux")]
fn open_small_program(executable: &Path) -> Option<File> {
    let path = executable.with_file_name(SMALL_PROGRAM);
    // Opening anything else could block.
    path.metadata().ok().filter(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)?;
    let mut file = File::open(path).ok()?;
    // A buffer for the whole file would cost more, in page faults, than reading it.
    let mut buffer = vec![0; 32 * 1024];
    let (mut kept, mut total) = (0, 0);
    while total < MAX_SMALL_PROGRAM {
        let read = file.read(buffer.get_mut(kept..)?).ok().filter(|read| *read > 0)?;
        let end = kept + read;
        if memchr::memmem::find(buffer.get(..end)?, BUILD_MARK.as_bytes()).is_some() {
            return Some(file);
        }
        // The mark may begin in this piece and end in the next one.
        let start = end.saturating_sub(BUILD_MARK.len());
        buffer.copy_within(start..end, 0);
        (kept, total) = (end - start, total + read);
    }
    None
}

/// Returns nothing: an open file cannot be executed by its descriptor on this system.
#[cfg(not(target_os = "linux"))]
fn small_program() -> Option<PathBuf> {
    None
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn small_program_of_another_build_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let (haft, small) = (dir.path().join("haft"), dir.path().join(SMALL_PROGRAM));
        assert!(open_small_program(&haft).is_none(), "there is none");
        std::fs::copy(haft_test_support::launcher_path(), &small).unwrap();
        assert!(open_small_program(&haft).is_some());
        let mut other = std::fs::read(&small).unwrap();
        let at = memchr::memmem::find(&other, BUILD_MARK.as_bytes()).unwrap();
        other[at + BUILD_MARK.len() - 1] ^= 1;
        std::fs::write(&small, other).unwrap();
        assert!(open_small_program(&haft).is_none());
        std::fs::copy(haft_test_support::launcher_path(), &small).unwrap();
        std::fs::set_permissions(&small, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(open_small_program(&haft).is_none(), "it cannot be executed");
    }
}
