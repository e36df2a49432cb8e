//! `trust.json`: the projects that the user trusts.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};
use serde::{Deserialize, Serialize};

use super::ProjectDigest;
use super::snapshot::Snapshot;
use crate::home::Home;
use crate::write;

const VERSION: u32 = 1;

/// The maximum size of the file, in bytes: 64 MiB.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The content of `trust.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustFile {
    version: u32,
    /// The records, by canonical path.
    projects: BTreeMap<String, TrustRecord>,
}

/// The user's trust in a project, and the project's content at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The digest of all files that would run or be followed.
    pub digest: ProjectDigest,
    /// The time of the decision, in RFC 3339 format.
    pub time: String,
    /// The version of haft that recorded the trust.
    pub haft: String,
    /// The digest of each file, by name, so that changes can be reported.
    pub files: BTreeMap<String, ProjectDigest>,
}

/// `trust.json` cannot be used: no project is trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another user may have written the file.
    #[error("{} {what}, so haft ignores the file; inspect and remove it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The problem.
        what: &'static str,
    },
    /// The file is not valid.
    #[error("{} is damaged (line {line}, column {column}), so haft ignores the file; remove it, then run `haft trust` again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
    /// A newer version of haft wrote the file.
    #[error("{} was written by a newer version of haft; upgrade haft to read it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path of the project is not UTF-8.
    #[error(
        "cannot record the path {path:?}, because it is not UTF-8; use --trust-project to trust the project for one run"
    )]
    Path {
        /// The path of the project.
        path: PathBuf,
    },
}

impl Default for TrustFile {
    fn default() -> Self {
        Self { version: VERSION, projects: BTreeMap::new() }
    }
}

impl TrustFile {
    /// Reads the file. If it does not exist, no project is trusted.
    ///
    /// # Errors
    /// [`TrustError`] when the file is a link, belongs to another user, can be written by others, or is damaged. No
    /// project is trusted then.
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

    /// Returns the record of exactly this canonical directory. Records of parent directories do not apply.
    pub fn record(&self, dir: &Path) -> Option<&TrustRecord> {
        self.projects.get(dir.to_str()?)
    }

    /// All records, by path.
    pub fn records(&self) -> impl Iterator<Item = (&str, &TrustRecord)> {
        self.projects.iter().map(|(path, record)| (path.as_str(), record))
    }

    /// Records that the user trusts a project in the state of this snapshot.
    ///
    /// # Errors
    /// Same as [`load`](Self::load), and when the file cannot be written; the file is unchanged then.
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

    /// Revokes the trust in a project. Returns false if the project was not trusted. `dir` is canonical, or a path from
    /// the file.
    ///
    /// # Errors
    /// Same as [`grant`](Self::grant).
    pub fn revoke(home: &Home, dir: &Path) -> Result<bool, TrustError> {
        match dir.to_str() {
            Some(key) if home.trust_file().symlink_metadata().is_ok() => {
                edit(home, |projects| projects.remove(key).is_some())
            }
            _ => Ok(false),
        }
    }
}

/// Changes the file. Writes only if `change` returns true.
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

/// Returns the text of `trust.json` after checking its owner and mode; `None` if the file does not exist.
fn read_checked(path: &Path) -> Result<Option<String>, TrustError> {
    let read = |source| TrustError::Read { path: path.into(), source };
    let foreign = |what| TrustError::Foreign { path: path.into(), what };
    let defended = is_up(Defense::TrustFile);
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(read(source)),
        Ok(metadata) if metadata.is_symlink() && defended => return Err(foreign("is a link")),
        Ok(_) => {}
    }
    let file = open(path, defended).map_err(read)?;
    // Checked on the open file, because the name may refer to another file by now.
    let metadata = file.metadata().map_err(read)?;
    if !metadata.is_file() {
        return Err(foreign("is not a regular file"));
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
    // Opening a pipe would wait for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK
        | if defended { rustix::fs::OFlags::NOFOLLOW } else { rustix::fs::OFlags::empty() };
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _: bool) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Returns the reason why another user may have written the file.
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
