//! Faults of an extension, by their stable names.

use haft_packages::discovery::PIN_MISMATCH;

/// The stable name of a failure: what `extension_error` events carry as `code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FaultCode {
    /// The process could not be started.
    SpawnFailed,
    /// The sandbox that the user confines it to cannot be had. It was not started.
    SandboxUnavailable,
    /// It is not what the user approved. It was not started.
    PinMismatch,
    /// The copy that it runs in was changed, and is again what the user approved.
    CodeRestored,
    /// No `hello` in time.
    HelloTimeout,
    /// The first frame was not a usable `hello`.
    HelloInvalid,
    /// It speaks another version of the protocol.
    VersionMismatch,
    /// A line was longer than the limit.
    FrameTooLong,
    /// A line was not UTF-8.
    FrameNotUtf8,
    /// A line was not JSON.
    FrameNotJson,
    /// A line was JSON but no object.
    FrameNotObject,
    /// A frame was nested too deep or held too many values.
    FrameTooDeep,
    /// A frame named a key twice.
    FrameDuplicateKey,
    /// A frame had a type that this host does not know.
    FrameUnknownType,
    /// A frame had wrong fields, or came where it has no place.
    FrameInvalid,
    /// A response to a question that was never asked.
    UnknownId,
    /// A second response to one question.
    DuplicateResponse,
    /// A response after its deadline. Only in the log: the deadline was reported.
    LateResponse,
    /// It says more, unasked, than the limits allow.
    RateLimited,
    /// The extension does not read what is written to it.
    WriteStalled,
    /// No answer to a tool call or command in time.
    CallTimeout,
    /// No answer to an intercept in time.
    HookTimeout,
    /// The answer to an intercept makes no sense.
    HookError,
    /// It is there and gives no sign of life.
    Unresponsive,
    /// The process ended, or closed its output.
    Exited,
    /// It crashed too often in too short a time, and is not started again by itself.
    CrashLoop,
    /// It asked for more than it was granted.
    PermissionDenied,
    /// A tool, command or name was not accepted.
    RegisterRejected,
    /// A tool has other texts than when it was approved. It is locked.
    ToolChanged,
    /// A part of a tool's result was not accepted.
    ResultRejected,
    /// A text for the model held characters that nobody can see. They were taken out.
    HiddenText,
}

impl FaultCode {
    /// The name on the wire and in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SpawnFailed => "spawn_failed",
            Self::SandboxUnavailable => "sandbox_unavailable",
            Self::PinMismatch => PIN_MISMATCH,
            Self::CodeRestored => "code_restored",
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
        }
    }
}

/// Why one question to an extension has no usable answer. Whoever sees one need not report it: that is done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// No answer before the deadline.
    #[error("did not answer within {} s", after.as_secs_f64())]
    TimedOut { after: std::time::Duration },
    #[error("sent an answer that makes no sense: {detail}")]
    BadResponse { detail: String },
    #[error("was not waited for: the run was cancelled")]
    Cancelled,
    /// The extension is not running, or stopped running.
    #[error("{why}")]
    Gone { why: String },
    /// The question did not fit into a frame, or into the queue.
    #[error("was not asked: {detail}")]
    NotSent { detail: String },
}

/// A failure that ended a process, or kept it from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExtensionFailure {
    pub(crate) code: FaultCode,
    pub(crate) message: String,
}

/// The text in the report of an end before the last output of the extension.
pub(crate) const PRINTED: &str = "; it printed: ";

#[cfg(test)]
mod tests {
    use super::*;
    use haft_protocol::error::DecodeError;

    #[test]
    fn names_of_undecodable_lines_are_the_protocols() {
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
