//! The texts of tools, kept in the lock file beside the code that registered them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;

use super::lock::{Approved, Entry, LockError};
use crate::pins::{PinnedTool, ToolPins};

/// Runs a job beside the caller, for example on a thread of its runtime that may block.
pub type Background = fn(Box<dyn FnOnce() + Send>);

/// The texts of tools in the lock file. The file is read again only when another process has changed it.
///
/// New texts are written in the background. Texts that are lost with the run count as new the next time.
#[derive(Debug)]
pub struct LockedTools(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    approved: Approved,
    background: Background,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The registrations to write down.
    new: Vec<Registered>,
    writes: bool,
}

#[derive(Debug)]
struct Registered {
    extension: ExtensionName,
    tools: BTreeMap<String, PinnedTool>,
    /// True if these are other texts than those that count.
    differ: bool,
}

impl LockedTools {
    /// The texts in the user's lock file, which are written by jobs that `background` runs.
    pub fn new(approved: Approved, background: Background) -> Self {
        Self(Arc::new(Inner { approved, background, state: Mutex::default() }))
    }

    fn keep(&self, registered: Registered) {
        let mut state = self.0.state();
        state.new.push(registered);
        if std::mem::replace(&mut state.writes, true) {
            return;
        }
        drop(state);
        let inner = Arc::clone(&self.0);
        let write = move || inner.write();
        (self.0.background)(Box::new(write));
    }
}

impl ToolPins for LockedTools {
    fn pinned(&self, extension: &ExtensionName) -> Option<BTreeMap<String, PinnedTool>> {
        // One that cannot be used approves nothing, and that is told where extensions are looked for.
        let file = self.0.approved.current().ok()?;
        file.extensions.get(extension).map(|entry| entry.tools.clone())
    }

    fn pin(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>) -> Result<(), String> {
        self.keep(Registered { extension: extension.clone(), tools, differ: false });
        Ok(())
    }

    fn locked(&self, extension: &ExtensionName, tools: BTreeMap<String, PinnedTool>) -> Result<(), String> {
        self.keep(Registered { extension: extension.clone(), tools, differ: true });
        Ok(())
    }
}

impl Inner {
    /// Writes down what is new, until nothing is.
    fn write(&self) {
        loop {
            let new = {
                let mut state = self.state();
                state.writes = !state.new.is_empty();
                std::mem::take(&mut state.new)
            };
            if new.is_empty() {
                return;
            }
            let written = self.approved.edit(|file| {
                for Registered { extension, tools, differ } in new {
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Agrees to the texts that tools of an extension came with, as they are in `shown`; texts that came later are not
/// agreed to. Returns true if this version is still the approved one: nobody has agreed to the texts of another one.
///
/// # Errors
/// If the lock file cannot be changed.
pub fn agree_to_tools(
    approved: &Approved,
    extension: &ExtensionName,
    shown: &Entry,
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
