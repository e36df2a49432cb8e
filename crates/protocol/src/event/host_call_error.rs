//! The error codes of a call that an extension has the host make.

use crate::named_enum::named_enum;

named_enum! {
    /// Why a `host_call` failed.
    pub enum HostCallError {
        /// The extension may not do this, or not there. `permission` names what it lacks.
        PermissionDenied = "permission_denied",
        /// A gate refused, or failed. The text says why, `by` who.
        Blocked = "blocked",
        /// There is no such file.
        NotFound = "not_found",
        /// The file has not been read by this extension, and may only be changed then.
        NotRead = "not_read",
        /// The file has changed since the extension read it, and must be read again before it is changed.
        Stale = "stale",
        /// The arguments do not fit the tool.
        InvalidArgs = "invalid_args",
        /// There is no such call.
        UnknownCall = "unknown_call",
        /// Too many calls of this extension are under way.
        Busy = "busy",
        /// Its time was up.
        TimedOut = "timed_out",
        /// It was cancelled, by the extension or because the host is leaving.
        Cancelled = "cancelled",
        /// The host does not do this now: before `ready`, or without the capability.
        Unavailable = "unavailable",
        /// It did not work; the text says why. Of a command: it ended with another code than 0. Also what a code nobody knows
        /// is taken for.
        #[serde(other)]
        Failed = "failed",
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
