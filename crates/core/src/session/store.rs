//! The location of sessions: `<sessions>/<project>/<id>.jsonl`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft_protocol::content::first_line;
use haft_protocol::message::{Rfc3339Time, TokenUsage};

use super::digest::SessionDigest;
use super::disk::{Disk, RealDisk, read_file_lines};
use super::entry::{ForkOrigin, SessionEntry, SessionHeader};
use super::id::{EntryId, SessionId};
use super::line::EntryHead;
use super::log::SessionLog;
use super::recover::{RecoveredSession, recover};
use super::relocation::MOVING;
use super::state::SessionState;
use super::{Session, SessionError, header};

/// The sessions of one user.
#[derive(Debug, Clone)]
pub struct SessionStore {
    root: PathBuf,
}

/// The file of a session, known only by its name and directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionFile {
    /// The id of the session.
    pub id: SessionId,
    /// The path of the file.
    pub path: PathBuf,
    /// The time of the last write.
    pub modified: SystemTime,
    /// The size in bytes.
    pub size: u64,
}

/// The summary of a session for a list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionSummary {
    /// The working directory of the session.
    pub cwd: String,
    /// The time when the session began.
    pub created: Rfc3339Time,
    /// The time of the last entry.
    pub last: Option<Rfc3339Time>,
    /// The display name.
    pub name: Option<String>,
    /// Its tags by key, from all branches; see [`fold_tags`](super::fold_tags).
    pub tags: BTreeMap<String, String>,
    /// The first prompt of the user.
    pub first_text: Option<String>,
    /// The number of messages, on all branches.
    pub messages: usize,
    /// The usage of all answers, on all branches.
    pub usage: TokenUsage,
    /// The origin of a forked session.
    pub forked_from: Option<ForkOrigin>,
}

impl SessionSummary {
    /// Returns a title for a list of sessions, in one line: the display name, or else the beginning of the first prompt.
    /// `None` if there is neither.
    ///
    /// ```
    /// use haft_core::session::store::SessionStore;
    ///
    /// fn list_chats(store: &SessionStore) -> Result<Vec<String>, haft_core::session::SessionError> {
    ///     let titles = store.list_all()?.into_iter().map(|file| Ok(file.summary()?.short_title().unwrap_or_default()));
    ///     titles.collect()
    /// }
    /// ```
    pub fn short_title(&self) -> Option<String> {
        let text = self.name.as_deref().or(self.first_text.as_deref())?;
        Some(first_line(text)).filter(|title| !title.is_empty())
    }
}

impl SessionStore {
    /// Creates a store for a directory, which does not have to exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the directory for the sessions of a project: a readable form of its path, with a few digits that make it
    /// unique.
    pub fn project_dir(&self, cwd: &Path) -> PathBuf {
        let path = cwd.to_string_lossy();
        self.root.join(format!("{}-{:08x}", project_slug(&path), fnv1a_hash(path.as_bytes())))
    }

    /// Creates a session for a working directory; see [`Session::create`].
    pub fn create(&self, cwd: &Path) -> Session {
        Session::create(&self.project_dir(cwd), cwd)
    }

    /// Writes an imported session to the directory of the project that its header names; returns the path. The session
    /// is on disk when this returns. Each entry must come after its parent.
    ///
    /// # Errors
    /// [`SessionError::Unwritable`], [`SessionError::Io`]; there is no file then.
    pub fn write(&self, header: &SessionHeader, entries: &[SessionEntry]) -> Result<PathBuf, SessionError> {
        let mut lines = header.to_line()?;
        for entry in entries {
            lines.extend(entry.to_line()?);
        }
        let path = self.project_dir(Path::new(&header.cwd)).join(header.id.file_name());
        let io = |error| SessionError::from_io("make", &path, error);
        let log = SessionLog::create(Arc::new(RealDisk), &path, &lines).map_err(io)?;
        log.file.sync().map_err(io)?;
        Ok(path)
    }

