//! Services: what a host does for extensions, and what an extension is granted of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something a host does for extensions with its own tools. The name is the one of the permission that allows it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Service {
    /// Reading files.
    #[serde(rename = "fs.read")]
    FsRead,
    /// Writing and editing files.
    #[serde(rename = "fs.write")]
    FsWrite,
    /// Running shell commands.
    #[serde(rename = "exec")]
    Exec,
}

impl Service {
    /// Every service.
    pub const ALL: &'static [Self] = &[Self::FsRead, Self::FsWrite, Self::Exec];

    /// The name in a manifest and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FsRead => "fs.read",
            Self::FsWrite => "fs.write",
            Self::Exec => "exec",
        }
    }

    /// The service of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|service| service.name() == name)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_one_name() {
        for service in Service::ALL {
            assert_eq!(serde_json::to_string(service).unwrap(), format!("{:?}", service.name()));
            assert_eq!(Service::from_name(service.name()), Some(*service));
        }
        assert_eq!(Service::from_name("fs.delete"), None);
    }
}
