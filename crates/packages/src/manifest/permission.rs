//! Permissions of an extension: those that its manifest requests, those that the user grants, and their difference.

mod excess;
mod lines;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_protocol::ext::{HostService, InterceptKind};
use serde::{Deserialize, Serialize};

use crate::grant::{ExecPermission, GrantedPath, PathError, SandboxGrant};

pub use lines::PermissionLine;

/// The permissions of an extension. `permissions` in the manifest holds the requested ones, the entry in the lock
/// file the granted ones. An extension without permissions is not restricted by the protocol and runs with the user's
/// rights.
///
/// The JSON form is that of the manifest. Readers reject keys, names and values that this version does not know,
/// because they could mean more than the user agreed to.
///
/// Commands need no permission: a command runs only when the user types its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "read::RawPermissions")]
pub struct Permissions {
    /// `tools`: the tools that it offers to the model.
    #[serde(skip_serializing_if = "ToolPermissions::is_empty")]
    pub tools: ToolPermissions,
    /// `events`: the events that it receives.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub events: BTreeSet<String>,
    /// `intercept`: the hooks that it intercepts. Each pair of event and role occurs only once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intercept: Vec<InterceptPermission>,
    /// `host`: the services of haft that it calls. Each call passes the same gates in the same order as built-in
    /// tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub host: BTreeSet<HostService>,
    /// `fs`: the files that its process opens by itself.
    #[serde(skip_serializing_if = "FsPermissions::is_empty")]
    pub fs: FsPermissions,
    /// `net`: the network peers that its process connects to.
    pub net: NetworkAccess,
    /// `env`: the environment variables that it gets in addition to the default ones.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub env: BTreeSet<String>,
    /// `exec`: the programs that its process starts.
    pub exec: ExecPermission,
}

/// The permissions for tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct ToolPermissions {
    /// `register`: the names of its tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub register: BTreeSet<String>,
    /// `replace`: the names of built-in tools that its own tools replace. Includes the permission to register them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub replace: BTreeSet<String>,
    /// `effects`: the effects that the author declares for its tools. They are not enforced.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub effects: BTreeSet<ToolEffect>,
}

/// A declared effect of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolEffect {
    /// Reads files.
    Read,
    /// Changes files.
    Write,
    /// Runs programs.
    Exec,
    /// Uses the network.
    Net,
}

/// The permission to intercept one event in one role.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct InterceptPermission {
    /// `event`: the intercepted event.
    pub event: InterceptKind,
    /// `role`: the possible decisions, and the effect of a failure.
    pub role: InterceptPermissionRole,
    /// `tools`: for `tool_call`, the names of the tools in lower case, and of the built-in tools of
    /// which they are aliases; empty for all tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<String>,
    /// `timeout_ms`: the deadline of the decision in milliseconds; `None` for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The role in which an extension intercepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InterceptPermissionRole {
    /// Allows or blocks; a failure blocks.
    Gate,
    /// Changes the action.
    Rewrite,
    /// Changes the text that the user sees; a failure withholds the text.
    Redactor,
    /// Handles an event while haft waits, and decides nothing.
    Wait,
}

/// The files that a process opens by itself. Paths are as the user writes them: absolute, or beginning with `~`,
/// `$WORKSPACE` or `$DATA`. A directory includes its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct FsPermissions {
    /// `read`: paths to read, in addition to its own directory and its data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// `write`: paths to read and change, in addition to its data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
}

impl Permissions {
    /// Returns the permission for this event in this role.
    pub fn intercept_as(
        &self,
        event: InterceptKind,
        role: InterceptPermissionRole,
    ) -> Option<&InterceptPermission> {
        self.intercept.iter().find(|entry| (entry.event, entry.role) == (event, role))
    }

    /// True if it may intercept this event at all.
    pub fn may_intercept(&self, event: InterceptKind) -> bool {
        self.intercept.iter().any(|entry| entry.event == event)
    }

    /// True if it may intercept calls of this tool.
    pub fn may_intercept_call(&self, tool: &str) -> bool {
        self.intercept.iter().any(|entry| entry.is_about_call(tool))
    }

    /// True if it may change the arguments of calls of this tool, and not only block them.
    pub fn may_rewrite_call(&self, tool: &str) -> bool {
        self.intercept
            .iter()
            .any(|entry| entry.role == InterceptPermissionRole::Rewrite && entry.is_about_call(tool))
    }

