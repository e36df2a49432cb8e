//! Why an extension was not installed, changed or removed.

use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use super::lock::LockError;
use crate::file_name::dir_name;
use crate::manifest::{ExecError, ManifestError};

/// Why an extension was not installed, changed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The source is neither a directory nor an address that haft clones from.
    #[error("cannot install from {source_text:?}: {problem}")]
    Source {
        /// The source as given.
        source_text: String,
        /// The mistake.
        problem: String,
    },
    /// The extension's manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// One of that name is installed.
    #[error(
        "extension {name} is there already in {}; remove it first, or, if you put it there, `haft ext trust` approves it",
        dir.display()
    )]
    Exists {
        /// The name.
        name: ExtensionName,
        /// Where.
        dir: PathBuf,
    },
    /// An installed extension has that name, or one that differs in case only.
    #[error(
        "extension {known} is installed already, from {from}{}; `haft ext remove {known}` first, if this one is to take its \
         place",
        if name == known { String::new() } else { format!(", and {name} is the same name in other letters") }
    )]
    Taken {
        /// The name.
        name: ExtensionName,
        /// The name of the one that is there.
        known: ExtensionName,
        /// Where that came from.
        from: String,
    },
    /// Another extension was approved in that directory than its manifest says now.
    #[error(
        "{} is approved as {known}, and its manifest says {name} now; give it its name back, or `haft ext remove {known}` \
         first, which keeps what was changed there",
        dir.display()
    )]
    Renamed {
        /// The directory.
        dir: PathBuf,
        /// The name in its manifest.
        name: ExtensionName,
        /// The name of what was approved.
        known: ExtensionName,
    },
    /// Somebody else changed what is approved of it while it was asked about.
    #[error(
        "what is approved of {name} has changed since this was shown, so nothing was done; try again to see what it is now"
    )]
    Meanwhile {
        /// The extension.
        name: ExtensionName,
    },
    /// None of that name is installed.
    #[error("extension {name:?} not found; `haft ext list` shows what is installed")]
    NotFound {
        /// The name.
        name: String,
    },
    /// Two of that name are there.
    #[error(
        "{name:?} is the name of two extensions, {} and {}; say which by the name of its directory",
        first.display(), second.display()
    )]
    Ambiguous {
        /// The name.
        name: String,
        /// One.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// The tree holds something that is not copied.
    #[error("{} {problem}", path.display())]
    Refused {
        /// What.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// The tree is too large.
    #[error(
        "{} holds {what}; copy extension.json and the program into a directory of their own and install that, \
         or run it in place with --ext",
        dir.display()
    )]
    TooLarge {
        /// The tree.
        dir: PathBuf,
        /// Which limit it exceeds.
        what: String,
    },
    /// The source was changed while it was copied.
    #[error("{} was changed while it was copied; try again", dir.display())]
    Changed {
        /// The source.
        dir: PathBuf,
    },
    /// Another process is at it.
    #[error("another haft is changing {} right now; try again when it is done", dir.display())]
    Busy {
        /// The directory of extensions.
        dir: PathBuf,
    },
    /// `git` did not do it.
    #[error("git could not clone {url}: {detail}")]
    Git {
        /// The address.
        url: String,
        /// The message of git, or why it did not start.
        detail: String,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no version to go back to.
    #[error("there is no version of {name} to go back to")]
    NoOlder {
        /// The extension.
        name: ExtensionName,
    },
    /// There are older versions, and none of them can be used.
    #[error(
        "no older version of {name} can be gone back to: {why}; `haft ext update {name}` fetches it again"
    )]
    NoneUsable {
        /// The extension.
        name: ExtensionName,
        /// Why, of each.
        why: String,
    },
    /// A version cannot be gone back to.
    #[error("the older version of {name} cannot be used")]
    Tree {
        /// The extension.
        name: ExtensionName,
        /// Why.
        source: TreeError,
    },
    /// Its `exec` does not lead to a program.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// A file or directory could not be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// A tree of the store is not what its name says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// It is not there.
    #[error("its code is gone from {}", short_store_path(dir))]
    Missing {
        /// Where it should be.
        dir: PathBuf,
    },
    /// It holds something else.
    #[error("its code in {} is not what was approved", short_store_path(dir))]
    Changed {
        /// Where it is.
        dir: PathBuf,
    },
    /// It cannot be read.
    #[error("its code cannot be read")]
    Read(#[source] Box<InstallError>),
}

/// A place in the store, for people: nobody reads a whole digest.
fn short_store_path(dir: &Path) -> String {
    let name = dir_name(dir);
    format!("store/{}…", name.chars().take(12).collect::<String>())
}

impl InstallError {
    pub(super) fn too_large(dir: &Path, what: String) -> Self {
        Self::TooLarge { dir: dir.into(), what }
    }

    /// A tree holds something that is not copied, or is not taken for what it is.
    pub(crate) fn refused(path: &Path, problem: impl Into<String>) -> Self {
        Self::Refused { path: path.into(), problem: problem.into() }
    }

    /// The stable name of what is wrong: `install_rejected` for a source, a manifest or a tree that haft installs nothing
    /// from, whoever tries.
    pub fn code(&self) -> Option<&'static str> {
        let rejected = matches!(
            self,
            Self::Source { .. } | Self::Manifest(_) | Self::Refused { .. } | Self::TooLarge { .. }
        );
        rejected.then_some("install_rejected")
    }

    /// The same with a path in a clone as it is in the repository: where the clone lies means nothing to anybody.
    pub(crate) fn relative_to_checkout(mut self, checkout: &Path) -> Self {
        let inner = |path: &Path| {
            let real = checkout.canonicalize().ok();
            let inner = path.strip_prefix(checkout).ok();
            inner.or_else(|| path.strip_prefix(real.as_deref()?).ok()).map(Path::to_owned)
        };
        let change = |path: &mut PathBuf| match inner(path) {
            Some(inner) if inner.as_os_str().is_empty() => *path = "the repository".into(),
            Some(inner) => *path = inner,
            None => {}
        };
        if let Self::Refused { path, .. } | Self::TooLarge { dir: path, .. } = &mut self {
            change(path);
        } else if let Self::Manifest(error) = &mut self {
            error.change_path(change);
        }
        self
    }

    /// For `map_err`: an [`Io`](Self::Io) about `path`.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", with_causes(source)),
        None => error.to_string(),
    }
}
