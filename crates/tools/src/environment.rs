//! `Environment`: the files and processes that the tools use.

mod blocking;
mod host;

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use haft_core::truncate::MAX_BYTES;
use tokio_util::sync::CancellationToken;

pub(crate) use blocking::{run_blocking, run_blocking_if_large};
pub(crate) use host::has_protected_name;
pub use host::{FileAccessRules, HostEnvironment, ToolSandbox, ToolSandboxGap, walk_tree};

/// Files and processes on this machine, in a sandbox, or on another machine.
///
/// All paths are absolute. No method blocks the calling thread. A method that takes a cancellation token returns
/// [`EnvironmentError::Cancelled`] soon after it is cancelled, except [`Environment::run`], which returns a report.
#[async_trait]
pub trait Environment: Send + Sync {
    /// Returns the absolute directory of commands and relative paths.
    fn cwd(&self) -> &Path;

    /// Returns the directory that `~` means.
    fn home(&self) -> Option<&Path>;

    /// Returns the metadata of a path, following symbolic links.
    ///
    /// # Errors
    /// If the path does not exist, or is not accessible.
    async fn stat(&self, path: &Path) -> Result<FileStat, EnvironmentError>;

    /// Reads up to `len` bytes of a regular file from byte `start` on; fewer only at its end.
    ///
    /// # Errors
    /// If the path is not a regular file, or cannot be read.
    async fn read(&self, path: &Path, start: u64, len: usize) -> Result<Vec<u8>, EnvironmentError>;

    /// Lists a directory, in no particular order.
    ///
    /// # Errors
    /// If the path is not a directory, or cannot be read.
    async fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, EnvironmentError>;

    /// Claims a file: waits until no other caller has it, and makes other callers wait until the result is dropped.
    /// Callers get it in the order of their first poll. The file need not exist; its directory must exist, or is
    /// created.
    ///
    /// # Errors
    /// If the path cannot be resolved, or a directory cannot be created.
    async fn claim(
        &self,
        path: &Path,
        parents: ParentPolicy,
    ) -> Result<Box<dyn ClaimedFile>, EnvironmentError>;

    /// Finds files by name.
    ///
    /// # Errors
    /// If the glob is not valid, or the call was cancelled.
    async fn find(&self, cancel: &CancellationToken, query: FindQuery) -> Result<FindHits, EnvironmentError>;

    /// Finds lines in files.
    ///
    /// # Errors
    /// If the pattern or the glob is not valid, or the call was cancelled.
    async fn grep(&self, cancel: &CancellationToken, query: GrepQuery) -> Result<GrepHits, EnvironmentError>;

    /// Runs a shell command without input. Both outputs are one stream, whose pieces go to `progress` as they arrive.
    /// After a cancellation or timeout, every process of the command has been killed.
    ///
    /// # Errors
    /// If the command cannot be started.
    async fn run(
        &self,
        cancel: &CancellationToken,
        command: ShellCommand,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<RunReport, EnvironmentError>;

    /// Checks whether a path, which may be missing, can be used without an approval. The default permits all paths.
    ///
    /// # Errors
    /// The reason why an approval is needed.
    async fn check_access(&self, _path: &Path, _access: AccessKind) -> Result<(), EnvironmentError> {
        Ok(())
    }

    /// Finds the place that a path means: resolves its links as far as it exists, then `..`. The default is for
    /// environments without links.
    ///
    /// # Errors
    /// If the call was cancelled.
    async fn resolve(&self, path: &Path) -> Result<ResolvedPlace, EnvironmentError> {
        let path = remove_dots(path);
        let exists = self.stat(&path).await.is_ok();
        Ok(ResolvedPlace { path, exists, has_broken_link: false })
    }

    /// Returns the sandbox of commands and file tools, if there is one.
    fn sandbox(&self) -> Option<&ToolSandbox> {
        None
    }

    /// Returns the reason why each command needs an approval; `None` if commands may run in the sandbox, or without
    /// one.
    fn needs_approval_to_run(&self) -> Option<String> {
        None
    }

    /// Returns this environment without its sandbox, for calls that a person approved; `None` if there is no sandbox.
    fn without_sandbox(&self) -> Option<Arc<dyn Environment>> {
        None
    }
}

/// Resolves the links of a path if it exists.
pub(crate) fn resolve_existing(path: &Path) -> PathBuf {
    // One call; resolving a missing path reads each directory above for a link.
    match path.symlink_metadata() {
        Ok(_) => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        Err(_) => path.to_owned(),
    }
}

/// Removes `.` and `..` components; a `..` removes the component before it.
pub(crate) fn remove_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}

