//! Going back to the version that was approved before.

use haft_protocol::ids::ExtensionName;

use super::lock::Entry;
use super::trees::restored;
use super::workshop::Workshop;
use super::{InstallError, Kept, Row, Store, copies};

/// What came of going back to an older version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// What the lock file says of the extension now.
    pub entry: Entry,
    /// What the extension had written where the older version has something of its own, by where that is now.
    pub kept: Vec<Kept>,
    /// What could not be put in order yet, for people. The older version is the one that counts all the same.
    pub warnings: Vec<String>,
}

impl Store {
    /// Puts the version that was approved before in the place of an extension's. A newer one that waits for an answer is not
    /// asked about any more: the older one runs if the extension ran before that came.
    ///
    /// # Errors
    /// [`InstallError`] when there is none, or it is not what it was; then nothing is changed.
    pub fn roll_back(&self, row: &Row) -> Result<RolledBack, InstallError> {
        let trees = self.approved.trees();
        let _workshop = Workshop::open(trees.dir())?;
        let name = ExtensionName::new(&row.name);
        let none = || InstallError::NoOlder { name: name.clone() };
        let older = row.entry.as_ref().and_then(Entry::rolled_back).ok_or_else(none)?;
        let unusable = |error| InstallError::Tree { name: name.clone(), source: error };
        let code = trees.verify(&older.tree).map_err(unusable)?;
        let dir = self.approved.runs_in(&name, &older);
        let kept = match older.runs_in_copy() {
            true => trees.make_room(row.entry.as_ref(), &code, &dir)?,
            false => Vec::new(),
        };
        let edited = self.approved.edit(|file| {
            let known = file.extensions.get_mut(&name)?;
            *known = known.rolled_back().filter(|back| back.tree == older.tree)?;
            Some(known.clone())
        });
        let done = edited.map_err(InstallError::from).and_then(|done| done.ok_or_else(none));
        let entry = done.inspect_err(|_| copies::put_back(&kept))?;
        let restores = || copies::restore(&code, &trees.place(&entry.tree), &dir);
        let warnings = match entry.runs_in_copy() {
            true => restored(restores()).into_iter().collect(),
            false => Vec::new(),
        };
        Ok(RolledBack { entry, kept, warnings })
    }
}
