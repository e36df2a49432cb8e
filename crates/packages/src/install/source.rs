//! Sources of extensions.

mod address;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use haft_protocol::defense::{Defense, is_up};

use super::InstallError;

/// The source of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallSource {
    /// The absolute path of a directory.
    Directory(PathBuf),
    /// A repository.
    Git(GitUrl),
}

/// An address that is safe to pass to `git`: `https://`, `ssh://` or `git@host:`, and nothing that git takes for an
/// option or a helper program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUrl(String);

const KINDS: &str = "use a directory, or an address that begins with https://, ssh:// or git@";

/// File extensions of archives.
const ARCHIVES: &[&str] = &[
    ".zip", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar",
    ".jar", ".whl", ".crate",
];

impl InstallSource {
    /// Parses the user's text. A directory is relative to `dir`.
    ///
    /// # Errors
    /// [`InstallError::Source`] if the text is neither a directory nor an address that haft clones from, with the
    /// text to use instead.
    pub fn parse(text: &str, dir: &Path) -> Result<Self, InstallError> {
        // Collecting the components removes the `.` from `dir/./ext`.
        let path: PathBuf = dir.join(text).components().collect();
        let read = match address::read(text) {
            Some(address) if is_up(Defense::SourceRules) => address.map(|()| Self::Git(GitUrl(text.into()))),
            None if path.is_dir() && !is_empty_or_option(text) => parse_directory(path),
            None if is_up(Defense::SourceRules) => Err(rejection_reason(text, &path)),
            // Git may accept other texts, so every other text is rejected.
            Some(_) | None => Ok(Self::Git(GitUrl(text.into()))),
        };
        read.map_err(|problem| InstallError::Source { source_text: text.into(), problem })
    }
}

/// Checks a directory: it has the files of an extension, or is a bare repository.
fn parse_directory(path: PathBuf) -> Result<InstallSource, String> {
    let bare = path.join("HEAD").is_file() && path.join("objects").is_dir() && path.join("refs").is_dir();
    if bare {
        return Err("it is a bare repository; run `git clone` and install the clone's directory".into());
    }
    // `a/../b` is `b`, unless `a` is a link. Other links stay, because their present target is meant.
    let has_up = path.components().any(|part| part == Component::ParentDir);
    let path = if has_up { path.canonicalize().unwrap_or(path) } else { path };
    Ok(InstallSource::Directory(path))
}

/// Returns the reason why a text that is neither an address nor a directory is rejected.
fn rejection_reason(text: &str, path: &Path) -> String {
    if is_empty_or_option(text) {
        format!("it is not a source; {KINDS}")
    } else if is_archive(text) {
        "haft does not unpack archives; unpack it, review the files, and install the directory".into()
    } else if path.exists() {
        "it is a file; install the directory that contains extension.json".into()
    } else {
        format!("no such directory; {KINDS}")
    }
}

/// True if a text is empty or an option: a directory `-x` is written `./-x`.
fn is_empty_or_option(text: &str) -> bool {
    text.is_empty() || text.starts_with('-')
}

/// True if the file name in a path or address is that of an archive. A query after it is ignored.
fn is_archive(text: &str) -> bool {
    let name = text.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

impl GitUrl {
    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Creates an address without any check, for tests of the code behind the check.
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
