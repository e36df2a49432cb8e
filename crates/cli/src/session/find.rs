//! Finds the session that a name refers to.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use haft_config::Home;
use haft_core::session::store::{SessionFile, SessionStore};
use haft_core::session::{EntryId, Session, SessionId, recover};

use crate::exit::{Exit, OrExit as _};
use crate::session::text::SessionRow;

/// The name of the most recent session of this directory.
const LAST: &str = "last";

/// The maximum size of the first line of a session file, in bytes.
const LONGEST_HEADER: u64 = 64 * 1024;

/// The maximum number of sessions in the message about an ambiguous id.
const CANDIDATES: usize = 10;

/// The sessions of a user, as seen from a directory.
#[derive(Debug)]
pub(crate) struct SessionFinder {
    store: SessionStore,
    cwd: PathBuf,
}

impl SessionFinder {
    pub(crate) fn new(home: &Home, cwd: &Path) -> Self {
        // Different paths to one directory have the same sessions.
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        Self { store: SessionStore::new(home.sessions_dir()), cwd }
    }

    /// Creates a session. Its file is created with the first message.
    pub(crate) fn create(&self) -> Session {
        self.store.create(&self.cwd)
    }

    /// Returns the sessions of the directory, latest first.
    pub(crate) fn in_directory(&self) -> anyhow::Result<Vec<SessionFile>> {
        Ok(self.store.list(&self.cwd)?)
    }

    /// Returns the sessions of all directories, latest first.
    pub(crate) fn all(&self) -> anyhow::Result<Vec<SessionFile>> {
        Ok(self.store.list_all()?)
    }

    pub(crate) fn latest(&self) -> anyhow::Result<SessionFile> {
        self.in_directory()?.into_iter().next().ok_or_else(|| self.no_session_error()).or_exit(Exit::Session)
    }

    /// Returns the error when the directory has no session.
    pub(crate) fn no_session_error(&self) -> anyhow::Error {
        anyhow::anyhow!(
            "{} has no sessions yet; `haft session list --all` lists those of other directories",
            self.cwd.display()
        )
    }

    /// True if [`find`](Self::find) accepts this name.
    pub(crate) fn is_session_name(name: &str) -> bool {
        name == LAST || is_path(Path::new(name)) || name.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    /// Returns the session with this id prefix or file, or the latest session.
    pub(crate) fn find(&self, name: &str) -> anyhow::Result<SessionFile> {
        if name == LAST {
            return self.latest();
        }
        let path = Path::new(name);
        if is_path(path) {
            return session_at_path(path).or_exit(Exit::Session);
        }
        self.by_id(name)
    }

    pub(crate) fn by_id(&self, name: &str) -> anyhow::Result<SessionFile> {
        let mut found = self.all()?;
        found.retain(|found| !name.is_empty() && found.id.to_string().starts_with(name));
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Exit::Session.fail(format!(
                "no session has an id that begins with {name:?}; `haft session list --all` lists all sessions"
            )),
            several => Err(ambiguous_id_error(name, several)).or_exit(Exit::Session),
        }
    }
}

/// True if the name is a path instead of an id prefix.
fn is_path(name: &Path) -> bool {
    name.components().count() > 1 || name.extension().is_some()
}

/// Returns the session in a file. The file must begin like a session, because opening it truncates an incomplete last
/// line.
fn session_at_path(path: &Path) -> anyhow::Result<SessionFile> {
    let file = File::open(path).with_context(|| format!("cannot open the session {}", path.display()))?;
    let metadata = file.metadata()?;
    let mut begin = Vec::new();
    file.take(LONGEST_HEADER).read_to_end(&mut begin)?;
    let end = begin.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let header = recover(begin.get(..end).unwrap_or_default()).header;
    let named = || path.file_stem().and_then(|stem| stem.to_str()).and_then(SessionId::parse);
    let id = header
        .map(|header| header.id)
        .or_else(named)
        .with_context(|| format!("{} is not a session file", path.display()))?;
    Ok(SessionFile::new(
        id,
        fs::canonicalize(path)?,
        metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        metadata.len(),
    ))
}

fn ambiguous_id_error(name: &str, several: &[SessionFile]) -> anyhow::Error {
    let mut text =
        format!("{} sessions have an id that begins with {name:?}; give more digits:", several.len());
    for found in several.iter().take(CANDIDATES) {
        let what = SessionRow::from_found(found).map(|row| row.text).unwrap_or_default();
        text.push_str(&format!("\n{}  {what}", found.id));
    }
    if several.len() > CANDIDATES {
        text.push_str("\n…");
    }
    anyhow::anyhow!(text)
}

pub(super) fn find_entry(ids: impl Iterator<Item = EntryId>, prefix: &str) -> anyhow::Result<EntryId> {
    let mut found: Vec<EntryId> =
        ids.filter(|id| !prefix.is_empty() && id.to_string().starts_with(prefix)).collect();
    match (found.pop(), found.len()) {
        (Some(id), 0) => Ok(id),
        (None, _) => Err(anyhow::anyhow!(
            "the session has no entry whose id begins with {prefix:?}; `haft session tree` lists the entries"
        )),
        (Some(_), more) => Err(anyhow::anyhow!(
            "{} entries have an id that begins with {prefix:?}; give more digits",
            more + 1
        )),
    }
    .or_exit(Exit::Session)
}
