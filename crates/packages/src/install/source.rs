//! Sources of extensions.

mod address;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use haft_protocol::defence::{Defence, is_up};

use super::InstallError;

/// The source of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallSource {
    /// A directory, absolute.
    Directory(PathBuf),
    /// A repository.
    Git(GitUrl),
}

/// An address that `git` may be given: `https://`, `ssh://` or `git@host:`, and nothing that git would take for
/// an option or a helper program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUrl(String);

const KINDS: &str = "use a directory, or an address that begins with https://, ssh:// or git@";

/// Endings of what is packed.
const ARCHIVES: &[&str] = &[
    ".zip", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar",
    ".jar", ".whl", ".crate",
];

impl InstallSource {
    /// Reads what the user typed; a directory is relative to `dir`.
    ///
    /// # Errors
    /// [`InstallError::Source`] when it is no directory and no address that haft clones from; it says what to write
    /// instead.
    pub fn parse(text: &str, dir: &Path) -> Result<Self, InstallError> {
        // Collecting the components takes the `.` out of `dir/./ext`.
        let path: PathBuf = dir.join(text).components().collect();
        let read = match address::read(text) {
            Some(address) if is_up(Defence::SourceRules) => address.map(|()| Self::Git(GitUrl(text.into()))),
            None if path.is_dir() && !is_empty_or_option(text) => parse_directory(path),
            None if is_up(Defence::SourceRules) => Err(rejection_reason(text, &path)),
            // Git would make something of it.
            Some(_) | None => Ok(Self::Git(GitUrl(text.into()))),
        };
        read.map_err(|problem| InstallError::Source { source_text: text.into(), problem })
    }
}

/// A directory holds an extension, or a repository that nothing is checked out of.
fn parse_directory(path: PathBuf) -> Result<InstallSource, String> {
    let bare = path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir();
    if bare {
        return Err("it is a repository without its files; `git clone` it and install that directory".into());
    }
    // `a/../b` is `b`, unless `a` is a link. Other links stay: whoever names one wants what it leads to by then.
    let has_up = path.components().any(|part| part == Component::ParentDir);
    let path = if has_up { path.canonicalize().unwrap_or(path) } else { path };
    Ok(InstallSource::Directory(path))
}

/// Why nothing can be installed from what is neither an address nor a directory.
fn rejection_reason(text: &str, path: &Path) -> String {
    if is_empty_or_option(text) {
        format!("that is no source; {KINDS}")
    } else if is_archive(text) {
        "archives are not unpacked; unpack it, look at it, and install the directory".into()
    } else if path.exists() {
        "it is a file; install the directory that holds its extension.json".into()
    } else {
        format!("there is no such directory; {KINDS}")
    }
}

/// True if a text is no name of anything: a directory `-x` is written `./-x`.
fn is_empty_or_option(text: &str) -> bool {
    text.is_empty() || text.starts_with('-')
}

/// True if the name of a file says that it is packed; what follows it in an address does not matter.
fn is_archive(text: &str) -> bool {
    let name = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

impl GitUrl {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An address of any kind, for tests of what happens behind the check.
    #[cfg(test)]
    pub(super) fn unchecked(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for GitUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
