//! The entry of one extension in the lock file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use haft_launch::sandbox::ConfinementLevel;
use serde::{Deserialize, Serialize};

use super::super::digest::Digest;
use crate::manifest::permission::Permissions;
use crate::pins::PinnedTool;

/// Versions that can be gone back to.
const MAX_PREVIOUS: usize = 3;

/// The approval of one extension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockEntry {
    /// Where it came from.
    pub source: InstallOrigin,
    /// Its code: the name of a tree in the store.
    pub tree: Digest,
    /// Its `extension.json`.
    pub manifest: Digest,
    /// The program that an `exec` outside of it means, absolute. It was looked for once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<PathBuf>,
    /// True if something must not happen while it is not in place.
    #[serde(default)]
    pub required: bool,
    /// The permissions it was granted; none for a plain extension, which runs in a copy of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The sandbox that it runs in, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<ConfinementLevel>,
    /// The texts of its tools when they were first registered.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, PinnedTool>,
    /// The present texts of tools that came with other ones, which are locked until the user agrees.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, PinnedTool>,
    /// The number of times that each tool came with new texts since this code was approved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub locks: BTreeMap<String, u32>,
    /// True if it runs.
    pub enabled: bool,
    /// A newer version that asks for more than was granted, and that nobody has agreed to. Until then neither runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<PendingUpdate>,
    /// The user's word.
    pub approved: Approval,
    /// The previous approvals, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub previous: Vec<LockEntry>,
}

/// A version that asks for more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingUpdate {
    /// Its code.
    pub tree: Digest,
    /// Where it came from.
    pub source: InstallOrigin,
    /// True if the extension ran until then.
    pub enabled: bool,
}

/// Where an extension came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum InstallOrigin {
    /// A repository.
    Git {
        /// Its address.
        url: String,
        /// The commit, if it could be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<String>,
    },
    /// A directory somewhere.
    Directory {
        /// Absolute.
        path: PathBuf,
    },
    /// A directory in `extensions`, where the user put it. It is not run when it changes.
    Placed {
        /// Absolute.
        path: PathBuf,
        /// The looks of its files, so that they need not be read to know that they are the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        looks: Option<Digest>,
    },
}

/// The user's approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// When, RFC 3339.
    pub at: String,
    /// In which way.
    pub how: ApprovalMethod,
    /// The version of haft that asked.
    pub haft: String,
}

/// In which way the user said yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApprovalMethod {
    /// By an answer in a terminal.
    #[serde(rename = "terminal")]
    Terminal,
    /// Before anything was asked.
    #[serde(rename = "--yes")]
    Yes,
}

impl LockEntry {
    /// True if it runs in a copy of its own, where it may keep its state beside its code.
    pub fn runs_in_copy(&self) -> bool {
        self.permissions.is_none()
    }

    /// True if the texts of a tool are other ones again and again, so that agreeing to some does not help.
    pub fn has_changed_repeatedly(&self, tool: &str) -> bool {
        self.locks.get(tool).is_some_and(|times| *times > 1)
    }

    /// Keeps the texts that a tool has now and that are locked.
    pub(in super::super) fn lock_tool(&mut self, name: String, tool: PinnedTool) {
        if self.changed.get(&name).is_none_or(|was| !was.is_same(&tool)) {
            let times = self.locks.entry(name.clone()).or_default();
            *times = times.saturating_add(1);
        }
        self.changed.insert(name, tool);
    }

    /// True if it is this version that was approved, by the same word of the user's: what runs and what the user switches on
    /// and off leave their own marks in an entry.
    pub(crate) fn is_same_version(&self, other: &Self) -> bool {
        let version = |entry: &Self| (entry.tree, entry.manifest, entry.sandbox);
        version(self) == version(other)
            && self.approved == other.approved
            && self.source == other.source
            && self.interpreter == other.interpreter
            && self.permissions == other.permissions
    }

    /// This version and those before it.
    pub(super) fn versions(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.previous)
    }

    /// Takes the place of an older entry, which can be gone back to. That it was switched off stays.
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

    /// One of the versions before this one, counted from the newest, with this one behind it; none when there is none, or when
    /// the user keeps its files, which are not haft's to change. Going back is an answer to a newer version that waits for
    /// one: it runs if this one ran before that.
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
