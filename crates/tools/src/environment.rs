//! `Environment`: the ground the tools stand on.

mod host;
mod off_thread;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use haft_core::truncate::MAX_BYTES;
use tokio_util::sync::CancellationToken;

pub use host::{FileAccessRules, HostEnvironment};
pub(crate) use off_thread::{run_blocking, run_blocking_if_large};

/// Files and processes, wherever they are: this machine, a sandbox, another machine.
///
/// Paths given to it are absolute. No method blocks the calling thread. A method that takes a cancellation gives up
/// soon after it with [`EnvironmentError::Cancelled`], except [`Environment::run`], which reports what it has.
#[async_trait]
pub trait Environment: Send + Sync {
    /// The directory that relative paths start at and commands run in; absolute.
    fn cwd(&self) -> &Path;

    /// Returns the directory that `~` means.
    fn home(&self) -> Option<&Path>;

    /// Looks at a path, symbolic links followed.
    ///
    /// # Errors
    /// When there is nothing, or it may not be seen.
    async fn stat(&self, path: &Path) -> Result<FileStat, EnvironmentError>;

    /// Up to `len` bytes of a regular file from byte `start` on; fewer only at its end.
    ///
    /// # Errors
    /// When it is not a regular file, or cannot be read.
    async fn read(&self, path: &Path, start: u64, len: usize) -> Result<Vec<u8>, EnvironmentError>;

    /// Lists a directory, in no order.
    ///
    /// # Errors
    /// When it is not a directory, or cannot be read.
    async fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, EnvironmentError>;

    /// Waits until nobody else changes the file, and keeps everybody else waiting until the result is dropped. Who
    /// polls first comes first. The file need not exist; its directory must, or is created.
    ///
    /// # Errors
    /// When the path cannot be resolved, or a directory not created.
    async fn claim(
        &self,
        path: &Path,
        parents: ParentPolicy,
    ) -> Result<Box<dyn ClaimedFile>, EnvironmentError>;

    /// Finds files by name.
    ///
    /// # Errors
    /// When the glob is not valid, or the call was cancelled.
    async fn find(&self, cancel: &CancellationToken, query: FindQuery) -> Result<FindHits, EnvironmentError>;

    /// Finds lines in files.
    ///
    /// # Errors
    /// When the pattern or the glob is not valid, or the call was cancelled.
    async fn grep(&self, cancel: &CancellationToken, query: GrepQuery) -> Result<GrepHits, EnvironmentError>;

    /// Runs a shell command with no input; both outputs come as one stream. Pieces go to `progress` as they
    /// come. When it returns because of cancellation or timeout, every process of the command has been killed.
    ///
    /// # Errors
    /// When the command cannot be started.
    async fn run(
        &self,
        cancel: &CancellationToken,
        command: ShellCommand,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<RunReport, EnvironmentError>;
}

/// A file that nobody else changes meanwhile.
#[async_trait]
pub trait ClaimedFile: Send {
    /// Returns the present key of the file.
    ///
    /// # Errors
    /// When that cannot be found out.
    async fn key(&mut self) -> Result<FileKey, EnvironmentError>;

    /// The whole content, or `None` when there is no such file.
    ///
    /// # Errors
    /// When it is not a regular file, is longer than `limit` bytes, or cannot be read.
    async fn read(&mut self, limit: u64) -> Result<Option<Vec<u8>>, EnvironmentError>;

    /// Puts new content in the place of what was read: whoever looks sees the old content or the new, never a
    /// mixture, unless the result says [`FileWriteOutcome::InPlace`]. Permissions stay. Goes on to its end even if the future
    /// is dropped.
    ///
    /// # Errors
    /// When it is not a regular file, has changed since it was read, or cannot be written; then the old content is
    /// still there.
    async fn replace(&mut self, content: Vec<u8>) -> Result<FileWriteOutcome, EnvironmentError>;
}

/// The way in which content got into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileWriteOutcome {
    /// There was no such file.
    Created,
    /// A new file took the old one's place.
    Replaced,
    /// The file itself was overwritten, because no other could take its place.
    InPlace(InPlaceReason),
}

/// Why no other file could take a file's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlaceReason {
    /// It has other names, which would keep the old content.
    HardLinks,
    /// It has an owner that a new file cannot be given.
    Owner,
    /// It has extended attributes that a new file cannot be given.
    Attributes,
    /// No file can be created in its directory.
    Directory,
    /// It is a mount point.
    MountPoint,
}

/// The key of a file, whatever name it was reached by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileKey {
    /// Its path, symbolic links resolved.
    pub path: PathBuf,
    /// Numbers that no other file has, where the ground knows such: device and inode.
    pub id: Option<(u64, u64)>,
}

/// The treatment of missing directories above a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParentPolicy {
    /// There must be none.
    Exist,
    /// They are created.
    Create,
}

/// The facts about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStat {
    /// Its kind, symbolic links followed.
    pub kind: FileKind,
    /// Its length in bytes.
    pub len: u64,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. Only in listings.
    Link,
    /// A pipe, a socket, a device.
    Other,
}

