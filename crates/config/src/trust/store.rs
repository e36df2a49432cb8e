//! `trust.json`: the projects that the user trusts.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_protocol::defence::{Defence, is_up};
use serde::{Deserialize, Serialize};

use super::ProjectDigest;
use super::snapshot::Snapshot;
use crate::home::Home;
use crate::write;

const VERSION: u32 = 1;

/// The longest file that is read, in bytes: 64 MiB.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The content of `trust.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustFile {
    version: u32,
    /// By canonical path, as text.
    projects: BTreeMap<String, TrustRecord>,
}

/// The record of the user's trust in a project, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// Of all that would run or be obeyed.
    pub digest: ProjectDigest,
    /// When the user said so, RFC 3339.
    pub time: String,
    /// The version of haft that asked.
    pub haft: String,
    /// The digest of each file, by name, so that it can be told what changed.
    pub files: BTreeMap<String, ProjectDigest>,
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
        /// The mistake.
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
        let Some(text) = read_checked(&path)? else { return Ok(Self::default()) };
        let file: Self = serde_json::from_str(&text).map_err(|error| TrustError::Damaged {
            path: path.clone(),
            line: error.line(),
            column: error.column(),
        })?;
        if file.version == VERSION { Ok(file) } else { Err(TrustError::Newer { path }) }
    }

    /// Returns the record of exactly this directory, which has to be canonical. Those above it do not count.
    pub fn record(&self, dir: &Path) -> Option<&TrustRecord> {
        self.projects.get(dir.to_str()?)
    }

    /// All of them, by path.
    pub fn records(&self) -> impl Iterator<Item = (&str, &TrustRecord)> {
        self.projects.iter().map(|(path, record)| (path.as_str(), record))
    }

    /// Records that the user trusts a project as this snapshot shows it.
    ///
    /// # Errors
    /// As [`load`](Self::load), and when it cannot be written; it is then as it was.
    pub fn grant(home: &Home, snapshot: &Snapshot, haft: &str) -> Result<(), TrustError> {
        let dir = snapshot.dir();
        let key = dir.to_str().ok_or_else(|| TrustError::Path { path: dir.into() })?.to_owned();
        let record = TrustRecord {
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
fn edit(
    home: &Home,
    change: impl FnOnce(&mut BTreeMap<String, TrustRecord>) -> bool,
) -> Result<bool, TrustError> {
    let path = home.trust_file();
    let failed = |source| TrustError::Write { path: path.clone(), source };
    let _lock = write::lock(home.root(), "trust.lock").map_err(failed)?;
    let mut file = TrustFile::load(home)?;
    if !change(&mut file.projects) {
        return Ok(false);
    }
    write::json_text(&file).and_then(|text| write::replace(&path, &text, None)).map_err(failed)?;
    Ok(true)
}

/// The text of `trust.json`, after a look at whose word it is; none where there is no file.
fn read_checked(path: &Path) -> Result<Option<String>, TrustError> {
    let read = |source| TrustError::Read { path: path.into(), source };
    let foreign = |what| TrustError::Foreign { path: path.into(), what };
    let defended = is_up(Defence::TrustFile);
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(read(source)),
        Ok(metadata) if metadata.is_symlink() && defended => return Err(foreign("is a link")),
        Ok(_) => {}
    }
    let file = open(path, defended).map_err(read)?;
    // Of the file that is read, not of the name: it may lead to another one by now.
    let metadata = file.metadata().map_err(read)?;
    if !metadata.is_file() {
        return Err(foreign("is no file"));
    }
    if let Some(what) = untrusted_reason(&metadata).filter(|_| defended) {
        return Err(foreign(what));
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).map_err(read)?;
    Ok(Some(text))
}

#[cfg(unix)]
fn open(path: &Path, defended: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    // A pipe would wait for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK
        | if defended { rustix::fs::OFlags::NOFOLLOW } else { rustix::fs::OFlags::empty() };
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Why somebody else may have written it.
#[cfg(unix)]
fn untrusted_reason(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user");
    }
    (metadata.permissions().mode() & 0o022 != 0).then_some("can be written by other users")
}

#[cfg(not(unix))]
fn untrusted_reason(_: &Metadata) -> Option<&'static str> {
    None
}
