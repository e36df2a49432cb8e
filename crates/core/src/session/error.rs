//! Why a session did not do what was asked.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::FORMAT_VERSION;
use super::id::EntryId;

/// Why a session did not do what was asked. An entry whose `append` failed was not acknowledged: it may be missing.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Another process, or another handle in this one, has the session open.
    #[error("session {} is in use; open it read-only or fork it", path.display())]
    Locked {
        /// Its file.
        path: PathBuf,
    },
    /// The session was opened read-only.
    #[error("session {} can only be read; fork it to go on", path.display())]
    ReadOnly {
        /// Its file.
        path: PathBuf,
    },
    /// The file is of a newer format: it can be read, neither written nor forked.
    #[error("session {} is of format {version}, newer than {FORMAT_VERSION}: a newer haft can go on with it", path.display())]
    Newer {
        /// Its file.
        path: PathBuf,
        /// Its format.
        version: u32,
    },
    /// The system refused.
    #[error("cannot {doing} {}; free space or mend the disk, then go on", path.display())]
    Io {
        /// What was tried: `write`, `open`, …
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The session has no such entry.
    #[error("the session has no entry {0}")]
    NoEntry(EntryId),
    /// No session has a name that begins so, or several have.
    #[error("{}", match count { 0 => format!("no session is called {name:?}"), _ => format!("{count} sessions begin with {name:?}; give more of the name") })]
    NotFound {
        /// What was asked for.
        name: String,
        /// How many there are.
        count: usize,
    },
    /// The entry has no form on disk.
    #[error("the entry cannot be written as JSON: {0}")]
    Unwritable(String),
    /// The session has the entry, and writes it when it can, but nobody could make sure yet that it is on the disk.
    /// Whoever appends it again has it twice.
    #[error("the entry is not safe on the disk yet: {0}")]
    NotSynced(Arc<SessionError>),
    /// The thread that writes to the disk is gone.
    #[error("whether the entry is on the disk is not known; open the session again")]
    Unknown,
}

impl SessionError {
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::WouldBlock {
            return Self::Locked { path: path.to_owned() };
        }
        Self::Io { doing, path: path.to_owned(), source: Arc::new(source) }
    }
}

impl From<serde_json::Error> for SessionError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}