/// Something in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name; what is not UTF-8 in it is replaced.
    pub name: String,
    /// Its kind.
    pub kind: FileKind,
    /// Where a symbolic link points.
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

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunReport {
    /// The end of the command.
    pub end: RunEnd,
    /// The end of its output, within core's limits; what is not UTF-8 in it is replaced.
    pub tail: String,
    /// Lines of output in all.
    pub lines: u64,
    /// Bytes of output in all.
    pub bytes: u64,
    /// True if the tail is not all of it.
    pub cut: bool,
    /// Where the output is, when the tail is not all of it and it could be kept.
    pub full: Option<FullOutput>,
    /// True if a process in the background still held the output when it was no longer read.
    pub background: bool,
}

impl RunReport {
    /// Returns notes about the output beside its end, a sentence each: what is left out and where all of it is, and
    /// that something in the background goes on.
    pub fn notes(&self) -> Vec<String> {
        let background = self.background.then(|| {
            "a process in the background still holds the output, which is no longer read; start it with >log 2>&1"
                .to_owned()
        });
        self.omission_note().into_iter().chain(background).collect()
    }

    fn omission_note(&self) -> Option<String> {
        if !self.cut {
            return None;
        }
        let rest = match &self.full {
            Some(full) if full.bytes < self.bytes => {
                format!("the first {} bytes are in {}", full.bytes, full.path.display())
            }
            Some(full) => format!("all of it is in {}", full.path.display()),
            None => "the rest could not be kept".to_owned(),
        };
        let shown = self.tail.lines().count() as u64;
        Some(if shown < self.lines {
            format!("showing the last {shown} of {} lines; {rest}", self.lines)
        } else {
            format!("showing the last {} KB of {} bytes; {rest}", MAX_BYTES / 1024, self.bytes)
        })
    }
}

/// Output that is too long for a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullOutput {
    /// A file that the environment can read.
    pub path: PathBuf,
    /// Bytes in it; fewer than were written when there were too many to keep.
    pub bytes: u64,
}

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// It was out of time and killed.
    TimedOut,
    /// It was cancelled and killed.
    Cancelled,
    /// It wanted the terminal of this process, did not get it, and was killed.
    WantedTerminal,
}

/// Why an environment did not do what it was asked. The texts are for the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The action that failed, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// The environment refused, and says what to do instead.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// On what.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something lies outside of what may be reached.
    #[error("{}: {reason}", path.display())]
    Outside {
        /// What.
        path: PathBuf,
        /// Of what it is outside.
        reason: String,
    },
    /// Somebody else has changed a file since it was read.
    #[error("{}: has changed since it was read; read it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A pattern or glob cannot be read.
    #[error("{what} is not valid: {detail}")]
    Query {
        /// Which of the two.
        what: &'static str,
        /// Where and why.
        detail: String,
    },
    /// A command could not be started.
    #[error("{0}")]
    Start(io::Error),
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl EnvironmentError {
    /// A refusal by the system.
    pub fn io(action: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), error }
    }

    /// A refusal, because somebody else has changed a file since it was read.
    pub fn changed(path: &Path) -> Self {
        Self::Changed { path: path.to_owned() }
    }

    /// A refusal, because something lies outside of what may be reached.
    pub fn outside(path: &Path, reason: impl Into<String>) -> Self {
        Self::Outside { path: path.to_owned(), reason: reason.into() }
    }

    /// A refusal by the environment.
    pub fn refused(path: &Path, reason: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), reason: reason.into() }
    }
}

/// Files to find by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindQuery {
    /// The directory to look in; absolute.
    pub root: PathBuf,
    /// A glob. Without a slash it is held against names, with one against paths below `root`.
    pub glob: String,
    /// The most hits.
    pub limit: usize,
}

/// Files that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindHits {
    /// In the order of their paths.
    pub hits: Vec<FindHit>,
    /// True if there are more.
    pub capped: bool,
    /// Directories that could not be read.
    pub unreadable: usize,
}

/// One file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindHit {
    /// Below the root.
    pub path: PathBuf,
    /// True if it is a directory.
    pub is_dir: bool,
}

/// Lines to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepQuery {
    /// A directory or one file; absolute.
    pub root: PathBuf,
    /// A regular expression, or plain text.
    pub pattern: String,
    /// True if `pattern` is plain text.
    pub literal: bool,
    /// True if upper and lower case are the same.
    pub ignore_case: bool,
    /// Only files that this glob fits, by the rule of [`FindQuery::glob`].
    pub glob: Option<String>,
    /// Lines to show before and after each match.
    pub context: usize,
    /// The most matches.
    pub limit: usize,
}

/// Lines that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrepHits {
    /// In the order of paths and line numbers.
    pub lines: Vec<GrepLine>,
    /// Matches among them.
    pub matches: usize,
    /// True if there are more.
    pub capped: bool,
    /// Binary files that were passed over: those with a NUL byte in what was read of them.
    pub binary: usize,
    /// Files and directories that could not be read.
    pub unreadable: usize,
}

/// One line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// The file; absolute.
    pub path: PathBuf,
    /// Counted from 1.
    pub number: u64,
    /// The line.
    pub text: GrepText,
}

/// A line with its part in the result, line ends left out; what is not UTF-8 in it is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrepText {
    /// A match.
    Match(String),
    /// A neighbour of one.
    Context(String),
}
