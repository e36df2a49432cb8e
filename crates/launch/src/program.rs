//! Lookup of a program by its bare name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, io};

/// The kind of a program behind a [`Launcher`](crate::Launcher).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ProgramKind {
    /// A program that serves this process, for example an extension. It gains no privileges, has a low limit of open
    /// files, and everything that it started ends with it.
    #[default]
    Service,
    /// A command, for example of a shell. It has the limits of this process, and, without a sandbox, may gain
    /// privileges (`sudo`). Programs that it leaves in the background continue.
    Command,
}

/// Returns the absolute path of the program that a shell would start for `name`: the first hit in `PATH`. An absolute
/// path is returned unchanged and is not looked up on disk.
///
/// # Errors
/// When `name` is a relative path with more than one component, or no program in `PATH` matches.
pub fn find_program(name: impl AsRef<OsStr>) -> io::Result<PathBuf> {
    let name = Path::new(name.as_ref());
    if name.is_absolute() {
        return Ok(name.to_owned());
    }
    if name.components().count() != 1 {
        let text = format!("{} is a relative path; give an absolute path", name.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .flat_map(|dir| candidate_paths(&dir, name))
        .find(|file| is_program(file))
        .ok_or_else(|| {
            let text = format!(
                "no program named {} in PATH; install the program or give its full path",
                name.display()
            );
            io::Error::new(io::ErrorKind::NotFound, text)
        })
}

#[cfg(unix)]
fn candidate_paths(dir: &Path, name: &Path) -> Vec<PathBuf> {
    vec![dir.join(name)]
}

#[cfg(windows)]
fn candidate_paths(dir: &Path, name: &Path) -> Vec<PathBuf> {
    let plain = dir.join(name);
    ["exe", "cmd", "bat"].iter().map(|end| plain.with_added_extension(end)).chain([plain.clone()]).collect()
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use rustix::fs::{Access, access};
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(windows)]
fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// Checks for common reasons why the system cannot start a program, before a launcher is started in vain. Reasons that
/// only the system knows, such as a wrong architecture or a file being written, are reported by the launcher.
///
/// # Errors
/// With the error number that `exec` would return.
#[cfg(unix)]
pub(crate) fn check_startable(program: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    let metadata = program.metadata()?;
    if !metadata.is_file() || !is_program(program) {
        return Err(Errno::ACCESS.into());
    }
    match first_line(program).map(|(interpreter, _)| interpreter) {
        Some(interpreter) if !interpreter.exists() => Err(Errno::NOENT.into()),
        _ => Ok(()),
    }
}

/// Returns the interpreter of a script's first line (`#!`) and the rest of that line.
#[cfg(unix)]
pub(crate) fn first_line(program: &Path) -> Option<(PathBuf, Option<String>)> {
    use std::io::Read as _;
    use std::os::unix::ffi::OsStrExt as _;
    let mut start = Vec::new();
    std::fs::File::open(program).ok()?.take(LONGEST_FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let mut words = line.splitn(2, u8::is_ascii_whitespace);
    let path = Path::new(OsStr::from_bytes(words.next()?));
    let rest = words.next().map(|rest| String::from_utf8_lossy(rest).trim().to_owned());
    path.is_absolute().then(|| (path.to_owned(), rest))
}

#[cfg(unix)]
const LONGEST_FIRST_LINE: u64 = 256;

/// Describes an error of starting a program. The system reports "not found" for a missing program, a missing
/// interpreter and a missing directory alike.
pub(crate) fn start_error(program: &Path, cwd: Option<&Path>, error: &io::Error) -> io::Error {
    let text = match cwd {
        Some(cwd) if !cwd.is_dir() => format!(
            "cannot start {}: cannot enter its working directory {}: {error}",
            program.display(),
            cwd.display()
        ),
        _ if error.kind() == io::ErrorKind::NotFound && program.exists() => {
            format!(
                "cannot start {}: the interpreter in its first line is missing: {error}",
                program.display()
            )
        }
        _ => format!("cannot start {}: {error}", program.display()),
    };
    io::Error::new(error.kind(), text)
}
