//! `HostEnvironment`: the files and processes of this machine.

mod atomic;
mod claim;
mod collector;
mod files;
mod kind;
mod private;
mod search;
mod shell;

pub use search::walk_tree;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use atomic::{PathBoundary, SharedWriteState};
use collector::ScratchDir;
use haft_core::file_queue::FileQueue;
use haft_launch::EnvPolicy;
use tokio_util::sync::CancellationToken;

use super::{
    ClaimedFile, DirectoryEntry, Environment, EnvironmentError, FileStat, FindHits, FindQuery, GrepHits,
    GrepQuery, ParentPolicy, RunReport, ShellCommand,
};
use crate::environment::run_blocking;

/// The files of this machine, and a shell in a process group of its own for each command.
#[derive(Debug, Clone)]
pub struct HostEnvironment {
    cwd: PathBuf,
    home: Option<PathBuf>,
    queue: FileQueue,
    /// Variables that commands do not inherit.
    withheld: Vec<OsString>,
    scratch: ScratchDir,
    disk: Arc<SharedWriteState>,
    /// The files that may be read, or `None` for all.
    reads: Option<Arc<PathBoundary>>,
    /// The files that may be written, or `None` for all.
    root: Option<Arc<PathBoundary>>,
}

impl HostEnvironment {
    /// Creates an environment with the working directory `cwd`, which is made absolute. Commands inherit this
    /// process's environment, changed so that no program waits for a person at the terminal: no pager, no password
    /// prompt of git.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            cwd: std::path::absolute(&cwd).unwrap_or(cwd),
            home: std::env::home_dir(),
            queue: FileQueue::default(),
            withheld: Vec::new(),
            scratch: ScratchDir::Own(private::private_temp_dir("results")),
            disk: Arc::new(SharedWriteState::new(private::private_temp_dir("in-place"))),
            reads: None,
            root: None,
        }
    }

    /// Shares a queue of changes with other users of the same files.
    #[must_use]
    pub fn with_queue(mut self, queue: FileQueue) -> Self {
        self.queue = queue;
        self
    }

    /// Withholds variables from commands, which inherit all others.
    #[must_use]
    pub fn without_variables<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.withheld.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets the directory that `~` means.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Sets the directory for output that is too long for a result. The caller must clean it regularly, for example
    /// with [`clear_results`](crate::clear_results). The default is a private directory in the system's temporary
    /// directory, where files older than a week are removed whenever a file is added.
    #[must_use]
    pub fn with_scratch(mut self, scratch: impl Into<PathBuf>) -> Self {
        self.scratch = ScratchDir::Given(scratch.into());
        self
    }

    /// Sets the directory for backups of files that are overwritten in place. Only the user may write there.
    /// Leftovers of a crash are looked for there, so it should be the same for every run. The default is a private
    /// directory in the system's temporary directory.
    #[must_use]
    pub fn with_backup_dir(mut self, state: impl Into<PathBuf>) -> Self {
        self.disk = Arc::new(SharedWriteState::new(state.into()));
        self
    }

    /// Restricts changes to a directory, which is opened here. No file or directory outside of it is created,
    /// replaced or overwritten, whatever links lead there, even if a directory is replaced by a link at the same
    /// time. An interrupted write outside of it is not undone, either. A file with hard links is not overwritten,
    /// because one of them may be outside. Reading and commands are not restricted: a caller that needs that must not
    /// use [`Environment::run`].
    ///
    /// # Errors
    /// If the directory cannot be opened, and on systems other than Unix.
    pub fn with_root(mut self, root: impl AsRef<Path>) -> io::Result<Self> {
        self.root = Some(Arc::new(PathBoundary::open(root.as_ref())?));
        // Cleanup that was done for another root does not count for this one.
        self.disk = Arc::new(self.disk.new_for_same_dir());
        Ok(self)
    }

    /// Restricts reading and changes, as [`with_root`](Self::with_root) does for changes. A path is first resolved
    /// with its links and then opened without following any. Listing and searching are rejected. Commands are not
    /// restricted. This environment and its clones may read the stored output of their own commands, for the last 256
    /// of them.
    ///
    /// # Errors
    /// On systems other than Unix.
    pub fn with_access_rules(mut self, reach: &FileAccessRules) -> io::Result<Self> {
        let FileAccessRules { read, write, own, never } = reach;
        let reads: Option<Vec<PathBuf>> =
            read.as_ref().zip(write.as_ref()).map(|(read, write)| [read.as_slice(), write].concat());
        self.reads = Some(Arc::new(PathBoundary::from_rules(reads.as_deref(), own, never, "read")?));
        self.root = Some(Arc::new(PathBoundary::from_rules(write.as_deref(), own, never, "written")?));
        self.disk = Arc::new(self.disk.new_for_same_dir());
        Ok(self)
    }

    fn env_policy(&self) -> EnvPolicy {
        let set = UNATTENDED.map(|(name, value)| (name.into(), value.into()));
        EnvPolicy::Inherit { remove: self.withheld.clone(), set: set.into() }
    }

    /// Rejects listing and searching if reading is restricted.
    fn check_search_allowed(&self, path: &Path) -> Result<(), EnvironmentError> {
        match &self.reads {
            None => Ok(()),
            Some(_) => Err(EnvironmentError::outside(
                path,
                "cannot be listed or searched with restricted file access",
            )),
        }
    }
}

