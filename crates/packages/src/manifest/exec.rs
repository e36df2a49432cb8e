//! Resolves the `exec` of a manifest to an executable.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// The start of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LaunchPlan {
    /// A process that speaks its dialect on standard input and output.
    Process {
        /// The absolute path of the executable.
        program: PathBuf,
        /// Its arguments, verbatim.
        args: Vec<String>,
    },
    /// No process: the extension only contains files.
    ThemeOnly,
    /// No process, because its program cannot be found. The host reports it, and blocks the actions that a required
    /// extension guards.
    Impossible {
        /// The reason, and what to do.
        why: String,
    },
}

/// The reason why `exec` does not lead to a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The file does not exist.
    #[error("exec {exec:?} not found: {} does not exist; build the extension or fix `exec`", looked.display())]
    NoFile {
        /// The text in the manifest.
        exec: String,
        /// The file that was tried.
        looked: PathBuf,
    },
    /// A bare name is not in any directory of `PATH`.
    #[error(
        "exec {exec:?} not found in PATH ({looked}); install the program, or write {:?} for a file of the extension",
        format!("./{exec}")
    )]
    NotInPath {
        /// The text in the manifest.
        exec: String,
        /// The directories that were searched, joined as in `PATH`.
        looked: String,
    },
    /// The file exists but is not executable.
    #[error("exec {exec:?} is not executable; run `chmod +x {}`", looked.display())]
    NotExecutable {
        /// The text in the manifest.
        exec: String,
        /// The file.
        looked: PathBuf,
    },
}

/// Returns the executable that `exec` means for an extension in `dir`. It is absolute if `dir` is.
pub(super) fn resolve(exec: &str, dir: &Path, path: Option<&OsStr>) -> Result<PathBuf, ExecError> {
    if is_bare(exec) {
        return find_in_path(exec, path)
            .ok_or_else(|| ExecError::NotInPath { exec: exec.into(), looked: display_search_dirs(path) });
    }
    // Collecting the components removes the `.` from `dir/./run`.
    let looked: PathBuf = dir.join(exec).components().collect();
    let found = executable_candidates(&looked).into_iter().find_map(|file| {
        let metadata = std::fs::metadata(&file).ok().filter(Metadata::is_file)?;
        Some((may_run(&metadata), file))
    });
    match found {
        Some((true, file)) => Ok(file),
        Some((false, file)) => Err(ExecError::NotExecutable { exec: exec.into(), looked: file }),
        None => Err(ExecError::NoFile { exec: exec.into(), looked }),
    }
}

/// Finds a program by name in the absolute directories of `path`, the value of `PATH`. Relative directories are
/// ignored, because they would let the current directory choose the program.
pub(crate) fn find_in_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let files = search_dirs(path).flat_map(|dir| executable_candidates(&dir.join(name)));
    files.into_iter().find(|file| is_executable(file))
}

fn display_search_dirs(path: Option<&OsStr>) -> String {
    let dirs: Vec<_> = search_dirs(path).map(|dir| dir.display().to_string()).collect();
    if dirs.is_empty() { "which is empty".into() } else { dirs.join(if cfg!(windows) { ";" } else { ":" }) }
}

fn search_dirs(path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let dirs: Vec<_> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    dirs.into_iter().filter(|dir: &PathBuf| dir.is_absolute())
}

/// True if `exec` is the name of a program and not a path.
pub(super) fn is_bare(exec: &str) -> bool {
    let separator = |c| c == '/' || (cfg!(windows) && matches!(c, '\\' | ':'));
    !exec.contains(separator) && exec != "." && exec != ".."
}

#[cfg(not(windows))]
fn executable_candidates(file: &Path) -> Vec<PathBuf> {
    vec![file.into()]
}

#[cfg(windows)]
fn executable_candidates(file: &Path) -> Vec<PathBuf> {
    let endings = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".into());
    let with = |ending: &str| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let own = file.extension().is_some().then(|| file.to_path_buf());
    own.into_iter().chain(endings.split(';').filter(|ending| !ending.is_empty()).map(with)).collect()
}

fn is_executable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && may_run(&metadata))
}

/// True if a file with this metadata is executable.
#[cfg(unix)]
pub(crate) fn may_run(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(crate) fn may_run(_: &Metadata) -> bool {
    true
}