/// The place that a path means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPlace {
    /// The absolute path, without links and `..`.
    pub path: PathBuf,
    /// True if the place exists.
    pub exists: bool,
    /// True if the path contains a link that leads nowhere, which no tool follows.
    pub has_broken_link: bool,
}

/// The way in which a tool uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// It reads the file, or lists or searches the directory.
    Read,
    /// It creates or changes the file.
    Write,
}

/// A claimed file, which no other caller changes.
#[async_trait]
pub trait ClaimedFile: Send {
    /// Returns the path of the file, symbolic links resolved.
    fn path(&self) -> &Path;

    /// Returns the present key of the file.
    ///
    /// # Errors
    /// If the key cannot be determined.
    async fn key(&mut self) -> Result<FileKey, EnvironmentError>;

    /// Returns the whole content, or `None` if the file does not exist.
    ///
    /// # Errors
    /// If the path is not a regular file, the file is longer than `limit` bytes, or it cannot be read.
    async fn read(&mut self, limit: u64) -> Result<Option<Vec<u8>>, EnvironmentError>;

    /// Replaces the content that was read. Readers see either the old content or the new, unless the result is
    /// [`FileWriteOutcome::InPlace`]. Permissions are kept. The write completes even if the future is dropped.
    ///
    /// # Errors
    /// If the path is not a regular file, the file has changed since it was read, or it cannot be written; then it
    /// keeps the old content.
    async fn replace(&mut self, content: Vec<u8>) -> Result<FileWriteOutcome, EnvironmentError>;
}

/// The way in which a file was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileWriteOutcome {
    /// The file did not exist.
    Created,
    /// A new file replaced the old one.
    Replaced,
    /// The file itself was overwritten, because a new file could not replace it.
    InPlace(InPlaceReason),
}

/// The reason why a new file could not replace the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlaceReason {
    /// It has hard links, which would keep the old content.
    HardLinks,
    /// It has an owner that a new file cannot get.
    Owner,
    /// It has extended attributes that a new file cannot get.
    Attributes,
    /// No file can be created in its directory.
    Directory,
    /// It is a mount point.
    MountPoint,
}

/// The identity of a file, independent of the name that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileKey {
    /// Its path, symbolic links resolved.
    pub path: PathBuf,
    /// Unique numbers of the file, if the environment has them: device and inode.
    pub id: Option<(u64, u64)>,
}

/// The treatment of missing parent directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentPolicy {
    /// All parent directories must exist.
    Exist,
    /// Missing parent directories are created.
    Create,
}

/// The metadata of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// The kind of the file, after following symbolic links.
    pub kind: FileKind,
    /// The length in bytes.
    pub len: u64,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Occurs only in listings.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name, with invalid UTF-8 replaced.
    pub name: String,
    /// The kind of the file.
    pub kind: FileKind,
    /// The target of a symbolic link.
    pub target: Option<PathBuf>,
}

/// A command for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// The text for the shell.
    pub command: String,
    /// The time limit.
    pub timeout: Duration,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The end of the command.
    pub end: RunEnd,
    /// The end of its output, within core's limits, with invalid UTF-8 replaced.
    pub tail: String,
    /// The total number of output lines.
    pub lines: u64,
    /// The total number of output bytes.
    pub bytes: u64,
    /// True if `tail` is not the complete output.
    pub cut: bool,
    /// The complete output, if `tail` is only a part and the output could be stored.
    pub full: Option<FullOutput>,
    /// True if a background process still held the output when reading stopped.
    pub background: bool,
    /// New paths from which programs outside of the sandbox run code.
    pub created: Vec<PathBuf>,
    /// New paths that were removed, because they would have made git run code.
    pub removed: Vec<PathBuf>,
}

impl RunReport {
    /// Returns notes, one sentence each: the omitted part and the file with the complete output, background processes
    /// that still write, and new paths that can make code run.
    pub fn notes(&self) -> Vec<String> {
        let background = self.background.then(|| {
            "a background process still writes to the output, which is no longer read; start it with >log 2>&1"
                .to_owned()
        });
        self.omission_note().into_iter().chain(background).chain(self.appeared_notes()).collect()
    }

