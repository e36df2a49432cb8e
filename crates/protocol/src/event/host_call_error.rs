//! Error codes of a host call.

use crate::named_enum::named_enum;

named_enum! {
    /// The reason of a failed `host_call`.
    #[non_exhaustive]
    pub enum HostCallError {
        /// The extension lacks the permission, in general or for this place. `permission` names it.
        PermissionDenied = "permission_denied",
        /// A gate refused the call or failed. The text has the reason, `by` the gate. For a command:
        /// another extension blocked it.
        Blocked = "blocked",
        /// There is no such file, or the extension holds no such lock.
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
        /// A command was cancelled before it started.
        Aborted = "aborted",
        /// The process ended or the session was closed first.
        Shutdown = "shutdown",
        /// There is nothing to do: nothing to compact.
        NothingToDo = "nothing_to_do",
        /// The message is empty.
        EmptyMessage = "empty_message",
        /// An image is not base64, too large, or of an unsupported type.
        BadImage = "bad_image",
        /// Too many messages or commands wait.
        QueueFull = "queue_full",
        /// No open or saved session has that id, or the prefix is ambiguous.
        SessionNotFound = "session_not_found",
        /// Another process has the session open.
        SessionLocked = "session_locked",
        /// The session does not have that entry.
        EntryNotFound = "entry_not_found",
        /// The session already has an entry with that id.
        EntryExists = "entry_exists",
        /// The model is unknown or not available.
        ModelNotFound = "model_not_found",
        /// No command has that name.
        CommandNotFound = "command_not_found",
        /// No extension has that name, it does not run, or it has no such shortcut.
        ExtensionNotFound = "extension_not_found",
        /// This program does not support the command.
        Unsupported = "unsupported",
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
