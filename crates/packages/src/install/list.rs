//! The list of installed extensions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use haft_launch::sandbox::ConfinementLevel;
use haft_protocol::ids::ExtensionName;

use super::InstallError;
use super::lock::LockEntry;
use crate::discovery::{ApprovedVersion, ExtensionCandidate, UserExtension, scan};
use crate::manifest::ExecCommand;
use crate::manifest::permission::Permissions;
use crate::spec::ExtensionOrigin;

/// An installed extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledExtension {
    /// The origin: the user's or the project's.
    pub origin: ExtensionOrigin,
    /// The manifest's name, or the directory's if the manifest is broken.
    pub name: String,
    /// The manifest's version.
    pub version: Option<String>,
    /// The manifest's language.
    pub language: Option<String>,
    /// The manifest's description.
    pub description: Option<String>,
    /// The command that would be started.
    pub exec: Option<ExecCommand>,
    /// The absolute path of its directory: the user's own, otherwise the one in the store.
    pub dir: PathBuf,
    /// The directory in which it runs.
    pub runs_in: PathBuf,
    /// The default level of its sandbox; `None` for an extension that has the user's rights.
    pub level: Option<ConfinementLevel>,
    /// The entry of its approval.
    pub entry: Option<LockEntry>,
    /// The state of the extension.
    pub state: InstallStatus,
}

impl InstalledExtension {
    /// Returns the error for an extension whose approval changed since this was looked up.
    pub(super) fn changed_meanwhile_error(&self) -> InstallError {
        InstallError::ConcurrentChange { name: ExtensionName::new(&self.name) }
    }
}

/// The state of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStatus {
    /// It can run.
    Enabled,
    /// It is disabled.
    Disabled,
    /// It is in the user's directory and not approved.
    NotApproved,
    /// It differs from the approved version, for the reason in the text.
    Changed(String),
    /// It cannot run, for the reason in the text.
    Broken(String),
}

/// Returns the extensions in one directory by name. They need no approval.
pub(super) fn rows(dir: &Path, origin: ExtensionOrigin, path: Option<&OsStr>) -> Vec<InstalledExtension> {
    scan(dir).into_iter().map(|candidate| from_candidate(candidate, origin, path)).collect()
}

pub(super) fn from_user_extension(owned: UserExtension<'_>, path: Option<&OsStr>) -> InstalledExtension {
    let mut row = from_candidate(owned.candidate, ExtensionOrigin::Global, path);
    let Some(ApprovedVersion { name, entry, dir, changed }) = owned.approved_version else {
        if row.state == InstallStatus::Enabled {
            row.state = InstallStatus::NotApproved;
        }
        return row;
    };
    row.state = match changed {
        Some(why) => InstallStatus::Changed(why),
        None if !entry.enabled => InstallStatus::Disabled,
        None => InstallStatus::Enabled,
    };
    InstalledExtension {
        name: name.as_str().to_owned(),
        runs_in: dir,
        level: entry.sandbox,
        entry: Some(entry.clone()),
        ..row
    }
}

fn from_candidate(
    candidate: ExtensionCandidate,
    origin: ExtensionOrigin,
    path: Option<&OsStr>,
) -> InstalledExtension {
    let name = candidate.name();
    let ExtensionCandidate { dir, manifest } = candidate;
    let (manifest, state) = match manifest {
        Ok(manifest) => {
            let state = match manifest.resolve_launch(&dir, path) {
                _ if !manifest.enabled => InstallStatus::Disabled,
                Ok(_) => InstallStatus::Enabled,
                Err(error) => InstallStatus::Broken(error.to_string()),
            };
            (Some(manifest), state)
        }
        Err(error) => (None, InstallStatus::Broken(error.to_string())),
    };
    let level = manifest.as_ref().and_then(|manifest| manifest.permissions.as_ref()).map(Permissions::level);
    let (version, language, description, exec) = manifest
        .map(|manifest| (manifest.version, manifest.language, manifest.description, manifest.exec))
        .unwrap_or_default();
    let runs_in = dir.clone();
    InstalledExtension {
        origin,
        name,
        version,
        language,
        description,
        exec,
        dir,
        runs_in,
        level,
        entry: None,
        state,
    }
}