    fn appeared_notes(&self) -> impl Iterator<Item = String> {
        let list = |paths: &[PathBuf]| {
            let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let created = list(&self.created).map(|names| {
            format!("new: {names}; programs outside of the sandbox can run code from there, so check it")
        });
        let removed =
            list(&self.removed).map(|names| format!("removed {names}: git would run code that it names"));
        created.into_iter().chain(removed)
    }

    fn omission_note(&self) -> Option<String> {
        if !self.cut {
            return None;
        }
        let rest = match &self.full {
            Some(full) if full.bytes < self.bytes => {
                format!("the first {} bytes are in {}", full.bytes, full.path.display())
            }
            Some(full) => format!("complete output: {}", full.path.display()),
            None => "the rest was lost".to_owned(),
        };
        let shown = self.tail.lines().count() as u64;
        Some(if shown < self.lines {
            format!("showing the last {shown} of {} lines; {rest}", self.lines)
        } else {
            format!("showing the last {} KB of {} bytes; {rest}", MAX_BYTES / 1024, self.bytes)
        })
    }
}

/// The file with output that is too long for a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullOutput {
    /// The path of the file, which the environment can read.
    pub path: PathBuf,
    /// The number of bytes in the file; fewer than the output if that exceeded the limit.
    pub bytes: u64,
}

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The command exited with this code.
    Exited(i32),
    /// The command was killed by this signal.
    Signaled(i32),
    /// The command exceeded its time limit and was killed.
    TimedOut,
    /// The call was cancelled and the command killed.
    Cancelled,
    /// The command needed the terminal of this process, did not get it, and was killed.
    WantedTerminal,
}

/// The reason why an environment failed. The texts are for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The operating system returned an error.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The action that failed, as a verb.
        action: &'static str,
        /// The path that it failed on.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The environment rejected the request; the reason says what to do instead.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The path is outside of the accessible files.
    #[error("{}: {reason}", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
        /// The boundary that it is outside of.
        reason: String,
    },
    /// Another program has changed the file since it was read.
    #[error("{}: has changed since it was read; read it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A pattern or glob is not valid.
    #[error("{what} is not valid: {detail}")]
    Query {
        /// The argument: the pattern or the glob.
        what: &'static str,
        /// The problem and its position.
        detail: String,
    },
    /// The command could not be started.
    #[error("{0}")]
    Start(io::Error),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl EnvironmentError {
    /// Creates an error of the operating system.
    pub fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), error }
    }

    /// Creates the error for a file that another program has changed since it was read.
    pub fn changed(path: &Path) -> Self {
        Self::Changed { path: path.to_owned() }
    }

    /// Creates the error for a path outside of the accessible files.
    pub fn outside(path: &Path, reason: impl Into<String>) -> Self {
        Self::Outside { path: path.to_owned(), reason: reason.into() }
    }

    /// Creates the error for a request that the environment rejects.
    pub fn refused(path: &Path, reason: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.into() }
    }
}

/// A search for files by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindQuery {
    /// The absolute path of the directory to search.
    pub root: PathBuf,
    /// A glob. Without a slash it is matched against names, with a slash against paths below `root`.
    pub glob: String,
    /// The maximum number of results.
    pub limit: usize,
}

/// The files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindHits {
    /// The results in the order of their paths.
    pub hits: Vec<FindHit>,
    /// True if there are more results.
    pub capped: bool,
    /// The number of directories that could not be read.
    pub unreadable: usize,
}

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindHit {
    /// The path below the root.
    pub path: PathBuf,
    /// True if it is a directory.
    pub is_dir: bool,
}

/// A search for lines in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepQuery {
    /// The absolute path of a directory or a file.
    pub root: PathBuf,
    /// A regular expression, or plain text.
    pub pattern: String,
    /// True if `pattern` is plain text.
    pub literal: bool,
    /// True to ignore case.
    pub ignore_case: bool,
    /// A glob for the files to search, with the rules of [`FindQuery::glob`].
    pub glob: Option<String>,
    /// The number of lines to show before and after each match.
    pub context: usize,
    /// The maximum number of matches.
    pub limit: usize,
}

/// The lines that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepHits {
    /// The lines in the order of paths and line numbers.
    pub lines: Vec<GrepLine>,
    /// The number of matching lines.
    pub matches: usize,
    /// True if there are more matches.
    pub capped: bool,
    /// The number of skipped binary files: those with a NUL byte in the part that was read.
    pub binary: usize,
    /// The number of files and directories that could not be read.
    pub unreadable: usize,
}

/// A line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The line number, counted from 1.
    pub number: u64,
    /// The line.
    pub text: GrepText,
}

/// A line and its role in the result, without its line break and with invalid UTF-8 replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrepText {
    /// A matching line.
    Match(String),
    /// A line near a match.
    Context(String),
}
