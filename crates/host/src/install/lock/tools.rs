//! The texts of tools, beside what else was approved of their extension.

use std::collections::BTreeMap;

use haft_protocol::ids::ExtensionName;

use super::{Approved, Entry, LockError};
use crate::pins::PinnedTool;

impl Approved {
    /// Agrees to the texts that tools of an extension have now. What came meanwhile is not agreed to.
    ///
    /// # Errors
    /// When the lock file cannot be changed.
    pub fn agree(
        &self,
        extension: &ExtensionName,
        shown: &BTreeMap<String, PinnedTool>,
    ) -> Result<(), LockError> {
        self.of(extension, |entry| {
            for (name, tool) in shown {
                entry.tools.insert(name.clone(), tool.clone());
                if entry.changed.get(name) == Some(tool) {
                    entry.changed.remove(name);
                }
            }
        })
    }

    /// One that is not approved any more has nothing to keep.
    fn of(&self, extension: &ExtensionName, change: impl FnOnce(&mut Entry)) -> Result<(), LockError> {
        self.edit(|file| file.extensions.get_mut(extension).map(change)).map(drop)
    }
}
