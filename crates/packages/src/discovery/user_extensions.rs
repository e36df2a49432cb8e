//! The user's extensions: the global directory's, and the approved ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ExtensionName;

use super::{ExtensionCandidate, scan};
use crate::approval::contents::{TreeContents, TreeStampHasher};
use crate::approval::lock::{ApprovalStore, InstallOrigin, LockEntry, LockError, LockFile};
use crate::approval::{CodePin, digest_of};
use crate::manifest::{Manifest, ManifestError};

/// An extension of the user.
#[derive(Debug)]
pub(crate) struct UserExtension<'a> {
    /// Its directory, and its manifest: the approved manifest if there is one.
    pub(crate) candidate: ExtensionCandidate,
    /// Its approval, or `None` if it is not approved.
    pub(crate) approved_version: Option<ApprovedVersion<'a>>,
}

/// The approved version of an extension.
#[derive(Debug)]
pub(crate) struct ApprovedVersion<'a> {
    pub(crate) name: &'a ExtensionName,
    pub(crate) entry: &'a LockEntry,
    pub(crate) dir: PathBuf,
    /// The reason why it does not run: its differences from the approved version.
    pub(crate) changed: Option<String>,
}

/// Loads the approvals: none if the lock file cannot be used, with the error.
pub(crate) fn load_approvals(approved: &ApprovalStore) -> (Arc<LockFile>, Option<LockError>) {
    match approved.load_cached() {
        Ok(file) => (file, None),
        Err(error) => (Arc::default(), Some(error)),
    }
}

/// Returns all of the user's extensions by name. The approved ones in `file` come before others with the same name.
pub(crate) fn user_extensions<'a>(
    global: Option<&Path>,
    approved: &ApprovalStore,
    file: &'a LockFile,
) -> Vec<UserExtension<'a>> {
    let (mut entries, mut by_place) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
    for (name, entry) in &file.extensions {
        match &entry.source {
            InstallOrigin::Placed { path, .. } => by_place.entry(path).or_default().push((name, entry)),
            InstallOrigin::Git { .. } | InstallOrigin::Directory { .. } => entries.push((name, entry)),
        }
    }
    let mut all: Vec<UserExtension<'a>> = Vec::new();
    for candidate in global.into_iter().flat_map(scan) {
        let named = candidate.name();
        let there = by_place.get_mut(&candidate.dir).and_then(|there| {
            // A directory is one extension. Other extensions approved in the same directory are missing.
            let at = there.iter().position(|(name, _)| name.as_str() == named).unwrap_or_default();
            (at < there.len()).then(|| there.swap_remove(at))
        });
        all.push(match there {
            Some((name, entry)) => from_global_dir(approved, name, entry, candidate),
            None => UserExtension { candidate, approved_version: None },
        });
    }
    let gone = by_place.into_values().flatten();
    all.reserve(entries.len());
    for (name, entry) in entries.into_iter().chain(gone) {
        all.push(from_store(approved, name, entry));
    }
    // Approved extensions come first, so that another one cannot take such a name in another case.
    all.sort_by_cached_key(|owned| (owned.approved_version.is_none(), owned.name().to_ascii_lowercase()));
    all
}

/// Returns an extension that is in the global directory and was approved there.
fn from_global_dir<'a>(
    approved: &ApprovalStore,
    name: &'a ExtensionName,
    entry: &'a LockEntry,
    found: ExtensionCandidate,
) -> UserExtension<'a> {
    if !is_up(Defense::PinnedCode) {
        let held = ApprovedVersion { dir: found.dir.clone(), name, entry, changed: None };
        return UserExtension { candidate: found, approved_version: Some(held) };
    }
    let changed = describe_difference(approved, entry, &found.dir).map(|what| {
        format!(
            "it differs from the approved version: {what}; `haft ext trust {name}` shows the changes \
        and asks"
        )
    });
    if changed.is_none() && !is_up(Defense::PinnedManifest) {
        let held = ApprovedVersion { dir: approved.run_dir(name, entry), name, entry, changed };
        return UserExtension { candidate: found, approved_version: Some(held) };
    }
    from_approval(approved, name, entry, Some(found.dir), changed)
}

/// Returns an extension that is only in the store. If it was approved in the global directory, it was removed from
/// there.
fn from_store<'a>(
    approved: &ApprovalStore,
    name: &'a ExtensionName,
    entry: &'a LockEntry,
) -> UserExtension<'a> {
    let changed = match &entry.source {
        InstallOrigin::Placed { path, .. } => Some(format!(
            "it was removed from {}; run `haft ext remove {name}` to remove its approval",
            path.display()
        )),
        InstallOrigin::Git { .. } | InstallOrigin::Directory { .. } => None,
    };
    from_approval(approved, name, entry, None, changed)
}

/// Returns the approved version with its manifest from the store, because the files elsewhere can change. Without a
/// `place`, the extension is only in the store.
fn from_approval<'a>(
    approved: &ApprovalStore,
    name: &'a ExtensionName,
    entry: &'a LockEntry,
    place: Option<PathBuf>,
    changed: Option<String>,
) -> UserExtension<'a> {
    let code = approved.tree_store().tree_path(&entry.tree);
    let is_it = |bytes: &[u8]| digest_of(bytes) == entry.manifest || !is_up(Defense::PinnedCode);
    let (manifest, unusable) = match Manifest::read_if(&code, is_it) {
        Ok(Some(manifest)) => (Ok(manifest), None),
        Ok(None) => {
            let error = ManifestError::Missing { dir: code.clone() };
            (Err(error.into()), Some("its manifest differs from the approved one".to_owned()))
        }
        Err(error) => {
            let why = error.to_string();
            (Err(error.into()), Some(why))
        }
    };
    let unusable =
        unusable.map(|why| format!("cannot use its code in the store: {why}; install or approve it again"));
    let changed = changed.or(unusable);
    let held = ApprovedVersion { dir: approved.run_dir(name, entry), name, entry, changed };
    UserExtension {
        candidate: ExtensionCandidate { dir: place.unwrap_or(code), manifest },
        approved_version: Some(held),
    }
}

/// Returns the difference between a directory and its approval, if any. The directory is read only if its metadata
/// changed since the approval.
fn describe_difference(approved: &ApprovalStore, entry: &LockEntry, place: &Path) -> Option<String> {
    if let InstallOrigin::Placed { looks: Some(looks), .. } = &entry.source
        && TreeStampHasher::stamp_tree(place).is_ok_and(|(now, _)| now == *looks)
    {
        return None;
    }
    match TreeContents::read(place) {
        Err(error) => Some(error.to_string()),
        Ok(now) if now.digest() == entry.tree => None,
        Ok(now) => {
            let difference = approved.tree_store().difference(&entry.tree, &now);
            Some(
                difference.map_or_else(|| "the approved code is missing".to_owned(), |what| what.to_string()),
            )
        }
    }
}

impl UserExtension<'_> {
    fn name(&self) -> String {
        self.approved_version
            .as_ref()
            .map_or_else(|| self.candidate.name(), |held| held.name.as_str().to_owned())
    }
}

impl ApprovedVersion<'_> {
    /// Returns the checks before its start.
    pub(crate) fn code_pin(&self, approved: &ApprovalStore) -> CodePin {
        CodePin {
            trees: approved.tree_store(),
            tree: self.entry.tree,
            copy: self.entry.runs_in_copy().then(|| self.dir.clone()),
            interpreter: self.entry.interpreter.clone(),
            changed: self.changed.clone(),
        }
    }
}