/// The files that may be read and changed. A directory includes its content. A missing path is not accessible.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileAccessRules {
    /// Paths to read, besides those to change; `None` for all, unless `write` is set as well.
    pub read: Option<Vec<PathBuf>>,
    /// Paths to read and change; `None` for all.
    pub write: Option<Vec<PathBuf>>,
    /// Paths to read and change, even within `never`.
    pub own: Vec<PathBuf>,
    /// Paths that are never accessible, even within the other paths.
    pub never: Vec<PathBuf>,
}

#[async_trait]
impl Environment for HostEnvironment {
    fn cwd(&self) -> &Path {
        &self.cwd
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    async fn stat(&self, path: &Path) -> Result<FileStat, EnvironmentError> {
        let (reads, path) = (self.reads.clone(), path.to_owned());
        run_blocking(move || files::stat(reads.as_deref(), &path)).await
    }

    async fn read(&self, path: &Path, start: u64, len: usize) -> Result<Vec<u8>, EnvironmentError> {
        let (reads, path) = (self.reads.clone(), path.to_owned());
        run_blocking(move || files::read(reads.as_deref(), &path, start, len)).await
    }

    async fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, EnvironmentError> {
        self.check_search_allowed(path)?;
        let path = path.to_owned();
        run_blocking(move || files::list(&path)).await
    }

    async fn claim(
        &self,
        path: &Path,
        parents: ParentPolicy,
    ) -> Result<Box<dyn ClaimedFile>, EnvironmentError> {
        // The ticket is taken before any wait, so that callers are served in order.
        let place = self.queue.take_ticket();
        if parents == ParentPolicy::Create {
            let (root, path) = (self.root.clone(), path.to_owned());
            run_blocking(move || atomic::create_parents(root.as_deref(), &path)).await?;
        }
        let ground = claim::WriteContext {
            disk: Arc::clone(&self.disk),
            reads: self.reads.clone(),
            root: self.root.clone(),
        };
        Ok(Box::new(claim::HostFile::claim(place, ground, path).await?))
    }

    async fn find(&self, cancel: &CancellationToken, query: FindQuery) -> Result<FindHits, EnvironmentError> {
        self.check_search_allowed(&query.root)?;
        search(cancel, move |stop| search::find(stop, &query)).await
    }

    async fn grep(&self, cancel: &CancellationToken, query: GrepQuery) -> Result<GrepHits, EnvironmentError> {
        self.check_search_allowed(&query.root)?;
        search(cancel, move |stop| search::grep(stop, &query)).await
    }

    async fn run(
        &self,
        cancel: &CancellationToken,
        command: ShellCommand,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<RunReport, EnvironmentError> {
        shell::run(cancel, self, command, progress).await
    }
}

/// Variables that prevent programs from waiting for a person.
const UNATTENDED: [(&str, &str); 3] = [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Searches until the call is cancelled or dropped. Then the search is abandoned, because it may hang in the kernel
/// on a file that looks normal but never returns its content.
async fn search<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<T, EnvironmentError> + Send + 'static,
) -> Result<T, EnvironmentError> {
    let stop = cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(EnvironmentError::Cancelled),
        found = run_blocking(move || work(&stop)) => found,
    }
}