    /// Returns the sessions of a project, most recently written first.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn list(&self, cwd: &Path) -> Result<Vec<SessionFile>, SessionError> {
        sort_by_modified(session_files_in(&self.project_dir(cwd))?)
    }

    /// Returns the sessions of all projects, most recently written first.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn list_all(&self) -> Result<Vec<SessionFile>, SessionError> {
        let mut all = Vec::new();
        for project in dir_entries(&self.root)?.into_iter().filter(|entry| entry.path().is_dir()) {
            all.extend(session_files_in(&project.path())?);
        }
        sort_by_modified(all)
    }

    /// Returns the most recently written session of a project.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn latest(&self, cwd: &Path) -> Result<Option<SessionFile>, SessionError> {
        Ok(self.list(cwd)?.into_iter().next())
    }

    /// Opens the most recently written session of a project to continue it, or creates the first one.
    ///
    /// # Errors
    /// Those of [`Session::open`].
    pub fn open_latest(&self, cwd: &Path) -> Result<Session, SessionError> {
        match self.latest(cwd)? {
            Some(found) => Session::open(&found.path),
            None => Ok(self.create(cwd)),
        }
    }

    /// Finds the session of any project whose id begins with `prefix`.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if none or more than one matches.
    pub fn find(&self, prefix: &str) -> Result<SessionFile, SessionError> {
        let mut all = self.list_all()?;
        all.retain(|found| !prefix.is_empty() && found.id.to_string().starts_with(prefix));
        match (all.pop(), all.len()) {
            (Some(found), 0) => Ok(found),
            (found, rest) => {
                let count = rest + usize::from(found.is_some());
                Err(SessionError::NotFound { name: prefix.to_owned(), count })
            }
        }
    }
}

impl SessionFile {
    /// Creates the description of a file.
    pub fn new(id: SessionId, path: impl Into<PathBuf>, modified: SystemTime, size: u64) -> Self {
        Self { id, path: path.into(), modified, size }
    }

    /// Reads the summary for a list, in one pass that parses little of the file.
    ///
    /// # Errors
    /// [`SessionError::Io`].
    pub fn summary(&self) -> Result<SessionSummary, SessionError> {
        self.read_summary().map_err(|error| SessionError::from_io("read", &self.path, error))
    }

    fn read_summary(&self) -> io::Result<SessionSummary> {
        let file = File::open(&self.path)?;
        let header = super::resume::read_header(&file, self.size)?;
        let SessionDigest { last, name, tags, first_text, messages, usage } =
            SessionDigest::read_from(&file)?;
        Ok(SessionSummary {
            cwd: header.as_ref().map(|header| header.cwd.clone()).unwrap_or_default(),
            created: header.as_ref().map_or(Rfc3339Time(String::new()), |header| header.created.clone()),
            last,
            name,
            tags,
            first_text,
            messages,
            usage,
            forked_from: header.and_then(|header| header.forked_from),
        })
    }

    /// Creates a session from the branch that ends with `at`, or with the last entry. The new file is an independent
    /// copy beside this one.
    ///
    /// # Errors
    /// [`SessionError::NoEntry`], [`SessionError::Newer`], [`SessionError::Io`].
    pub fn fork(&self, at: Option<EntryId>) -> Result<Session, SessionError> {
        fork(&self.path, at)
    }

    /// Deletes the session, its saved incomplete lines, and its unfinished copies.
    ///
    /// # Errors
    /// [`SessionError::Locked`] if the session is open, [`SessionError::Io`].
    pub fn remove(self) -> Result<(), SessionError> {
        let io = |error| SessionError::from_io("remove", &self.path, error);
        // The lock is held until the file is deleted, so that no other process opens it.
        let _log = SessionLog::open(Arc::new(RealDisk), &self.path).map_err(io)?;
        let torn = format!("{}.torn-", self.id);
        for beside in dir_entries(self.path.parent().unwrap_or(Path::new(".")))? {
            let path = beside.path();
            if beside.file_name().to_string_lossy().starts_with(&torn) || is_abandoned_copy(&path, self.id) {
                fs::remove_file(path).map_err(io)?;
            }
        }
        fs::remove_file(&self.path).map_err(io)
    }
}

/// True if a file is an unfinished copy of this session that is not being written. Copies of other sessions are kept,
/// because one may contain entries that the session's own file has lost.
fn is_abandoned_copy(path: &Path, of: SessionId) -> bool {
    if path.extension().is_none_or(|extension| extension != MOVING) {
        return false;
    }
    // The writer of a copy holds its lock.
    let Ok(log) = SessionLog::open(Arc::new(RealDisk), path) else { return false };
    let header = super::resume::read_header(log.disk_file().as_ref(), log.end).ok().flatten();
    header.and_then(|header| header.forked_from).is_some_and(|origin| origin.session == of)
}

/// Reads a session's whole file, for display or export.
///
/// # Errors
/// [`SessionError::Io`].
pub fn read(path: &Path) -> Result<RecoveredSession, SessionError> {
    let bytes = read_file_lines(path).map_err(|error| SessionError::from_io("read", path, error))?;
    Ok(recover(&bytes))
}

