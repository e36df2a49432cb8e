//! The entry of one extension in the lock file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use haft_launch::sandbox::ConfinementLevel;
use haft_protocol::defense::{Defense, is_up};
use serde::{Deserialize, Serialize};

use super::super::digest::Digest;
use crate::manifest::permission::Permissions;
use crate::pins::PinnedTool;

/// The number of earlier versions that are kept for a rollback.
const MAX_PREVIOUS: usize = 3;

/// The approval of one extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockEntry {
    /// The source of the extension.
    pub source: InstallOrigin,
    /// The digest of its code, which names a tree in the store.
    pub tree: Digest,
    /// The digest of its `extension.json`.
    pub manifest: Digest,
    /// The absolute path of the program outside of the extension that `exec` means. It was resolved at the approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<PathBuf>,
    /// True if the actions that the extension guards are blocked while it does not run.
    #[serde(default)]
    pub required: bool,
    /// True if the extension is required or its manifest declares a gate. It then runs from the store, because files
    /// that were added to a copy could replace modules of its interpreter.
    #[serde(default)]
    pub is_gate: bool,
    /// The granted permissions; `None` for an extension without permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The level of its sandbox, or `None` without a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<ConfinementLevel>,
    /// The texts of its tools when they were first registered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, PinnedTool>,
    /// The present texts of tools that changed since. These tools are locked until the user approves the texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, PinnedTool>,
    /// The number of times that each tool changed its texts since this code was approved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub locks: BTreeMap<String, u32>,
    /// True if the extension is enabled.
    pub enabled: bool,
    /// A newer version that requests more permissions and is not approved yet. Until then neither version runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<PendingUpdate>,
    /// The user's approval.
    pub approved: Approval,
    /// The previous approvals, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<LockEntry>,
}

/// A newer version that requests more permissions than were granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingUpdate {
    /// The digest of its code.
    pub tree: Digest,
    /// The source of this version.
    pub source: InstallOrigin,
    /// True if the extension was enabled before this version came.
    pub enabled: bool,
}

/// The source of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum InstallOrigin {
    /// A git repository.
    Git {
        /// Its address.
        url: String,
        /// The commit, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// A directory outside of haft's own.
    Directory {
        /// The absolute path.
        path: PathBuf,
    },
    /// A directory in `extensions`, where the user put it. The extension does not run when the directory changes.
    Placed {
        /// The absolute path.
        path: PathBuf,
        /// The hash of its files' metadata. If it is unchanged, the files need not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        looks: Option<Digest>,
    },
}

/// The user's approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The time, in RFC 3339 format.
    pub at: String,
    /// The way in which the user approved.
    pub how: ApprovalMethod,
    /// The version of haft that asked.
    pub haft: String,
}

/// The way in which the user approved an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalMethod {
    /// By an answer in the terminal.
    #[serde(rename = "terminal")]
    Terminal,
    /// With `--yes`, before the question.
    #[serde(rename = "--yes")]
    Yes,
}

impl LockEntry {
    /// True if the extension runs in a private copy, where it may keep its state beside its code: an extension
    /// without permissions that is not a gate.
    pub fn runs_in_copy(&self) -> bool {
        self.permissions.is_none() && !((self.is_gate || self.required) && is_up(Defense::SealedGates))
    }

    /// True if a tool has changed its texts repeatedly, so that approving them again does not help.
    pub fn has_changed_repeatedly(&self, tool: &str) -> bool {
        self.locks.get(tool).is_some_and(|times| *times > 1)
    }

    /// Stores the present texts of a locked tool.
    pub(in super::super) fn lock_tool(&mut self, name: String, tool: PinnedTool) {
        if self.changed.get(&name).is_none_or(|was| !was.is_same(&tool)) {
            let times = self.locks.entry(name.clone()).or_default();
            *times = times.saturating_add(1);
        }
        self.changed.insert(name, tool);
    }

    /// True if `other` is the same approved version from the same approval. Changes that haft or the user make to an
    /// entry afterwards do not count.
    pub(crate) fn is_same_version(&self, other: &Self) -> bool {
        let version = |entry: &Self| (entry.tree, entry.manifest, entry.sandbox);
        version(self) == version(other)
            && self.approved == other.approved
            && self.source == other.source
            && self.interpreter == other.interpreter
            && self.permissions == other.permissions
    }

    /// Returns this version and the earlier ones.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.previous)
    }

    /// Replaces an older entry, which becomes available for a rollback. A disabled extension stays disabled.
    pub(crate) fn replacing(mut self, before: Option<Self>) -> Self {
        let Some(mut before) = before else { return self };
        self.enabled = before.waiting.take().map_or(before.enabled, |waiting| waiting.enabled);
        self.previous = std::mem::take(&mut before.previous);
        if before.tree == self.tree {
            self.tools = before.tools;
            self.changed = before.changed;
            self.locks = before.locks;
        } else {
            self.previous.insert(0, before);
            self.previous.truncate(MAX_PREVIOUS);
        }
        self
    }

    /// Returns an earlier version as the present one, with this one as its predecessor; index 0 is the newest.
    /// Returns `None` if there is none, or if the user keeps its files, which haft must not change. A pending update
    /// is dropped: the extension is enabled if it was enabled before that update.
    pub(crate) fn rollback_to(&self, index: usize) -> Option<Self> {
        let mut rest = self.previous.clone();
        if rest.get(index).is_none_or(|older| matches!(older.source, InstallOrigin::Placed { .. })) {
            return None;
        }
        let mut back = rest.remove(index);
        let mut this = self.clone();
        this.previous.clear();
        this.enabled = this.waiting.take().map_or(this.enabled, |waiting| waiting.enabled);
        back.enabled = this.enabled;
        rest.insert(0, this);
        back.previous = rest;
        Some(back)
    }
}
