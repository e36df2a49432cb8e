//! Services: what a host does for extensions, and what an extension is granted of it.

use crate::named_enum::named_enum;

named_enum! {
    /// Something a host does for extensions with its own tools. The name is the one of the permission that allows it.
    pub enum HostService {
        /// Reading files.
        FsRead = "fs.read",
        /// Writing and editing files.
        FsWrite = "fs.write",
        /// Running shell commands.
        Exec = "exec",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_one_name() {
        for service in HostService::ALL {
            assert_eq!(serde_json::to_string(service).unwrap(), format!("{:?}", service.name()));
            assert_eq!(HostService::from_name(service.name()), Some(*service));
        }
        assert_eq!(HostService::from_name("fs.delete"), None);
    }
}
