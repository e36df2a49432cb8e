//! Installed extensions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use haft_launch::sandbox::ConfinementLevel;
use haft_protocol::ids::ExtensionName;

use super::InstallError;
use super::lock::Entry;
use crate::discovery::{Candidate, Held, Owned, scan};
use crate::manifest::Exec;
use crate::manifest::permission::Permissions;
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
    /// The command that would be started.
    pub exec: Option<Exec>,
    /// Its directory, absolute: where the user put it, else where it lies in the store.
    pub dir: PathBuf,
    /// Where it runs.
    pub runs_in: PathBuf,
    /// The sandbox that it runs in by itself, or would run in; none for one that would have the user's rights.
    pub level: Option<ConfinementLevel>,
    /// The entry of its approval.
    pub entry: Option<Entry>,
    /// The state of the extension.
    pub state: State,
}

impl Row {
    /// The error for a change of an extension that somebody else has changed since this was looked up.
    pub(super) fn meanwhile(&self) -> InstallError {
        InstallError::Meanwhile { name: ExtensionName::new(&self.name) }
    }
}

/// The state of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It can.
    Enabled,
    /// It was switched off.
    Disabled,
    /// It lies in the user's directory, and the user has not approved it.
    NotApproved,
    /// It is not what was approved; the text says why.
    Changed(String),
    /// It cannot; the text says why.
    Broken(String),
}

/// The extensions in one directory, by name; of those nothing is approved.
pub(super) fn rows(dir: &Path, origin: Origin, path: Option<&OsStr>) -> Vec<Row> {
    scan(dir).into_iter().map(|candidate| row(candidate, origin, path)).collect()
}

pub(super) fn owned(owned: Owned<'_>, path: Option<&OsStr>) -> Row {
    let mut row = row(owned.candidate, Origin::Global, path);
    let Some(Held { name, entry, dir, changed }) = owned.held else {
        if row.state == State::Enabled {
            row.state = State::NotApproved;
        }
        return row;
    };
    row.state = match changed {
        Some(why) => State::Changed(why),
        None if !entry.enabled => State::Disabled,
        None => State::Enabled,
    };
    Row {
        name: name.as_str().to_owned(),
        runs_in: dir,
        level: entry.sandbox,
        entry: Some(entry.clone()),
        ..row
    }
}

fn row(candidate: Candidate, origin: Origin, path: Option<&OsStr>) -> Row {
    let name = candidate.name();
    let Candidate { dir, manifest } = candidate;
    let (manifest, state) = match manifest {
        Ok(manifest) => {
            let state = match manifest.launch(&dir, path) {
                _ if !manifest.enabled => State::Disabled,
                Ok(_) => State::Enabled,
                Err(error) => State::Broken(error.to_string()),
            };
            (Some(manifest), state)
        }
        Err(error) => (None, State::Broken(error.to_string())),
    };
    let level = manifest.as_ref().and_then(|manifest| manifest.permissions.as_ref()).map(Permissions::level);
    let (version, language, description, exec) = manifest
        .map(|manifest| (manifest.version, manifest.language, manifest.description, manifest.exec))
        .unwrap_or_default();
    let runs_in = dir.clone();
    Row { origin, name, version, language, description, exec, dir, runs_in, level, entry: None, state }
}
