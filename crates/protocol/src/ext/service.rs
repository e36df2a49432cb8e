//! Services: actions of the host for extensions, which the user grants separately.

use crate::named_enum::named_enum;

named_enum! {
    /// A service of the host for extensions. Its name is that of the permission.
    pub enum HostService {
        /// Reading files.
        FsRead = "fs.read",
        /// Writing and editing files.
        FsWrite = "fs.write",
        /// Running shell commands.
        Exec = "exec",
        /// Locking files.
        FilesLock = "files.lock",
        /// Sending messages to other extensions, and receiving theirs.
        Bus = "bus",
        /// Asking the person.
        Ui = "ui",
        /// Reading the session: its state, conversation, tools and models.
        SessionRead = "session.read",
        /// Writing to the session: its name and tags, data, labels, and messages for the model.
        SessionWrite = "session.write",
        /// Controlling the session: prompts, model, tools, other sessions.
        SessionControl = "session.control",
        /// Asking models outside of the conversation.
        ModelCall = "model.call",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_name_is_the_permission() {
        for service in HostService::ALL {
            assert_eq!(serde_json::to_string(service).unwrap(), format!("{:?}", service.name()));
            assert_eq!(HostService::from_name(service.name()), Some(*service));
        }
        assert_eq!(HostService::from_name("fs.delete"), None);
    }
}
