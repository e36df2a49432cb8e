//! `trust.json`: the projects that the user trusts.

mod open;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::snapshot::Snapshot;
use crate::home::Home;

/// The version of the form that is written.
const VERSION: u32 = 1;

/// What `trust.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustFile {
    version: u32,
    /// By canonical path, as text.
    projects: BTreeMap<String, Record>,
}

/// That the user trusts a project, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Of all that would run or be obeyed.
    pub digest: Digest,
    /// When the user said so, RFC 3339.
    pub time: String,
    /// The version of haft that asked.
    pub haft: String,
    /// The digest of each file, by name, so that it can be told what changed.
    pub files: BTreeMap<String, Digest>,
}

/// `trust.json` is not used: no project is trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else may have written it.
    #[error("{} {what}, so nothing it says counts; look at it, and remove it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is not of the form that haft writes.
    #[error("{} is damaged (line {line}, column {column}), so nothing it says counts; remove it, and trust again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// A newer haft wrote it.
    #[error("{} was written by a newer haft, so nothing it says counts; use that one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The path of the project is no text.
    #[error("the path {path:?} is not UTF-8, so it cannot be recorded; --trust-project trusts it for a run")]
    Path {
        /// The project's.
        path: PathBuf,
    },
}

impl Default for TrustFile {
    fn default() -> Self {
        Self { version: VERSION, projects: BTreeMap::new() }
    }
}

impl TrustFile {
    /// Reads it; where there is none, no project is trusted.
    ///
    /// # Errors
    /// [`TrustError`] when it is a link, another user's, can be written by others, or is damaged. Nothing is trusted then.
    pub fn load(home: &Home) -> Result<Self, TrustError> {
        let path = home.trust_file();
        let Some(text) = open::text(&path)? else { return Ok(Self::default()) };
        let file: Self = serde_json::from_str(&text).map_err(|error| TrustError::Damaged {
            path: path.clone(),
            line: error.line(),
            column: error.column(),
        })?;
        if file.version == VERSION { Ok(file) } else { Err(TrustError::Newer { path }) }
    }

    /// What is recorded of exactly this directory, which has to be canonical. Those above it do not count.
    pub fn record(&self, dir: &Path) -> Option<&Record> {
        self.projects.get(dir.to_str()?)
    }

    /// All of them, by path.
    pub fn records(&self) -> impl Iterator<Item = (&str, &Record)> {
        self.projects.iter().map(|(path, record)| (path.as_str(), record))
    }

    /// Records that the user trusts a project as this snapshot shows it.
    ///
    /// # Errors
    /// As [`load`](Self::load), and when it cannot be written; it is then as it was.
    pub fn grant(home: &Home, snapshot: &Snapshot, haft: &str) -> Result<(), TrustError> {
        let dir = snapshot.dir();
        let key = dir.to_str().ok_or_else(|| TrustError::Path { path: dir.into() })?.to_owned();
        let record = Record {
            digest: snapshot.digest(),
            time: jiff::Timestamp::now().strftime("%FT%TZ").to_string(),
            haft: haft.to_owned(),
            files: snapshot.files().clone(),
        };
        edit(home, |projects| {
            projects.insert(key, record);
            true
        })
        .map(drop)
    }

    /// Takes the trust in a project back, and tells whether there was any. `dir` is canonical, or as the file says.
    ///
    /// # Errors
    /// As [`grant`](Self::grant).
    pub fn revoke(home: &Home, dir: &Path) -> Result<bool, TrustError> {
        match dir.to_str() {
            Some(key) if home.trust_file().symlink_metadata().is_ok() => {
                edit(home, |projects| projects.remove(key).is_some())
            }
            _ => Ok(false),
        }
    }
}

/// Changes the file, if `change` says that it changed something.
fn edit(home: &Home, change: impl FnOnce(&mut BTreeMap<String, Record>) -> bool) -> Result<bool, TrustError> {
    let path = home.trust_file();
    let write = |source| TrustError::Write { path: path.clone(), source };
    fs::create_dir_all(home.root()).map_err(write)?;
    // Two that write at the same time would each lose the other's project. Closing the file ends the lock.
    let lock = File::create(home.root().join("trust.lock")).map_err(write)?;
    lock.lock().map_err(write)?;
    let mut file = TrustFile::load(home)?;
    if !change(&mut file.projects) {
        return Ok(false);
    }
    replace(&path, &file).map_err(write)?;
    Ok(true)
}

/// Writes beside the file and then puts the new one in its place. Made by `tempfile`, it has mode 600 from the start.
fn replace(path: &Path, content: &TrustFile) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    let mut text = serde_json::to_string_pretty(content)?;
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The name is what makes it permanent.
    if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
}
