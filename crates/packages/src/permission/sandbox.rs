//! What permissions come to in a sandbox.

use std::path::Path;

use haft_launch::sandbox::{Level, Net};

use super::Permissions;
use crate::grant::{GrantedPath, PathError, SandboxGrant};

impl Permissions {
    /// The level of the sandbox that an extension with these permissions runs in, unless the user says another one: the
    /// lowest that can enforce them.
    pub fn level(&self) -> Level {
        match self.net {
            Net::Loopback => Level::Strict,
            Net::None | Net::All => Level::Standard,
        }
    }

    /// The sandbox of this level that allows what is granted; `home` is what `~` stands for.
    ///
    /// # Errors
    /// When a path begins with `~` and there is no home.
    pub fn sandbox(&self, level: Level, home: Option<&Path>) -> Result<SandboxGrant, PathError> {
        let paths = |texts: &[String]| -> Result<Vec<_>, _> {
            texts.iter().map(|text| GrantedPath::parse(text, home)).collect()
        };
        Ok(SandboxGrant {
            level,
            read: paths(&self.fs.read)?,
            write: paths(&self.fs.write)?,
            exec: Vec::new(),
            programs: self.exec,
            net: self.net,
        })
    }
}
