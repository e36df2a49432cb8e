//! `HostEnvironment`: the files and processes of this machine.

mod atomic;
mod claim;
mod collector;
mod command_dir;
mod files;
mod kind;
mod private;
mod protected;
mod restriction;
mod sandbox;
mod search;
mod shell;
mod variables;

pub(crate) use protected::has_protected_name;
pub use search::walk_tree;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use atomic::{PathBoundary, SharedWriteState};
use collector::{ScratchDir, ScratchPlace};
use command_dir::CommandDir;
use haft_core::TextFilter;
use haft_core::file_queue::FileQueue;
use haft_launch::{EnvPolicy, Launcher, Sandbox};
use protected::{AppearedNames, ProtectedPaths};
use restriction::FileRestriction;
use sandbox::{FileBoundaries, check_without_boundaries, resolve_missing};
use tokio_util::sync::CancellationToken;

use super::{
    AccessKind, ClaimedFile, DirectoryEntry, Environment, EnvironmentError, FileStat, FindHits, FindQuery,
    GrepHits, GrepQuery, ParentPolicy, ResolvedPlace, RunReport, ShellCommand,
};
use crate::environment::run_blocking;

pub use sandbox::{ToolSandbox, ToolSandboxGap};

/// The files of this machine, and a shell for each command: behind a launcher in its own session, otherwise in its own
/// process group.
#[derive(Debug, Clone)]
pub struct HostEnvironment {
    cwd: PathBuf,
    home: Option<PathBuf>,
    queue: FileQueue,
    /// Variables that commands do not inherit.
    withheld: Vec<OsString>,
    /// Variables that commands inherit although they look like secrets.
    permitted: Vec<OsString>,
    launcher: Option<Launcher>,
    /// The directory of commands, or the reason why it could not be created.
    commands: Arc<OnceLock<Result<CommandDir, String>>>,
    sandbox: Option<Arc<CommandSandbox>>,
    /// The boundaries of file tools in the sandbox.
    boundaries: Option<FileBoundaries>,
    notices: Option<NoticeSink>,
    scratch: ScratchDir,
    disk: Arc<SharedWriteState>,
    /// The files that may be read, or `None` for all.
    reads: Option<Arc<PathBoundary>>,
    /// The files that may be written, or `None` for all.
    root: Option<Arc<PathBoundary>>,
}

impl HostEnvironment {
    /// Creates an environment with the working directory `cwd`, which is made absolute. Commands inherit this
    /// process's environment without variables that look like secrets, and changed so that no program waits
    /// for a person: no pager, no password prompt, and an editor that fails.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        Self {
            cwd: std::path::absolute(&cwd).unwrap_or(cwd),
            home: std::env::home_dir(),
            queue: FileQueue::default(),
            withheld: Vec::new(),
            permitted: Vec::new(),
            launcher: None,
            commands: Arc::default(),
            sandbox: None,
            boundaries: None,
            notices: None,
            scratch: ScratchDir {
                place: ScratchPlace::Own(private::private_temp_dir("results")),
                filter: None,
            },
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

