//! Errors of installing, changing and removing extensions.

use std::path::{Path, PathBuf};

use haft_protocol::ids::ExtensionName;

use super::lock::LockError;
use crate::file_name::dir_name;
use crate::manifest::{ExecError, ManifestError};

/// The reason why an extension was not installed, changed or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The source is neither a directory nor an address that haft clones from.
    #[error("cannot install from {source_text:?}: {problem}")]
    Source {
        /// The source as given.
        source_text: String,
        /// The problem with it.
        problem: String,
    },
    /// The extension's manifest is not valid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// An extension of that name is in the global directory.
    #[error(
        "extension {name} already exists in {}; remove it first, or approve it there with `haft ext trust \
        {name}`",
        dir.display()
    )]
    Exists {
        /// The name.
        name: ExtensionName,
        /// Its directory.
        dir: PathBuf,
    },
    /// An extension with that name, or with a name that differs only in case, is installed.
    #[error(
        "extension {known} is already installed from {from}{}; to replace it, run `haft ext remove \
        {known}` first",
        if name == known { String::new() } else { format!(", and {name} differs only in case") }
    )]
    Taken {
        /// The name.
        name: ExtensionName,
        /// The name of the installed extension.
        known: ExtensionName,
        /// The source of the installed extension.
        from: String,
    },
    /// The directory's manifest has another name than the extension that was approved there.
    #[error(
        "{} was approved as {known}, but its manifest now has the name {name}; change the name back, or \
        run `haft ext remove {known}` first, which keeps changed files",
        dir.display()
    )]
    Renamed {
        /// The directory.
        dir: PathBuf,
        /// The name in its manifest.
        name: ExtensionName,
        /// The approved name.
        known: ExtensionName,
    },
    /// Another process changed the approval while the user was asked.
    #[error(
        "the approval of {name} changed while haft waited for your answer, so nothing was changed; run the \
        command again to see the current state"
    )]
    ConcurrentChange {
        /// The extension.
        name: ExtensionName,
    },
    /// No extension has that name.
    #[error("extension {name:?} not found; `haft ext list` lists the installed extensions")]
    NotFound {
        /// The name.
        name: String,
    },
    /// Two extensions have that name.
    #[error(
        "{name:?} is the name of two extensions, in {} and {}; use the directory's name instead",
        first.display(), second.display()
    )]
    Ambiguous {
        /// The name.
        name: String,
        /// The first directory.
        first: PathBuf,
        /// The second directory.
        second: PathBuf,
    },
    /// The tree contains an entry that is not copied.
    #[error("{} {problem}", path.display())]
    Refused {
        /// The entry.
        path: PathBuf,
        /// The problem and the next step.
        problem: String,
    },
    /// The tree exceeds a limit.
    #[error(
        "{} contains {what}; copy extension.json and the program into a separate directory and install \
        that, or run it in place with --ext",
        dir.display()
    )]
    TooLarge {
        /// The tree.
        dir: PathBuf,
        /// The exceeded limit.
        what: String,
    },
    /// The source changed while it was copied.
    #[error("{} changed while it was copied; try again", dir.display())]
    Changed {
        /// The source.
        dir: PathBuf,
    },
    /// Another process holds the lock.
    #[error("another haft process is changing {}; try again when it has finished", dir.display())]
    Busy {
        /// The directory of extensions.
        dir: PathBuf,
    },
    /// `git` failed.
    #[error("git could not clone {url}: {detail}")]
    Git {
        /// The address.
        url: String,
        /// Git's message, or the reason why it did not start, and the next step.
        detail: String,
    },
    /// The lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No earlier version is recorded.
    #[error(
        "cannot roll back {name}: no earlier version is recorded; haft records one when an update is approved"
    )]
    NoEarlierVersion {
        /// The extension.
        name: ExtensionName,
    },
    /// Earlier versions are recorded, and none of them can be used.
    #[error("cannot roll back {name}: {why}; run `haft ext update {name}` to fetch it again")]
    NoneUsable {
        /// The extension.
        name: ExtensionName,
        /// The reason for each version.
        why: String,
    },
    /// An earlier version cannot be used.
    #[error("cannot use the earlier version of {name}")]
    Tree {
        /// The extension.
        name: ExtensionName,
        /// The problem with its code.
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
        /// The file or directory.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// A tree in the store does not match its digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The tree is missing.
    #[error("its code is missing from {}", short_store_path(dir))]
    Missing {
        /// The expected directory.
        dir: PathBuf,
    },
    /// The tree has other content.
    #[error("its code in {} differs from the approved code", short_store_path(dir))]
    Changed {
        /// Its directory.
        dir: PathBuf,
    },
    /// The tree cannot be read.
    #[error("cannot read its code")]
    Read(#[source] Box<InstallError>),
}

/// Returns a path in the store with a shortened digest, for messages.
fn short_store_path(dir: &Path) -> String {
    let name = dir_name(dir);
    format!("store/{}…", name.chars().take(12).collect::<String>())
}

impl InstallError {
    pub(super) fn too_large(dir: &Path, what: String) -> Self {
        Self::TooLarge { dir: dir.into(), what }
    }

    /// Creates the error for an entry that is not copied, or whose content is not accepted.
    pub(crate) fn refused_entry(path: &Path, problem: impl Into<String>) -> Self {
        Self::Refused { path: path.into(), problem: problem.into() }
    }

    /// Returns the stable code: `install_rejected` for a source, manifest or tree that haft never installs from.
    pub fn code(&self) -> Option<&'static str> {
        let rejected = matches!(
            self,
            Self::Source { .. } | Self::Manifest(_) | Self::Refused { .. } | Self::TooLarge { .. }
        );
        rejected.then_some("install_rejected")
    }

    /// Returns the error with the path of a missing program in the source, because the user does not know the copy in
    /// `tree`.
    pub(crate) fn in_source(mut self, tree: &Path, source: &Path) -> Self {
        if let Self::Exec(ExecError::NoFile { looked, .. } | ExecError::NotExecutable { looked, .. }) =
            &mut self
            && let Ok(inner) = looked.strip_prefix(tree)
        {
            *looked = source.join(inner);
        }
        self
    }

    /// Returns the error with paths relative to the repository, because the user does not know the directory of the
    /// clone.
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
        } else if let Self::Exec(ExecError::NoFile { looked, .. } | ExecError::NotExecutable { looked, .. }) =
            &mut self
        {
            change(looked);
        }
        self
    }

    /// Returns a closure for `map_err` that creates an [`Io`](Self::Io) error about `path`.
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
