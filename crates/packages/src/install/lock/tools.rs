//! The texts of tools, beside what else was approved of their extension.

use haft_protocol::ids::ExtensionName;

use super::{Approved, Entry, LockError};

impl Approved {
    /// Agrees to the texts that tools of an extension came with, as they are in `shown`. What came meanwhile is not agreed to.
    /// Says whether it is still this version that is approved: to the texts of another one nobody has agreed.
    ///
    /// # Errors
    /// When the lock file cannot be changed.
    pub fn agree(&self, extension: &ExtensionName, shown: &Entry) -> Result<bool, LockError> {
        self.edit(|file| {
            let known = file.extensions.get_mut(extension).filter(|known| known.is_same_version(shown));
            let Some(entry) = known else { return false };
            for (name, tool) in &shown.changed {
                entry.tools.insert(name.clone(), tool.clone());
                if entry.changed.get(name) == Some(tool) {
                    entry.changed.remove(name);
                }
            }
            true
        })
    }
}
