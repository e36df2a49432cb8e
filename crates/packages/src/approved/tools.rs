//! The texts of tools, kept in the lock file beside the code that registered them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;

use super::lock::{ApprovalStore, LockEntry, LockError};
use crate::pins::{PinnedTool, ToolPins};

/// Runs a job beside the caller, for example on a thread of its runtime that may block.
pub type BackgroundSpawner = fn(Box<dyn FnOnce() + Send>);

/// The texts of tools in the lock file. The file is read again only when another process has changed it.
///
/// New texts are written in the background. Texts that are lost with the run count as new the next time.
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
    /// The registrations to write down.
    new: Vec<ToolRegistration>,
    is_writing: bool,
}

#[derive(Debug)]
struct ToolRegistration {
    extension: ExtensionName,
    tools: BTreeMap<String, PinnedTool>,
    /// True if these are other texts than those that count.
    differ: bool,
}

impl LockFileToolPins {
    /// The texts in the user's lock file, which are written by jobs that `background` runs.
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
        // One that cannot be used approves nothing, and that is told where extensions are looked for.
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
    /// Writes down what is new, until nothing is.
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
                    // One that was removed meanwhile has nothing to be kept beside.
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
                tracing::warn!(%error, "the texts of tools are not kept");
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, PendingToolPins> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Agrees to the texts that tools of an extension came with, as they are in `shown`; texts that came later are not
/// agreed to. Returns true if this version is still the approved one: nobody has agreed to the texts of another one.
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
