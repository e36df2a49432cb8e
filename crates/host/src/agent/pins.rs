//! The pinned texts of tools, as an approved extension first registered them. A tool with other texts is
//! locked until the user has reviewed them, because these texts influence the model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_packages::{ExtensionOrigin, ExtensionSpec, PinnedTool, ToolPins};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ids::ExtensionName;

use crate::session::offers::OfferedTool;

/// Runs a job on a blocking thread of the current runtime, or immediately if there is no runtime.
///
/// The background runner for [`LockFileToolPins`](haft_packages::install::LockFileToolPins) in a program with
/// a runtime.
pub fn run_in_background(job: Box<dyn FnOnce() + Send>) {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(job)),
        Err(_) => job(),
    }
}

/// The pinned texts of tools since the last start or reload.
#[derive(Debug)]
pub(crate) struct ToolTextPins {
    store: Option<Arc<dyn ToolPins>>,
    known: Mutex<KnownToolTexts>,
}

#[derive(Debug, Default)]
struct KnownToolTexts {
    extensions: BTreeMap<ExtensionName, Option<BTreeMap<String, PinnedTool>>>,
    /// Locked tools that were reported.
    reported: BTreeSet<(ExtensionName, String)>,
    new: BTreeMap<ExtensionName, BTreeMap<String, PinnedTool>>,
    /// Tools to store as locked.
    changed: BTreeMap<ExtensionName, BTreeMap<String, PinnedTool>>,
}

impl From<&OfferedTool> for PinnedTool {
    fn from(tool: &OfferedTool) -> Self {
        let OfferedTool { description, schema, guidelines, snippet, .. } = tool.clone();
        Self { description, schema, guidelines, snippet }
    }
}

impl ToolTextPins {
    pub(crate) fn new(kept: Option<Arc<dyn ToolPins>>) -> Self {
        Self { store: kept, known: Mutex::default() }
    }

    /// Drops the cached texts, because the stored ones may have changed.
    pub(crate) fn clear_cache(&self) {
        *self.lock_known() = KnownToolTexts::default();
    }

    /// True if the texts of a tool differ from the pinned ones. A tool without a pin is pinned with its
    /// current texts.
    pub(crate) fn is_locked_or_pin(&self, spec: &ExtensionSpec, tool: &OfferedTool) -> bool {
        let Some(kept) = self.store.as_ref().filter(|_| may_be_pinned(spec)) else { return false };
        let mut known = self.lock_known();
        let pinned =
            known.extensions.entry(spec.name.clone()).or_insert_with(|| kept.pinned_tools(&spec.name));
        let Some(pinned) = pinned else { return false };
        let now = PinnedTool::from(tool);
        if let Some(before) = pinned.get(&tool.name) {
            return !before.is_same(&now) && is_up(Defense::ToolTexts);
        }
        pinned.insert(tool.name.clone(), now.clone());
        known.new.entry(spec.name.clone()).or_default().insert(tool.name.clone(), now);
        false
    }

    /// True if the lock of this tool was not reported yet.
    pub(crate) fn should_report_lock(&self, extension: &ExtensionName, tool: &OfferedTool) -> bool {
        let mut known = self.lock_known();
        let is_new = known.reported.insert((extension.clone(), tool.name.clone()));
        if is_new {
            let changed = known.changed.entry(extension.clone()).or_default();
            changed.insert(tool.name.clone(), PinnedTool::from(tool));
        }
        is_new
    }

    /// Stores new pins. May write a file, so the caller must not hold a lock.
    pub(crate) fn save(&self) {
        let Some(kept) = &self.store else { return };
        let (new, changed) = {
            let mut known = self.lock_known();
            (std::mem::take(&mut known.new), std::mem::take(&mut known.changed))
        };
        let new = new.into_iter().map(|(extension, tools)| (kept.pin_tools(&extension, tools), extension));
        let changed = changed
            .into_iter()
            .map(|(extension, tools)| (kept.record_locked_tools(&extension, tools), extension));
        for (outcome, extension) in new.chain(changed) {
            if let Err(why) = outcome {
                tracing::warn!(%extension, why, "cannot save the approved tool descriptions");
            }
        }
    }

    fn lock_known(&self) -> MutexGuard<'_, KnownToolTexts> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// False for an extension of the command line, which is under development, and for one that is built in.
fn may_be_pinned(spec: &ExtensionSpec) -> bool {
    match spec.origin {
        ExtensionOrigin::Global => true,
        ExtensionOrigin::Explicit
        | ExtensionOrigin::BuiltIn
        | ExtensionOrigin::Project
        | ExtensionOrigin::Hook => false,
    }
}

pub(crate) fn locked_tool_message(extension: &ExtensionName, tool: &str) -> String {
    format!(
        "tool {tool} is locked, because its description or schema differs from the approved one; run \
         `haft ext trust {extension}` to review and approve the change"
    )
}
