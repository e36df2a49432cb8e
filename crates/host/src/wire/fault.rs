//! Faults of an extension, by their stable names.

use haft_packages::discovery::{PIN_MISMATCH, REQUIRED_MISSING};

/// The stable name of a failure, as in the `code` of `extension_error` events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultCode {
    /// The process could not be started.
    SpawnFailed,
    /// The required sandbox is not available. The extension was not started.
    SandboxUnavailable,
    /// The extension differs from the approved version. It was not started.
    PinMismatch,
    /// The extension's installed copy was changed, and was restored to the approved version.
    CodeRestored,
    /// A required extension is missing, disabled, renamed or no longer required.
    RequiredMissing,
    /// The extension sent no `hello` in time.
    HelloTimeout,
    /// The first frame was not a usable `hello`.
    HelloInvalid,
    /// The extension speaks another version of the protocol.
    VersionMismatch,
    /// A line was longer than the limit.
    FrameTooLong,
    /// A line was not UTF-8.
    FrameNotUtf8,
    /// A line was not JSON.
    FrameNotJson,
    /// A line was JSON but not an object.
    FrameNotObject,
    /// A frame was nested too deeply or had too many values.
    FrameTooDeep,
    /// A frame had a duplicate key.
    FrameDuplicateKey,
    /// A frame had a type that this host does not know.
    FrameUnknownType,
    /// A frame had wrong fields or was not expected.
    FrameInvalid,
    /// A response to an unknown query.
    UnknownId,
    /// A second response to one query.
    DuplicateResponse,
    /// A response after its deadline. Only logged: the deadline was reported.
    LateResponse,
    /// The extension sends more unrequested lines than the limits allow.
    RateLimited,
    /// The extension does not read what is written to it.
    WriteStalled,
    /// No answer to a tool call or command in time.
    CallTimeout,
    /// No answer to an intercept in time.
    HookTimeout,
    /// The answer to an intercept is invalid.
    HookError,
    /// The extension runs and gives no sign of life.
    Unresponsive,
    /// The process ended, or closed its output.
    Exited,
    /// The extension crashed too often in a short time, and is no longer restarted automatically.
    CrashLoop,
    /// The extension requested more than its grant.
    PermissionDenied,
    /// A call without an id failed, so no result says so.
    CallFailed,
    /// The extension did not release the lock of a file in time.
    LockExpired,
    /// A tool, command or name was rejected.
    RegisterRejected,
    /// The texts of a tool differ from the approved ones. The tool is locked.
    ToolChanged,
    /// A part of a tool's result was rejected.
    ResultRejected,
    /// A text for the model had invisible characters, which were removed.
    HiddenText,
}

impl FaultCode {
    /// Returns the name on the wire and in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SpawnFailed => "spawn_failed",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::PinMismatch => PIN_MISMATCH,
            Self::CodeRestored => "code_restored",
            Self::RequiredMissing => REQUIRED_MISSING,
            Self::HelloTimeout => "hello_timeout",
            Self::HelloInvalid => "hello_invalid",
            Self::VersionMismatch => "version_mismatch",
            Self::FrameTooLong => "frame_too_long",
            Self::FrameNotUtf8 => "frame_not_utf8",
            Self::FrameNotJson => "frame_not_json",
            Self::FrameNotObject => "frame_not_object",
            Self::FrameTooDeep => "frame_too_deep",
            Self::FrameDuplicateKey => "frame_duplicate_key",
            Self::FrameUnknownType => "frame_unknown_type",
            Self::FrameInvalid => "frame_invalid",
            Self::UnknownId => "unknown_id",
            Self::DuplicateResponse => "duplicate_response",
            Self::LateResponse => "late_response",
            Self::RateLimited => "rate_limited",
            Self::WriteStalled => "write_stalled",
            Self::CallTimeout => "call_timeout",
            Self::HookTimeout => "hook_timeout",
            Self::HookError => "hook_error",
            Self::Unresponsive => "unresponsive",
            Self::Exited => "exited",
            Self::CrashLoop => "crash_loop",
            Self::PermissionDenied => "permission_denied",
            Self::CallFailed => "call_failed",
            Self::LockExpired => "lock_expired",
            Self::RegisterRejected => "register_rejected",
            Self::ToolChanged => "tool_changed",
            Self::ResultRejected => "result_rejected",
            Self::HiddenText => "hidden_text",
        }
    }
}

impl std::fmt::Display for FaultCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&haft_protocol::error::DecodeError> for FaultCode {
    fn from(error: &haft_protocol::error::DecodeError) -> Self {
        use haft_protocol::error::DecodeError;
        match error {
            DecodeError::TooLong { .. } => Self::FrameTooLong,
            DecodeError::NotUtf8 => Self::FrameNotUtf8,
            DecodeError::NotJson { .. } => Self::FrameNotJson,
            DecodeError::NotObject => Self::FrameNotObject,
            DecodeError::TooDeep { .. } | DecodeError::TooManyNodes { .. } => Self::FrameTooDeep,
            DecodeError::DuplicateKey { .. } => Self::FrameDuplicateKey,
            DecodeError::Malformed { .. } | DecodeError::NumberOutOfRange => Self::FrameInvalid,
            _ => Self::FrameInvalid,
        }
    }
}

/// The reason why a query has no usable answer. It was already reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// No answer before the deadline.
    #[error("did not answer within {} s", after.as_secs_f64())]
    TimedOut { after: std::time::Duration },
    #[error("sent an invalid answer: {detail}")]
    BadResponse { detail: String },
    #[error("was cancelled with the run")]
    Cancelled,
    /// The extension is not running.
    #[error("{why}")]
    Gone { why: String },
    /// The query did not fit into a frame or into the queue.
    #[error("was not sent the request: {detail}")]
    NotSent { detail: String },
}

/// A failure that ended a process or prevented its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtensionFailure {
    pub(crate) code: FaultCode,
    pub(crate) message: String,
}

/// The separator between the report of an end and the last output of the extension.
pub(crate) const PRINTED: &str = "; it printed: ";

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::error::DecodeError;

    #[test]
    fn fault_names_of_undecodable_lines_match_protocol() {
        let errors = [
            DecodeError::TooLong { limit: 1 },
            DecodeError::NotUtf8,
            DecodeError::NotJson { detail: String::new() },
            DecodeError::NotObject,
            DecodeError::TooDeep { limit: 1 },
            DecodeError::TooManyNodes { limit: 1 },
            DecodeError::DuplicateKey { key: String::new() },
            DecodeError::NumberOutOfRange,
            DecodeError::Malformed { kind: String::new(), id: None, detail: String::new() },
        ];
        for error in errors {
            assert_eq!(FaultCode::from(&error).as_str(), error.code());
        }
    }
}
