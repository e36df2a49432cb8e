//! The error codes of a call that an extension has the host make.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a `host_call` failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostCallError {
    /// The extension may not do this, or not there. `permission` names what it lacks.
    PermissionDenied,
    /// A gate refused, or failed. The text says why, `by` who.
    Blocked,
    /// There is no such file.
    NotFound,
    /// The file has not been read by this extension, and may only be changed then.
    NotRead,
    /// The file has changed since the extension read it, and must be read again before it is changed.
    Stale,
    /// The arguments do not fit the tool.
    InvalidArgs,
    /// There is no such call.
    UnknownCall,
    /// Too many calls of this extension are under way.
    Busy,
    /// Its time was up.
    TimedOut,
    /// It was cancelled, by the extension or because the host is leaving.
    Cancelled,
    /// The host does not do this now: before `ready`, or without the capability.
    Unavailable,
    /// It did not work; the text says why. Of a command: it ended with another code than 0. Also what a code nobody knows
    /// is taken for.
    #[serde(other)]
    Failed,
}

impl HostCallError {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PermissionDenied => "permission_denied",
            Self::Blocked => "blocked",
            Self::NotFound => "not_found",
            Self::NotRead => "not_read",
            Self::Stale => "stale",
            Self::InvalidArgs => "invalid_args",
            Self::UnknownCall => "unknown_call",
            Self::Busy => "busy",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Unavailable => "unavailable",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for HostCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_nobody_knows_is_a_failure() {
        let read = |code: &str| serde_json::from_str::<HostCallError>(code).unwrap();
        assert_eq!(read(r#""stale""#), HostCallError::Stale);
        assert_eq!(read(r#""eclipse""#), HostCallError::Failed);
        assert_eq!(serde_json::to_string(&HostCallError::NotRead).unwrap(), r#""not_read""#);
        assert_eq!(HostCallError::NotRead.to_string(), "not_read");
    }
}
