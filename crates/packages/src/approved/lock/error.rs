//! The reasons why a lock file is not used.

use std::io;
use std::path::PathBuf;

/// The problem of a file that its mode opens to others.
pub(super) const LOOSE: &str = "can be written by other users";

/// The lock file is not used: nothing is approved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else may have written it.
    #[error("{} {what}, so no extension is approved; look at it, then make it yours alone (chmod 600), or remove it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is not of the form that haft writes.
    #[error(
        "{} is damaged (line {line}, column {column}: {detail}), so no extension is approved; put it right, or move it \
         aside and install again what it named: until then none of it runs, and what guarded guards nothing (`haft doctor` \
         names it)",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What is wrong there.
        detail: String,
    },
    /// A newer haft wrote it.
    #[error("{} was written by a newer haft, so no extension is approved; use that one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl LockError {
    /// Whether nothing is wrong with it but that others may write to it.
    pub fn is_loose(&self) -> bool {
        matches!(self, Self::Foreign { what, .. } if *what == LOOSE)
    }
}
