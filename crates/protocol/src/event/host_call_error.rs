//! Error codes of a host call.

use crate::named_enum::named_enum;

named_enum! {
    /// The reason of a failed `host_call`.
    pub enum HostCallError {
        /// The extension lacks the permission, in general or for this place. `permission` names it.
        PermissionDenied = "permission_denied",
        /// A gate refused the call or failed. The text has the reason, `by` the gate.
        Blocked = "blocked",
        /// There is no such file.
        NotFound = "not_found",
        /// The extension must read the file before it changes it.
        NotRead = "not_read",
        /// The file has changed since the extension read it; read it again first.
        Stale = "stale",
        /// The arguments do not fit the tool.
        InvalidArgs = "invalid_args",
        /// No such call is open.
        UnknownCall = "unknown_call",
        /// The extension has too many open calls.
        Busy = "busy",
        /// The call timed out.
        TimedOut = "timed_out",
        /// The extension cancelled the call, or the host is shutting down.
        Cancelled = "cancelled",
        /// The host does not accept the call now: before `ready`, or without the capability.
        Unavailable = "unavailable",
        /// The tool failed; the text has the reason. For a command: it exited with a code other
        /// than 0. Readers treat unknown codes as this one.
        #[serde(other)]
        Failed = "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_code_is_read_as_failure() {
        let read = |code: &str| serde_json::from_str::<HostCallError>(code).unwrap();
        assert_eq!(read(r#""stale""#), HostCallError::Stale);
        assert_eq!(read(r#""eclipse""#), HostCallError::Failed);
        assert_eq!(serde_json::to_string(&HostCallError::NotRead).unwrap(), r#""not_read""#);
        assert_eq!(HostCallError::NotRead.to_string(), "not_read");
    }
}