    /// True if it may change the action, and not only block it.
    pub fn may_change(&self, event: InterceptKind) -> bool {
        use InterceptPermissionRole::{Gate, Wait};
        self.intercept.iter().any(|entry| entry.event == event && !matches!(entry.role, Gate | Wait))
    }

    /// Returns the longest granted deadline of its decision about this event in all roles, if any was granted.
    pub fn timeout_for(&self, event: InterceptKind) -> Option<Duration> {
        let times = self.intercept.iter().filter(|entry| entry.event == event);
        times.filter_map(|entry| entry.timeout_ms).max().map(Duration::from_millis)
    }

    /// Returns a description of each permission, the dangerous ones first.
    pub fn lines(&self) -> Vec<PermissionLine> {
        lines::lines(self, self)
    }

    /// Returns a description of each permission that was not granted. Empty if the grant covers all of them.
    pub fn excess_over(&self, granted: &Self) -> Vec<PermissionLine> {
        lines::lines(&excess::excess_permissions(self, granted, std::env::home_dir().as_deref()), self)
    }

    /// Returns the default level of the sandbox of an extension with these permissions: the lowest that can enforce
    /// them.
    pub fn level(&self) -> ConfinementLevel {
        match self.net {
            NetworkAccess::Loopback => ConfinementLevel::Strict,
            NetworkAccess::None | NetworkAccess::All => ConfinementLevel::Standard,
        }
    }

    /// Returns the sandbox of this level that allows the granted permissions. `home` replaces `~`.
    ///
    /// # Errors
    /// If a path begins with `~` and there is no home.
    pub fn sandbox_grant(
        &self,
        level: ConfinementLevel,
        home: Option<&Path>,
    ) -> Result<SandboxGrant, PathError> {
        let paths = |texts: &[String]| -> Result<Vec<_>, _> {
            texts.iter().map(|text| GrantedPath::parse(text, home)).collect()
        };
        Ok(SandboxGrant {
            level,
            read: paths(&self.fs.read)?,
            write: paths(&self.fs.write)?,
            exec: Vec::new(),
            programs: self.exec,
            net: self.net,
        })
    }
}

impl InterceptPermission {
    fn is_about_call(&self, tool: &str) -> bool {
        let names_it = self.tools.is_empty() || self.tools.contains(&tool.to_ascii_lowercase());
        self.event == InterceptKind::ToolCall && names_it
    }
}

impl ToolPermissions {
    /// True if it may register a tool of this name.
    pub fn may_register(&self, name: &str) -> bool {
        self.register.contains(name) || self.replace.contains(name)
    }

    fn is_empty(&self) -> bool {
        self.register.is_empty() && self.replace.is_empty() && self.effects.is_empty()
    }
}

impl FsPermissions {
    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }
}

impl ToolEffect {
    const ALL: &'static [Self] = &[Self::Read, Self::Write, Self::Exec, Self::Net];

    /// Returns the value in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Net => "net",
        }
    }
}

impl InterceptPermissionRole {
    const ALL: &'static [Self] = &[Self::Gate, Self::Rewrite, Self::Redactor, Self::Wait];

    /// Returns the value in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Rewrite => "rewrite",
            Self::Redactor => "redactor",
            Self::Wait => "wait",
        }
    }

    /// Returns the roles that exist for this event.
    pub fn all_of(event: InterceptKind) -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(move |role| role.applies_to(event))
    }

    /// True if the role exists for this event.
    fn applies_to(self, event: InterceptKind) -> bool {
        match (self, event) {
            (Self::Wait, event) => event.is_wait(),
            (_, event) if event.is_wait() => false,
            (
                Self::Gate,
                InterceptKind::BeforeAgentStart
                | InterceptKind::BeforeCompact
                | InterceptKind::ToolResult
                | InterceptKind::Input
                | InterceptKind::BeforeSettle
                | InterceptKind::Context
                | InterceptKind::MessageEnd
                | InterceptKind::BeforeProviderRequest
                | InterceptKind::UserBash
                | InterceptKind::BeforeSwitch
                | InterceptKind::BeforeFork
                | InterceptKind::BeforeTree
                | InterceptKind::Resources
                | InterceptKind::ProjectTrust,
            ) => false,
            // An approver only approves or denies.
            (Self::Rewrite, InterceptKind::Approve) => false,
            (Self::Redactor, event) => event == InterceptKind::AssistantMessage,
            (Self::Gate | Self::Rewrite, _) => true,
        }
    }
}

impl fmt::Display for InterceptPermissionRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
