//! Going back to a version that was approved before.

use haft_protocol::ids::ExtensionName;

use super::lock::{Approved, Came, Entry};
use super::{InstallError, Kept, Row};
use crate::approved::copies;
use crate::approved::error::with_causes;
use crate::approved::workshop::Workshop;

/// A version that can be gone back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Older {
    /// The entry for the lock file.
    pub entry: Entry,
    /// Newer ones that cannot be, the newest first.
    pub passed: Vec<Passed>,
}

/// A version that cannot be gone back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The approved entry.
    pub entry: Entry,
    /// Why it is not used, for people.
    pub why: String,
}

/// The outcome of going back to an older version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// The present entry of the lock file.
    pub entry: Entry,
    /// The files that the extension had written where the older version has its own, by where they are now.
    pub kept: Vec<Kept>,
    /// Warnings about leftovers that could not be put in order yet, for people. The older version is the one that
    /// counts all the same.
    pub warnings: Vec<String>,
}

/// Finds a version to go back to, see [`Store::older`](super::Store::older).
pub(super) fn older(approved: &Approved, row: &Row) -> Result<Older, InstallError> {
    let name = ExtensionName::new(&row.name);
    let mut passed = Vec::new();
    for (index, older) in row.entry.iter().flat_map(|entry| &entry.previous).enumerate() {
        let back = row.entry.as_ref().and_then(|entry| entry.rolled_back(index));
        match (back, unusable(approved, older)) {
            (Some(entry), None) => return Ok(Older { entry, passed }),
            (_, why) => {
                let why = why.unwrap_or_else(|| "there is no such version".to_owned());
                passed.push(Passed { entry: older.clone(), why });
            }
        }
    }
    if passed.is_empty() {
        return Err(InstallError::NoOlder { name });
    }
    let all: Vec<_> =
        passed.iter().map(|Passed { entry, why }| format!("{}: {why}", entry.tree.short())).collect();
    Err(InstallError::NoneUsable { name, why: all.join("; ") })
}

fn unusable(approved: &Approved, older: &Entry) -> Option<String> {
    if let Came::Placed { path, .. } = &older.source {
        return Some(format!("it lay in {}, where its files are yours to change", path.display()));
    }
    approved.trees().verify(&older.tree).err().map(|error| with_causes(&error))
}

pub(super) fn roll_back(approved: &Approved, row: &Row, older: &Older) -> Result<RolledBack, InstallError> {
    let trees = approved.trees();
    let _workshop = Workshop::open(trees.dir())?;
    let (name, older) = (ExtensionName::new(&row.name), &older.entry);
    let unusable = |error| InstallError::Tree { name: name.clone(), source: error };
    let code = trees.verify(&older.tree).map_err(unusable)?;
    let dir = approved.runs_in(&name, older);
    let kept = trees.make_room(row.entry.as_ref(), older, &code, &dir)?;
    let edited = approved.edit(|file| {
        let known = file.extensions.get_mut(&name)?;
        row.entry.as_ref().filter(|shown| known.is_same_version(shown))?;
        let index = known.previous.iter().position(|version| version.is_same_version(older))?;
        *known = known.rolled_back(index)?;
        Some(known.clone())
    });
    let done = edited.map_err(InstallError::from).and_then(|done| done.ok_or_else(|| row.meanwhile()));
    let entry = done.inspect_err(|_| copies::put_back(&kept))?;
    let warnings = trees.restore_copy(&entry, &code, &dir).into_iter().collect();
    Ok(RolledBack { entry, kept, warnings })
}
