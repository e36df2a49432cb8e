//! The working directory of a session, and the user's trust in it.

use std::path::PathBuf;

/// A working directory, and whether haft uses the extensions, settings and instructions in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The directory; relative to the working directory of the process unless absolute.
    pub dir: PathBuf,
    /// The user's trust in the project.
    pub trust: ProjectTrust,
}

/// The user's trust in a project, which decides whether haft uses its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    /// The user trusts the project.
    Trusted,
    /// The user does not trust the project: haft lists its contents and uses none of them.
    Untrusted,
}

impl Project {
    /// True if the user trusts the project.
    pub fn is_trusted(&self) -> bool {
        self.trust == ProjectTrust::Trusted
    }

    /// Returns the project's directory for haft: `.haft`.
    pub fn haft_dir(&self) -> PathBuf {
        self.dir.join(".haft")
    }
}