    /// Returns the private directory for temporary files of commands, which the sandbox lets them write. It exists as
    /// long as this environment and its clones.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn temp_dir(&self) -> io::Result<&Path> {
        Ok(self.command_dir()?.path())
    }

    /// True if a command of this environment or of a clone has started an editor, which failed: commands have none.
    pub fn editor_was_called(&self) -> bool {
        self.command_dir().is_ok_and(CommandDir::editor_was_called)
    }

    /// Returns the queue of changes.
    pub fn file_queue(&self) -> &FileQueue {
        &self.queue
    }

    /// Starts commands through a launcher: in their own session, without a terminal.
    #[must_use]
    pub fn with_launcher(mut self, launcher: Launcher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Restricts commands and file tools. Needs a launcher; see [`with_launcher`](Self::with_launcher). On systems other
    /// than Unix, every command and every change of a file needs an approval.
    ///
    /// # Errors
    /// If the directory for temporary files cannot be created.
    pub fn with_sandbox(mut self, sandbox: ToolSandbox) -> io::Result<Self> {
        let boundaries = match FileBoundaries::new(&sandbox, self.command_dir()?.path()) {
            Ok(boundaries) => Some(boundaries),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => None,
            Err(error) => return Err(error),
        };
        let sandbox = SandboxOfTools { sandbox, gap: OnceLock::new(), protected: OnceLock::new() };
        (self.sandbox, self.boundaries) = (Some(Arc::new(CommandSandbox::Tools(sandbox))), boundaries);
        self.disk = Arc::new(self.disk.new_for_same_dir());
        Ok(self)
    }

    /// Reports to a person what a command of the model has done that the person should check, one line each.
    #[must_use]
    pub fn with_notices(mut self, show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notices = Some(NoticeSink(Arc::new(show)));
        self
    }

    /// Lets commands inherit these variables although they look like secrets.
    #[must_use]
    pub fn with_variables<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.permitted.extend(names.into_iter().map(Into::into));
        self
    }

    /// Withholds variables from commands.
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

    /// Sets the directory for output that is too long for a result; if it is missing, it is created for its owner only. The caller must clean it regularly, for example
    /// with [`clear_results`](crate::clear_results). The default is a private directory in the system's temporary
    /// directory, where files older than a week are removed whenever a file is added.
    #[must_use]
    pub fn with_scratch(mut self, scratch: impl Into<PathBuf>) -> Self {
        self.scratch.place = ScratchPlace::Given(scratch.into());
        self
    }

    /// Filters the output that is stored there. Output without changes is stored as it is, also if it is not text.
    #[must_use]
    pub fn with_output_filter(mut self, filter: TextFilter) -> Self {
        self.scratch.filter = Some(filter);
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
    /// with its links and then opened without following any. Listing and searching are rejected. If changes are
    /// restricted, commands run in a sandbox with the same paths. This environment and its clones may read the stored
    /// output of their own commands, for the last 256 of them.
    ///
    /// # Errors
    /// On systems other than Unix.
    pub fn with_access_rules(mut self, reach: &FileAccessRules) -> io::Result<Self> {
        let FileAccessRules { read, write, own, never, network: _ } = reach;
        let reads: Option<Vec<PathBuf>> =
            read.as_ref().zip(write.as_ref()).map(|(read, write)| [read.as_slice(), write].concat());
        self.reads = Some(Arc::new(PathBoundary::from_rules(reads.as_deref(), own, never, "read")?));
        self.root = Some(Arc::new(PathBoundary::from_rules(write.as_deref(), own, never, "written")?));
        self.boundaries = None;
        if write.is_some() {
            self.sandbox = Some(Arc::new(CommandSandbox::Listed(reach.clone())));
        }
        self.disk = Arc::new(self.disk.new_for_same_dir());
        Ok(self)
    }

    /// Returns the file that a path leads to through its links, if the file may be written.
    pub(crate) fn resolve_writable(&self, path: &Path) -> Result<PathBuf, EnvironmentError> {
        let path = resolve_missing(path);
        self.write_restriction().path_boundary().map_or(Ok(()), |boundary| boundary.check(&path))?;
        Ok(path)
    }

    fn env_policy(&self) -> io::Result<EnvPolicy> {
        let commands = self.command_dir()?;
        let mut set = variables::unattended_variables(Some(commands.failing_editor()));
        if self.sandbox.is_some() {
            let temp = commands.path().as_os_str();
            set.extend(["TMPDIR", "TMP", "TEMP"].map(|name| (name.into(), temp.to_owned())));
        }
        let secrets = variables::secret_variables(&self.permitted);
        Ok(EnvPolicy::Inherit { remove: self.withheld.iter().cloned().chain(secrets).collect(), set })
    }

    /// Returns the sandbox of a command. `None` on a machine without one; each command then needs an approval.
    fn command_sandbox(&self) -> io::Result<Option<Sandbox>> {
        let Some(sandbox) = &self.sandbox else { return Ok(None) };
        let temp = self.command_dir()?.path();
        Ok(match sandbox.as_ref() {
            CommandSandbox::Tools(tools) if tools.needs_approval().is_some() => None,
            CommandSandbox::Tools(tools) => {
                Some(tools.sandbox.for_command(temp, tools.protected_paths(&self.cwd)))
            }
            CommandSandbox::Listed(rules) => Some(sandbox::for_listed_paths(rules, temp)),
        })
    }

    /// Reports the gap of the sandbox and searches for the protected paths, before the first command.
    async fn find_protected_paths(&self) -> Result<(), EnvironmentError> {
        match self.sandbox.clone() {
            Some(sandbox) if sandbox.as_tools().is_some_and(|tools| tools.protected.get().is_none()) => {
                let (cwd, notices) = (self.cwd.clone(), self.notices.clone());
                run_blocking(move || {
                    let Some(tools) = sandbox.as_tools() else { return Ok(()) };
                    let gap = tools.gap.get_or_init(ToolSandbox::find_gap);
                    let gap = gap.as_ref().map(|gap| format!("the sandbox is incomplete: {gap}"));
                    let partial = tools.protected_paths(&cwd).is_partial().then(|| PARTIAL.to_owned());
                    for text in gap.into_iter().chain(partial) {
                        notices.iter().for_each(|notices| (notices.0)(&text));
                    }
                    Ok(())
                })
                .await
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the protected names that have appeared.
    fn take_appeared_names(&self) -> AppearedNames {
        let tools = self.sandbox.as_deref().and_then(CommandSandbox::as_tools);
        let protected = tools.and_then(|tools| tools.protected.get());
        protected.map(ProtectedPaths::take_appeared).unwrap_or_default()
    }

    /// Returns the directory of commands, which is created at the first use.
    fn command_dir(&self) -> io::Result<&CommandDir> {
        let created = self.commands.get_or_init(|| {
            CommandDir::create()
                .map_err(|error| format!("cannot create a private directory for commands: {error}"))
        });
        created.as_ref().map_err(|error| io::Error::other(error.clone()))
    }

    fn read_restriction(&self) -> FileRestriction {
        let of_sandbox = self.boundaries.as_ref().map(|boundaries| &boundaries.reads);
        FileRestriction::from_first([self.reads.as_ref(), of_sandbox])
    }

    fn write_restriction(&self) -> FileRestriction {
        let of_sandbox = self.boundaries.as_ref().map(|boundaries| &boundaries.writes);
        FileRestriction::from_first([self.root.as_ref(), of_sandbox])
    }

    /// Returns the restriction for listing and searching.
    ///
    /// # Errors
    /// If only some files may be read.
    fn search_restriction(&self, path: &Path) -> Result<FileRestriction, EnvironmentError> {
        match &self.reads {
            None => Ok(self.read_restriction()),
            Some(_) => Err(EnvironmentError::outside(
                path,
                "cannot be listed or searched with restricted file access",
            )),
        }
    }
}

/// The notice about a workspace with more git directories than are protected.
const PARTIAL: &str =
    "the workspace has many git directories; commands can change the hooks and settings of some of them";

/// The receiver of notices for a person.
#[derive(Clone)]
struct NoticeSink(Arc<dyn Fn(&str) + Send + Sync>);

impl std::fmt::Debug for NoticeSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoticeSink").finish_non_exhaustive()
    }
}

/// The sandbox of commands.
#[derive(Debug)]
enum CommandSandbox {
    /// All files except some can be read.
    Tools(SandboxOfTools),
    /// Only listed paths exist for the command.
    Listed(FileAccessRules),
}

impl CommandSandbox {
    fn as_tools(&self) -> Option<&SandboxOfTools> {
        match self {
            Self::Tools(tools) => Some(tools),
            Self::Listed(_) => None,
        }
    }
}

/// The sandbox of tools on this machine.
#[derive(Debug)]
struct SandboxOfTools {
    sandbox: ToolSandbox,
    /// The gap, which is detected before the first command: that takes as long as a command.
    gap: OnceLock<Option<ToolSandboxGap>>,
    /// The protected paths, which are searched for once.
    protected: OnceLock<ProtectedPaths>,
}

impl SandboxOfTools {
    fn protected_paths(&self, cwd: &Path) -> &ProtectedPaths {
        self.protected.get_or_init(|| {
            let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
            ProtectedPaths::find(&self.sandbox.writable_paths(), &cwd, &self.sandbox.protect)
        })
    }

    /// Returns the reason why each command needs an approval. A sandbox that protects less than it should still runs
    /// commands, because a question before each one would soon be answered without reading it.
    fn needs_approval(&self) -> Option<String> {
        match self.gap.get_or_init(ToolSandbox::find_gap) {
            Some(ToolSandboxGap::NoSandbox(missing)) => Some(missing.clone()),
            Some(ToolSandboxGap::ProtectedPaths(_)) | None => None,
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
    /// True if commands may use the network, if `write` restricts them.
    pub network: bool,
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
        let (reads, path) = (self.read_restriction(), path.to_owned());
        run_blocking(move || files::stat(reads.path_boundary(), &path)).await
    }

    async fn read(&self, path: &Path, start: u64, len: usize) -> Result<Vec<u8>, EnvironmentError> {
        let (reads, path) = (self.read_restriction(), path.to_owned());
        run_blocking(move || files::read(reads.path_boundary(), &path, start, len)).await
    }

    async fn list(&self, path: &Path) -> Result<Vec<DirectoryEntry>, EnvironmentError> {
        let (reads, path) = (self.search_restriction(path)?, path.to_owned());
        run_blocking(move || files::list(reads.path_boundary(), &path)).await
    }

    async fn claim(
        &self,
        path: &Path,
        parents: ParentPolicy,
    ) -> Result<Box<dyn ClaimedFile>, EnvironmentError> {
        // The ticket is taken before any wait, so that callers are served in order.
        let place = self.queue.take_ticket();
        if parents == ParentPolicy::Create {
            let (root, path) = (self.write_restriction(), path.to_owned());
            run_blocking(move || atomic::create_parents(root.path_boundary(), &path)).await?;
        }
        let ground = claim::WriteContext {
            disk: Arc::clone(&self.disk),
            reads: self.read_restriction(),
            root: self.write_restriction(),
        };
        Ok(Box::new(claim::HostFile::claim(place, ground, path).await?))
    }

    async fn find(&self, cancel: &CancellationToken, query: FindQuery) -> Result<FindHits, EnvironmentError> {
        let reads = self.search_restriction(&query.root)?;
        search(cancel, move |stop| search::find(stop, reads.path_boundary(), &query)).await
    }

    async fn grep(&self, cancel: &CancellationToken, query: GrepQuery) -> Result<GrepHits, EnvironmentError> {
        let reads = self.search_restriction(&query.root)?;
        search(cancel, move |stop| search::grep(stop, reads.path_boundary(), &query)).await
    }

    async fn run(
        &self,
        cancel: &CancellationToken,
        command: ShellCommand,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<RunReport, EnvironmentError> {
        shell::run(cancel, self, command, progress).await
    }

    async fn check_access(&self, path: &Path, access: AccessKind) -> Result<(), EnvironmentError> {
        // Access rules replace the boundaries of the sandbox.
        let sandbox = self.sandbox.clone().filter(|_| self.reads.is_none() && self.root.is_none());
        let boundaries = self.boundaries.clone();
        let path = path.to_owned();
        run_blocking(move || match (boundaries, sandbox.as_deref().and_then(CommandSandbox::as_tools)) {
            (Some(boundaries), _) => boundaries.check(&path, access),
            (None, Some(tools)) => check_without_boundaries(&tools.sandbox, &path, access),
            (None, None) => Ok(()),
        })
        .await
    }

    async fn resolve(&self, path: &Path) -> Result<ResolvedPlace, EnvironmentError> {
        let path = path.to_owned();
        run_blocking(move || {
            let path = resolve_missing(&path);
            let exists = path.exists();
            // All other links were resolved.
            let has_broken_link = !exists && path.ancestors().any(Path::is_symlink);
            Ok(ResolvedPlace { path, exists, has_broken_link })
        })
        .await
    }

    fn sandbox(&self) -> Option<&ToolSandbox> {
        Some(&self.sandbox.as_deref()?.as_tools()?.sandbox)
    }

    fn needs_approval_to_run(&self) -> Option<String> {
        self.sandbox.as_deref()?.as_tools()?.needs_approval()
    }

    fn without_sandbox(&self) -> Option<Arc<dyn Environment>> {
        self.sandbox()?;
        Some(Arc::new(Self {
            sandbox: None,
            boundaries: self.boundaries.as_ref().map(FileBoundaries::after_approval),
            ..self.clone()
        }))
    }
}

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
