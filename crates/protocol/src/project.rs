//! The directory somebody works in, and whether what lies in it counts: for whoever reads its settings, and for whoever
//! starts its extensions.

use std::path::PathBuf;

/// A directory somebody works in, and whether what lies in it is obeyed and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The directory. Relative to the process's own, if it is not absolute.
    pub dir: PathBuf,
    /// The user's trust in it.
    pub trust: ProjectTrust,
}

/// The trust in a project: whether haft obeys and runs what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    /// The user said so.
    Trusted,
    /// Nobody said so: what is there is told, and nothing of it is used.
    Untrusted,
}

impl Project {
    /// True if the user trusts it.
    pub fn is_trusted(&self) -> bool {
        self.trust == ProjectTrust::Trusted
    }

    /// Where what is for haft lies in it: `.haft`.
    pub fn haft_dir(&self) -> PathBuf {
        self.dir.join(".haft")
    }
}
