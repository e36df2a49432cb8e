//! What is installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::discovery::{Candidate, dir_name, scan};
use crate::manifest::Exec;
use crate::spec::Origin;

/// One extension that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The user's or the project's.
    pub origin: Origin,
    /// The manifest's name, or the directory's when the manifest is broken.
    pub name: String,
    /// The manifest's version.
    pub version: Option<String>,
    /// The manifest's language.
    pub language: Option<String>,
    /// The manifest's description.
    pub description: Option<String>,
    /// What would be started.
    pub exec: Option<Exec>,
    /// Its directory, absolute.
    pub dir: PathBuf,
    /// Whether it can run.
    pub state: State,
}

/// Whether an extension can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It can.
    Enabled,
    /// Its manifest says `"enabled": false`.
    Disabled,
    /// It cannot; the text says why.
    Broken(String),
}

impl Row {
    /// The name of its directory.
    pub fn dir_name(&self) -> String {
        dir_name(&self.dir)
    }
}

/// The extensions in one directory, by name.
pub(super) fn rows(dir: &Path, origin: Origin, path: Option<&OsStr>) -> Vec<Row> {
    scan(dir).into_iter().map(|candidate| row(candidate, origin, path)).collect()
}

fn row(candidate: Candidate, origin: Origin, path: Option<&OsStr>) -> Row {
    let name = candidate.name();
    let Candidate { dir, manifest } = candidate;
    match manifest {
        Ok(manifest) => {
            let state = match manifest.launch(&dir, path) {
                _ if !manifest.enabled => State::Disabled,
                Ok(_) => State::Enabled,
                Err(error) => State::Broken(error.to_string()),
            };
            let (version, language, description) =
                (manifest.version, manifest.language, manifest.description);
            Row { origin, name, version, language, description, exec: manifest.exec, dir, state }
        }
        Err(error) => {
            let state = State::Broken(error.to_string());
            Row { origin, name, version: None, language: None, description: None, exec: None, dir, state }
        }
    }
}
