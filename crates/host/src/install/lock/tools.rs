//! The texts of tools, beside what else was approved of their extension.

use std::collections::BTreeMap;

use haft_protocol::ids::ExtensionName;

use super::{Approved, Entry, LockError};
use crate::pins::{PinnedTool, ToolPins};

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

impl ToolPins for Approved {
    fn pinned(&self, extension: &ExtensionName) -> Option<BTreeMap<String, PinnedTool>> {
        // Where it cannot be read, nothing is approved, and nothing of it runs.
        let file = self.load().ok()?;
        file.extensions.get(extension).map(|entry| entry.tools.clone())
    }

    fn pin(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>) -> Result<(), String> {
        let add = |entry: &mut Entry| {
            for (name, tool) in tools {
                entry.tools.entry(name).or_insert(tool);
            }
        };
        self.of(extension, add).map_err(|error| error.to_string())
    }

    fn locked(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>) -> Result<(), String> {
        self.of(extension, |entry| entry.changed.extend(tools)).map_err(|error| error.to_string())
    }
}
