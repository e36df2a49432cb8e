//! The user's extensions: what lies in the global directory, beside what was approved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::ids::ExtensionName;

use super::{Candidate, scan};
use crate::approved::contents::{Contents, Looks};
use crate::approved::lock::{Approved, Came, Entry, LockError, LockFile};
use crate::approved::{Pin, digest_of};
use crate::manifest::{Manifest, ManifestError};

/// One extension of the user's.
#[derive(Debug)]
pub(crate) struct Owned<'a> {
    /// Where it lies, and what its manifest says: that of the approved code where there is some.
    pub(crate) candidate: Candidate,
    /// The approval of it; none when it was not approved.
    pub(crate) held: Option<Held<'a>>,
}

/// The approved version of an extension.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    pub(crate) name: &'a ExtensionName,
    pub(crate) entry: &'a Entry,
    pub(crate) dir: PathBuf,
    /// Why it is not run: how what is there differs from what was approved.
    pub(crate) changed: Option<String>,
}

/// Reads what was approved: nothing where the lock file cannot be used, with the error beside it.
pub(crate) fn approvals(approved: &Approved) -> (Arc<LockFile>, Option<LockError>) {
    match approved.current() {
        Ok(file) => (file, None),
        Err(error) => (Arc::default(), Some(error)),
    }
}

/// All of them by name, what was approved, which `file` says, before what has the same name.
pub(crate) fn owned<'a>(global: Option<&Path>, approved: &Approved, file: &'a LockFile) -> Vec<Owned<'a>> {
    let (mut entries, mut by_place) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
    for (name, entry) in &file.extensions {
        match &entry.source {
            Came::Placed { path, .. } => by_place.entry(path).or_default().push((name, entry)),
            Came::Git { .. } | Came::Directory { .. } => entries.push((name, entry)),
        }
    }
    let mut all: Vec<Owned<'a>> = Vec::new();
    for candidate in global.into_iter().flat_map(scan) {
        let named = candidate.name();
        let there = by_place.get_mut(&candidate.dir).and_then(|there| {
            // One directory is one extension. Whoever else was approved there is missed.
            let at = there.iter().position(|(name, _)| name.as_str() == named).unwrap_or_default();
            (at < there.len()).then(|| there.swap_remove(at))
        });
        all.push(match there {
            Some((name, entry)) => placed(approved, name, entry, candidate),
            None => Owned { candidate, held: None },
        });
    }
    let gone = by_place.into_values().flatten();
    all.reserve(entries.len());
    for (name, entry) in entries.into_iter().chain(gone) {
        all.push(stored(approved, name, entry));
    }
    // What was approved comes first, or something beside it could take its name with other letters.
    all.sort_by_cached_key(|owned| (owned.held.is_none(), owned.name().to_ascii_lowercase()));
    all
}

/// One that lies in the global directory and was approved there.
fn placed<'a>(approved: &Approved, name: &'a ExtensionName, entry: &'a Entry, found: Candidate) -> Owned<'a> {
    if !is_up(Defence::PinnedCode) {
        let held = Held { dir: found.dir.clone(), name, entry, changed: None };
        return Owned { candidate: found, held: Some(held) };
    }
    let changed = difference(approved, entry, &found.dir).map(|what| {
        format!("it is not what was approved: {what}; `haft ext trust {name}` shows what changed, and asks")
    });
    if changed.is_none() && !is_up(Defence::PinnedManifest) {
        let held = Held { dir: approved.runs_in(name, entry), name, entry, changed };
        return Owned { candidate: found, held: Some(held) };
    }
    held(approved, name, entry, Some(found.dir), changed)
}

/// One that lies in the store only; one that was put into the global directory is gone from there.
fn stored<'a>(approved: &Approved, name: &'a ExtensionName, entry: &'a Entry) -> Owned<'a> {
    let changed = match &entry.source {
        Came::Placed { path, .. } => Some(format!(
            "it was removed from {}; `haft ext remove {name}` forgets that it was approved",
            path.display()
        )),
        Came::Git { .. } | Came::Directory { .. } => None,
    };
    held(approved, name, entry, None, changed)
}

/// Returns the approved version, with its manifest: whatever lies elsewhere may be another one by the time it is read.
/// What has no `place` lies in the store only.
fn held<'a>(
    approved: &Approved,
    name: &'a ExtensionName,
    entry: &'a Entry,
    place: Option<PathBuf>,
    changed: Option<String>,
) -> Owned<'a> {
    let code = approved.trees().place(&entry.tree);
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
    let held = Held { dir: approved.runs_in(name, entry), name, entry, changed };
    Owned { candidate: Candidate { dir: place.unwrap_or(code), manifest }, held: Some(held) }
}

/// Returns the difference between a directory and its approval; none when there is none. It is read only when it looks
/// otherwise than it did then.
fn difference(approved: &Approved, entry: &Entry, place: &Path) -> Option<String> {
    if let Came::Placed { looks: Some(looks), .. } = &entry.source
        && Looks::of_tree(place).is_ok_and(|(now, _)| now == *looks)
    {
        return None;
    }
    match Contents::read(place) {
        Err(error) => Some(error.to_string()),
        Ok(now) if now.digest() == entry.tree => None,
        Ok(now) => {
            let difference = approved.trees().difference(&entry.tree, &now);
            Some(difference.map_or_else(|| "what was approved is gone".to_owned(), |what| what.to_string()))
        }
    }
}

impl Owned<'_> {
    fn name(&self) -> String {
        self.held.as_ref().map_or_else(|| self.candidate.name(), |held| held.name.as_str().to_owned())
    }
}

impl Held<'_> {
    /// Returns the conditions for its start.
    pub(crate) fn pin(&self, approved: &Approved) -> Pin {
        Pin {
            trees: approved.trees(),
            tree: self.entry.tree,
            copy: self.entry.runs_in_copy().then(|| self.dir.clone()),
            interpreter: self.entry.interpreter.clone(),
            changed: self.changed.clone(),
        }
    }
}
