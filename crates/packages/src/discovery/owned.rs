//! The user's extensions: what lies in the global directory, beside what was approved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ids::ExtensionName;

use super::{ExtensionCandidate, scan};
use crate::approved::contents::{TreeContents, TreeStampHasher};
use crate::approved::lock::{ApprovalStore, InstallOrigin, LockEntry, LockError, LockFile};
use crate::approved::{CodePin, digest_of};
use crate::manifest::{Manifest, ManifestError};

/// One extension of the user's.
#[derive(Debug)]
pub(crate) struct UserExtension<'a> {
    /// Where it lies, and what its manifest says: that of the approved code where there is some.
    pub(crate) candidate: ExtensionCandidate,
    /// The approval of it; none when it was not approved.
    pub(crate) approved_version: Option<ApprovedVersion<'a>>,
}

/// The approved version of an extension.
#[derive(Debug)]
pub(crate) struct ApprovedVersion<'a> {
    pub(crate) name: &'a ExtensionName,
    pub(crate) entry: &'a LockEntry,
    pub(crate) dir: PathBuf,
    /// Why it is not run: how what is there differs from what was approved.
    pub(crate) changed: Option<String>,
}

/// Reads what was approved: nothing where the lock file cannot be used, with the error beside it.
pub(crate) fn load_approvals(approved: &ApprovalStore) -> (Arc<LockFile>, Option<LockError>) {
    match approved.load_cached() {
        Ok(file) => (file, None),
        Err(error) => (Arc::default(), Some(error)),
    }
}

/// All of them by name, what was approved, which `file` says, before what has the same name.
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
            // One directory is one extension. Whoever else was approved there is missed.
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
    // What was approved comes first, or something beside it could take its name with other letters.
    all.sort_by_cached_key(|owned| (owned.approved_version.is_none(), owned.name().to_ascii_lowercase()));
    all
}

/// One that lies in the global directory and was approved there.
fn from_global_dir<'a>(
    approved: &ApprovalStore,
    name: &'a ExtensionName,
    entry: &'a LockEntry,
    found: ExtensionCandidate,
) -> UserExtension<'a> {
    if !is_up(Defence::PinnedCode) {
        let held = ApprovedVersion { dir: found.dir.clone(), name, entry, changed: None };
        return UserExtension { candidate: found, approved_version: Some(held) };
    }
    let changed = describe_difference(approved, entry, &found.dir).map(|what| {
        format!("it is not what was approved: {what}; `haft ext trust {name}` shows what changed, and asks")
    });
    if changed.is_none() && !is_up(Defence::PinnedManifest) {
        let held = ApprovedVersion { dir: approved.run_dir(name, entry), name, entry, changed };
        return UserExtension { candidate: found, approved_version: Some(held) };
    }
    from_approval(approved, name, entry, Some(found.dir), changed)
}

/// One that lies in the store only; one that was put into the global directory is gone from there.
fn from_store<'a>(
    approved: &ApprovalStore,
    name: &'a ExtensionName,
    entry: &'a LockEntry,
) -> UserExtension<'a> {
    let changed = match &entry.source {
        InstallOrigin::Placed { path, .. } => Some(format!(
            "it was removed from {}; `haft ext remove {name}` forgets that it was approved",
            path.display()
        )),
        InstallOrigin::Git { .. } | InstallOrigin::Directory { .. } => None,
    };
    from_approval(approved, name, entry, None, changed)
}

/// Returns the approved version, with its manifest: whatever lies elsewhere may be another one by the time it is read.
/// What has no `place` lies in the store only.
fn from_approval<'a>(
    approved: &ApprovalStore,
    name: &'a ExtensionName,
    entry: &'a LockEntry,
    place: Option<PathBuf>,
    changed: Option<String>,
) -> UserExtension<'a> {
    let code = approved.tree_store().tree_path(&entry.tree);
    let is_it = |bytes: &[u8]| digest_of(bytes) == entry.manifest || !is_up(Defence::PinnedCode);
    let (manifest, unusable) = match Manifest::read_if(&code, is_it) {
        Ok(Some(manifest)) => (Ok(manifest), None),
        Ok(None) => {
            let error = ManifestError::Missing { dir: code.clone() };
            (Err(error.into()), Some("its manifest is not the one that was approved".to_owned()))
        }
        Err(error) => {
            let why = error.to_string();
            (Err(error.into()), Some(why))
        }
    };
    let unusable = unusable
        .map(|why| format!("its code in the store cannot be used: {why}; install or approve it again"));
    let changed = changed.or(unusable);
    let held = ApprovedVersion { dir: approved.run_dir(name, entry), name, entry, changed };
    UserExtension {
        candidate: ExtensionCandidate { dir: place.unwrap_or(code), manifest },
        approved_version: Some(held),
    }
}

/// Returns the difference between a directory and its approval; none when there is none. It is read only when it looks
/// otherwise than it did then.
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
            Some(difference.map_or_else(|| "what was approved is gone".to_owned(), |what| what.to_string()))
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
    /// Returns the conditions for its start.
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