/// Creates a session from the branch of another one that ends with `at`, or with the last entry. The other session can
/// be open elsewhere.
///
/// # Errors
/// [`SessionError::NoEntry`], [`SessionError::Newer`], [`SessionError::Io`].
pub fn fork(path: &Path, at: Option<EntryId>) -> Result<Session, SessionError> {
    fork_state(path, at).map(Session::new)
}

pub(super) fn fork_state(path: &Path, at: Option<EntryId>) -> Result<SessionState, SessionError> {
    let bytes = read_file_lines(path).map_err(|error| SessionError::from_io("read", path, error))?;
    let recovered = recover(&bytes);
    let old = &recovered.header;
    if let Some(version) = old.as_ref().and_then(SessionHeader::newer_version) {
        return Err(SessionError::Newer { path: path.to_owned(), version });
    }
    let leaf = at.or_else(|| recovered.entries.last().map(|entry| entry.id));
    let of = old.as_ref().map(|old| old.id).or_else(|| session_id_of(path)).unwrap_or_default();
    let cwd = old.as_ref().map(|old| old.cwd.as_str()).unwrap_or_default();
    let header = header(Path::new(cwd), Some(ForkOrigin { session: of, entry: leaf }));
    copy_branch(Arc::new(RealDisk), path, &bytes, &recovered, &header)
}

/// Copies the branch that the header's origin names to a new file beside the original. `bytes` are the lines of the
/// original.
pub(super) fn copy_branch(
    disk: Arc<dyn Disk>,
    path: &Path,
    bytes: &[u8],
    recovered: &RecoveredSession,
    header: &SessionHeader,
) -> Result<SessionState, SessionError> {
    let parents: std::collections::HashMap<EntryId, Option<EntryId>> =
        recovered.entries.iter().map(|entry| (entry.id, entry.parent)).collect();
    let mut branch = std::collections::HashSet::new();
    let mut next = header.forked_from.and_then(|origin| origin.entry);
    while let Some(id) = next {
        next = *parents.get(&id).ok_or(SessionError::NoEntry(id))?;
        branch.insert(id);
    }
    let mut lines = header.to_line()?;
    // Lines are copied unchanged, so that unknown content is kept.
    for line in bytes.get(..recovered.whole).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
        let head = std::str::from_utf8(line).ok().and_then(|line| EntryHead::read(line.trim_end()).ok());
        if head.is_some_and(|head| branch.remove(&head.id)) {
            lines.extend_from_slice(line);
        }
    }
    let copy = path.with_file_name(header.id.file_name());
    let io = |error| SessionError::from_io("make", &copy, error);
    let log = SessionLog::create(Arc::clone(&disk), &copy, &lines).map_err(io)?;
    log.file.sync().map_err(io)?;
    drop(log);
    SessionState::open(disk, &copy)
}

fn session_files_in(dir: &Path) -> Result<Vec<SessionFile>, SessionError> {
    let found = |entry: fs::DirEntry| {
        let path = entry.path();
        let id = session_id_of(&path)?;
        // A file that was removed meanwhile is skipped.
        let seen = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        let modified = seen.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        Some(SessionFile { id, path, modified, size: seen.len() })
    };
    Ok(dir_entries(dir)?.into_iter().filter_map(found).collect())
}

fn session_id_of(path: &Path) -> Option<SessionId> {
    let jsonl = path.extension().is_some_and(|extension| extension == "jsonl");
    path.file_stem().filter(|_| jsonl)?.to_str().and_then(SessionId::parse)
}

/// Returns the entries of a directory; an empty list if it does not exist.
fn dir_entries(dir: &Path) -> Result<Vec<fs::DirEntry>, SessionError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    entries.map_err(|error| SessionError::from_io("list", dir, error))
}

fn sort_by_modified(mut found: Vec<SessionFile>) -> Result<Vec<SessionFile>, SessionError> {
    found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.id.cmp(&b.id)));
    Ok(found)
}

/// The maximum characters of the path in the name of its directory.
const SLUG: usize = 48;

/// Returns the end of a path, with only letters and digits that every file system supports.
fn project_slug(path: &str) -> String {
    let plain: String =
        path.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).collect();
    let plain = plain.trim_matches('-');
    let slug = plain.get(plain.len().saturating_sub(SLUG)..).unwrap_or_default().trim_start_matches('-');
    if slug.is_empty() { "root".to_owned() } else { slug.to_owned() }
}

/// FNV-1a with 32 bits, which is the same in every build.
fn fnv1a_hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
