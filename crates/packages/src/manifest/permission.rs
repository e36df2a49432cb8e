//! Permissions of an extension: what its manifest asks for, what the user grants, and the difference of the two.

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

/// The permissions of an extension: `permissions` in its manifest is what it asks for, that of its approval is what it
/// was granted. An extension without any is a plain one: the protocol keeps nothing from it, and it runs with the
/// user's rights.
///
/// Written as JSON it is what a manifest says. Whatever reads it refuses keys, names and values that this version does
/// not know: they might be more than anybody agreed to.
///
/// Commands need no permission: a command does nothing before a person types its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "read::RawPermissions")]
pub struct Permissions {
    /// `tools`: what it offers to the model.
    #[serde(skip_serializing_if = "ToolPermissions::is_empty")]
    pub tools: ToolPermissions,
    /// `events`: which events it is told.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub events: BTreeSet<String>,
    /// `intercept`: what it is asked about before it happens. No event is there twice in one role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intercept: Vec<InterceptPermission>,
    /// `host`: what haft does for it, through the same gates and in the same order as the built-in tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub host: BTreeSet<HostService>,
    /// `fs`: which files its process opens by itself.
    #[serde(skip_serializing_if = "FsPermissions::is_empty")]
    pub fs: FsPermissions,
    /// `net`: whom its process talks to.
    pub net: NetworkAccess,
    /// `env`: which variables of the user's environment it gets beside those that every extension gets.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub env: BTreeSet<String>,
    /// `exec`: which programs its process starts.
    pub exec: ExecPermission,
}

/// The permissions for tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct ToolPermissions {
    /// `register`: the names of its tools.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub register: BTreeSet<String>,
    /// `effects`: what its tools do, in its own words. Nothing is enforced by them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub effects: BTreeSet<ToolEffect>,
}

/// The effect of a tool on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolEffect {
    /// It reads files.
    Read,
    /// It changes files.
    Write,
    /// It runs programs.
    Exec,
    /// It talks to others.
    Net,
}

/// One thing that an extension is asked about before it happens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct InterceptPermission {
    /// `event`: what is about to happen.
    pub event: InterceptKind,
    /// `role`: what it may do about it, and what its failure means.
    pub role: InterceptPermissionRole,
    /// `tools`: of `tool_call`, calls of which tools, in lower case; of all when there are none.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub tools: BTreeSet<String>,
    /// `timeout_ms`: how many milliseconds it has to answer; as many as any other when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// In which role an extension is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InterceptPermissionRole {
    /// It says yes or no; its failure is a no.
    Gate,
    /// It changes what is about to happen.
    Rewrite,
    /// It changes what the user is shown; its failure withholds it.
    Redactor,
}

/// Which files a process opens by itself. Paths are as people write them: absolute, or beginning with `~`,
/// `$WORKSPACE` or `$DATA`; a directory stands for all below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
pub struct FsPermissions {
    /// `read`: to read, beside its own directory and its data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// `write`: to read and to change, beside its data.
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

    /// True if it may be asked about this event at all.
    pub fn may_intercept(&self, event: InterceptKind) -> bool {
        self.intercept.iter().any(|entry| entry.event == event)
    }

    /// True if it may be asked about calls of this tool.
    pub fn may_intercept_call(&self, tool: &str) -> bool {
        self.intercept.iter().any(|entry| entry.is_about_call(tool))
    }

    /// True if it may change the arguments of calls of this tool, and not only refuse them.
    pub fn may_rewrite_call(&self, tool: &str) -> bool {
        self.intercept
            .iter()
            .any(|entry| entry.role == InterceptPermissionRole::Rewrite && entry.is_about_call(tool))
    }

    /// True if it may change what is about to happen, and not only keep it from happening.
    pub fn may_change(&self, event: InterceptKind) -> bool {
        self.intercept.iter().any(|entry| entry.event == event && entry.role != InterceptPermissionRole::Gate)
    }

    /// Returns the deadline of its decision about this, if it was granted one of its own: the longest of all roles.
    pub fn timeout_for(&self, event: InterceptKind) -> Option<Duration> {
        let times = self.intercept.iter().filter(|entry| entry.event == event);
        times.filter_map(|entry| entry.timeout_ms).max().map(Duration::from_millis)
    }

    /// Returns all of them in words, the dangerous ones first.
    pub fn lines(&self) -> Vec<PermissionLine> {
        lines::lines(self, self)
    }

    /// Returns what these ask beyond what was granted, one line each; nothing if the grant is enough.
    pub fn excess_over(&self, granted: &Self) -> Vec<PermissionLine> {
        lines::lines(&excess::excess_permissions(self, granted, std::env::home_dir().as_deref()), self)
    }

    /// Returns the level of the sandbox that an extension with these permissions runs in, unless the user chooses
    /// another one: the lowest that can enforce them.
    pub fn level(&self) -> ConfinementLevel {
        match self.net {
            NetworkAccess::Loopback => ConfinementLevel::Strict,
            NetworkAccess::None | NetworkAccess::All => ConfinementLevel::Standard,
        }
    }

    /// Returns the sandbox of this level that allows what is granted; `home` is the path that `~` stands for.
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
    fn is_empty(&self) -> bool {
        self.register.is_empty() && self.effects.is_empty()
    }
}

impl FsPermissions {
    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }
}

impl ToolEffect {
    const ALL: &'static [Self] = &[Self::Read, Self::Write, Self::Exec, Self::Net];

    /// The word for it in a manifest.
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
    const ALL: &'static [Self] = &[Self::Gate, Self::Rewrite, Self::Redactor];

    /// The word for it in a manifest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Rewrite => "rewrite",
            Self::Redactor => "redactor",
        }
    }

    /// True if there is such a role about this.
    fn applies_to(self, event: InterceptKind) -> bool {
        match (self, event) {
            (Self::Gate, InterceptKind::BeforeAgentStart | InterceptKind::BeforeCompact) => false,
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
