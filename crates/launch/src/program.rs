//! Finding a program by its bare name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, io};

/// The absolute path of the program that a shell would start for `name`: the first hit in this process's `PATH`.
/// A name that is an absolute path already is returned as it is, without a look at the disk.
///
/// # Errors
/// When `name` is a relative path with more than one part, or nothing in `PATH` fits.
pub fn find_program(name: impl AsRef<OsStr>) -> io::Result<PathBuf> {
    let name = Path::new(name.as_ref());
    if name.is_absolute() {
        return Ok(name.to_owned());
    }
    if name.components().count() != 1 {
        let text = format!("{} is a relative path; make it absolute first", name.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .flat_map(|dir| candidates(&dir, name))
        .find(|file| is_program(file))
        .ok_or_else(|| {
            let text =
                format!("no program named {} in PATH; install it or give its full path", name.display());
            io::Error::new(io::ErrorKind::NotFound, text)
        })
}

#[cfg(unix)]
fn candidates(dir: &Path, name: &Path) -> Vec<PathBuf> {
    vec![dir.join(name)]
}

#[cfg(windows)]
fn candidates(dir: &Path, name: &Path) -> Vec<PathBuf> {
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

/// Looks for what would keep the system from starting a program, before a launcher is started in vain. What only the
/// system knows (a wrong architecture, a file that is being written) the launcher reports.
///
/// # Errors
/// With the number that `exec` would give.
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

/// The interpreter that the first line names, and the rest of that line, if it names one and can be read.
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

/// The system says "not found" for a missing program, a missing interpreter and a missing directory alike.
pub(crate) fn explain(program: &Path, cwd: Option<&Path>, error: &io::Error) -> io::Error {
    let text = match cwd {
        Some(cwd) if !cwd.is_dir() => format!(
            "cannot start {}: its directory {} cannot be entered: {error}",
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
