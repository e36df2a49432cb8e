//! The texts of tools, stored in the lock file beside the code that registered them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;

use super::lock::{ApprovalStore, LockEntry, LockError};
use crate::pins::{PinnedTool, ToolPins};

/// A function that runs a job in the background, for example on a blocking thread of the runtime.
pub type BackgroundSpawner = fn(Box<dyn FnOnce() + Send>);

/// The texts of tools in the lock file. The file is read again only after another process changed it.
///
/// New texts are written in the background. Texts that are lost when the process ends count as new the next time.
#[derive(Debug)]
pub struct LockFileToolPins(Arc<ToolPinWriter>);

#[derive(Debug)]
struct ToolPinWriter {
    approved: ApprovalStore,
    background: BackgroundSpawner,
    state: Mutex<PendingToolPins>,
}

#[derive(Debug, Default)]
struct PendingToolPins {
    /// The registrations that are not written yet.
    new: Vec<ToolRegistration>,
    is_writing: bool,
}

#[derive(Debug)]
struct ToolRegistration {
    extension: ExtensionName,
    tools: BTreeMap<String, PinnedTool>,
    /// True if these texts differ from the approved ones.
    differ: bool,
}

impl LockFileToolPins {
    /// Returns the texts in the user's lock file. `background` runs the jobs that write them.
    pub fn new(approved: ApprovalStore, background: BackgroundSpawner) -> Self {
        Self(Arc::new(ToolPinWriter { approved, background, state: Mutex::default() }))
    }

    fn enqueue(&self, registered: ToolRegistration) {
        let mut state = self.0.state();
        state.new.push(registered);
        if std::mem::replace(&mut state.is_writing, true) {
            return;
        }
        drop(state);
        let inner = Arc::clone(&self.0);
        let write = move || inner.write();
        (self.0.background)(Box::new(write));
    }
}

impl ToolPins for LockFileToolPins {
    fn pinned_tools(&self, extension: &ExtensionName) -> Option<BTreeMap<String, PinnedTool>> {
        // A file with an error approves nothing; discovery reports it.
        let file = self.0.approved.load_cached().ok()?;
        file.extensions.get(extension).map(|entry| entry.tools.clone())
    }

    fn pin_tools(
        &self,
        extension: &ExtensionName,
        tools: BTreeMap<String, PinnedTool>,
    ) -> Result<(), String> {
        self.enqueue(ToolRegistration { extension: extension.clone(), tools, differ: false });
        Ok(())
    }

    fn record_locked_tools(
        &self,
        extension: &ExtensionName,
        tools: BTreeMap<String, PinnedTool>,
    ) -> Result<(), String> {
        self.enqueue(ToolRegistration { extension: extension.clone(), tools, differ: true });
        Ok(())
    }
}

impl ToolPinWriter {
    /// Writes new registrations until none is left.
    fn write(&self) {
        loop {
            let new = {
                let mut state = self.state();
                state.is_writing = !state.new.is_empty();
                std::mem::take(&mut state.new)
            };
            if new.is_empty() {
                return;
            }
            let written = self.approved.edit(|file| {
                for ToolRegistration { extension, tools, differ } in new {
                    // The extension was removed in the meantime.
                    let Some(entry) = file.extensions.get_mut(&extension) else { continue };
                    for (name, tool) in tools {
                        match differ {
                            true => entry.lock_tool(name, tool),
                            false => _ = entry.tools.entry(name).or_insert(tool),
                        }
                    }
                }
            });
            if let Err(error) = written {
                tracing::warn!(%error, "cannot store the texts of tools in the lock file");
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, PendingToolPins> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Approves the changed texts of an extension's tools as they are in `shown`. Texts that came later are not approved.
/// Returns false if another version is approved by now, whose texts the user has not seen.
///
/// # Errors
/// If the lock file cannot be changed.
pub fn approve_tools(
    approved: &ApprovalStore,
    extension: &ExtensionName,
    shown: &LockEntry,
) -> Result<bool, LockError> {
    approved.edit(|file| {
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
