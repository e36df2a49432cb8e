//! What can be said in `[grant.NAME]`, as types.

use serde::{Deserialize, Serialize};

/// What a gate's silence means. Only the user can choose; an extension cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnTimeout {
    /// The action does not happen; haft's default for gates.
    Block,
    /// The action happens, and the failure is reported.
    Allow,
}

impl OnTimeout {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Allow => "allow",
        }
    }
}

/// The sandbox that an extension runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// It runs with the user's rights.
    None,
    /// The kernel's access control and a filter of system calls.
    Standard,
    /// That, in namespaces of its own.
    Strict,
}

impl SandboxLevel {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

/// Whom an extension may talk to from its sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxNet {
    /// Nobody.
    None,
    /// Its own processes.
    Loopback,
    /// Everybody.
    All,
}

impl SandboxNet {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Loopback => "loopback",
            Self::All => "all",
        }
    }
}
