//! The texts of tools, kept in the lock file beside the code that registered them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::ids::ExtensionName;

use super::lock::Approved;
use crate::pins::{PinnedTool, ToolPins};

/// What the lock file says of the texts of tools. It is read again only when somebody else has changed it.
///
/// A text that is new is written down behind the run's back; one that is lost with the run counts as new the next time.
#[derive(Debug)]
pub struct LockedTools(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    approved: Approved,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What is to be written down.
    new: Vec<Registered>,
    writes: bool,
}

/// What an extension registered.
#[derive(Debug)]
struct Registered {
    extension: ExtensionName,
    tools: BTreeMap<String, PinnedTool>,
    /// Whether these are other texts than those that count.
    differ: bool,
}

impl LockedTools {
    /// Those of the user's lock file.
    pub fn new(approved: Approved) -> Self {
        Self(Arc::new(Inner { approved, state: Mutex::default() }))
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
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(write)),
            Err(_) => write(),
        }
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
