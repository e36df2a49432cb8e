//! Calls of `host_call` that lock files: `lock_file` and `unlock_file`. They require the capability
//! `files` and the permission `files.lock`.
//!
//! ```json
//! {"type":"host_call","id":"c1","call":"lock_file","args":{"path":"notes.txt"}}
//! {"type":"host_result","id":"c1","content":[],"value":{"lease":"lock-1","lasts_ms":60000}}
//! {"type":"host_call","call":"unlock_file","args":{"lease":"lock-1"}}
//! ```

use serde::{Deserialize, Serialize};

use super::HostCallKind;
use crate::error::without_position;
use crate::json::RawJson;

/// A call about a lock of a file, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "call", content = "args", rename_all = "snake_case")]
pub enum FileLockCall {
    /// Waits until the file is free, and locks it.
    LockFile(LockFileCall),
    /// Releases a lock.
    UnlockFile(UnlockFileCall),
}

/// The arguments of `lock_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockFileCall {
    /// The file: absolute, or relative to the working directory of the agent. It need not exist, but
    /// its directory must.
    pub path: String,
}

/// The arguments of `unlock_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnlockFileCall {
    /// The lease from the value of `lock_file`.
    pub lease: String,
}

/// The value of `lock_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileLease {
    /// The name of the lock, for `unlock_file`.
    pub lease: String,
    /// The time after which the host releases the lock.
    pub lasts_ms: u64,
}

impl FileLockCall {
    /// Reads the arguments of a call. Returns `None` for calls that do not concern a lock.
    ///
    /// # Errors
    /// The invalid argument, as text.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other calls do not concern a lock")]
    pub fn read(kind: HostCallKind, args: &RawJson) -> Option<Result<Self, String>> {
        let read = match kind {
            HostCallKind::LockFile => args.read().map(Self::LockFile),
            HostCallKind::UnlockFile => args.read().map(Self::UnlockFile),
            _ => return None,
        };
        Some(read.map_err(|error| without_position(&error)))
    }

    /// Returns the kind of the call.
    pub const fn kind(&self) -> HostCallKind {
        match self {
            Self::LockFile(_) => HostCallKind::LockFile,
            Self::UnlockFile(_) => HostCallKind::UnlockFile,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext::HostCallTarget;

    #[test]
    fn kinds_of_locks_have_the_files_as_target() {
        for kind in HostCallKind::ALL {
            let args = RawJson::parse(r#"{"path":"a","lease":"lock-1"}"#).unwrap();
            let lock = FileLockCall::read(*kind, &args);
            assert_eq!(lock.is_some(), kind.target() == HostCallTarget::FileLock, "{kind}");
            assert!(lock.is_none_or(|lock| lock.unwrap().kind() == *kind));
        }
    }

    #[test]
    fn arguments_of_locks_are_checked() {
        let read = |kind, args: &str| FileLockCall::read(kind, &RawJson::parse(args).unwrap()).unwrap();
        let missing = Err("missing field `path`".to_owned());
        assert_eq!(read(HostCallKind::LockFile, r#"{"file":"a"}"#), missing);
        let lease = UnlockFileCall { lease: "lock-1".into() };
        assert_eq!(
            read(HostCallKind::UnlockFile, r#"{"lease":"lock-1"}"#),
            Ok(FileLockCall::UnlockFile(lease))
        );
    }
}
