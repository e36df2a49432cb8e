//! What an extension can be installed from.

use std::fmt;
use std::path::{Path, PathBuf};

use super::InstallError;

/// What an extension is installed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A directory, absolute.
    Directory(PathBuf),
    /// A repository.
    Git(GitUrl),
}

/// An address that `git` may be given: `https://`, `ssh://` or `git@host:`, and nothing that git would take for
/// an option or a helper program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitUrl(String);

const SCHEMES: &str = "use a directory, or an address that begins with https://, ssh:// or git@";

impl Source {
    /// Reads what the user typed; a directory is relative to `dir`.
    ///
    /// # Errors
    /// [`InstallError::Source`] when it is no directory and no address that haft clones from.
    pub fn parse(text: &str, dir: &Path) -> Result<Self, InstallError> {
        let refuse =
            |problem: &str| Err(InstallError::Source { source_text: text.into(), problem: problem.into() });
        if let Some(rest) = ["https://", "ssh://", "git@"].iter().find_map(|scheme| text.strip_prefix(scheme))
        {
            return match unsafe_part(rest) {
                None => Ok(Self::Git(GitUrl(text.into()))),
                Some(problem) => refuse(problem),
            };
        }
        let path = dir.join(text);
        if text.is_empty() || text.starts_with('-') {
            refuse(SCHEMES)
        } else if path.is_dir() {
            Ok(Self::Directory(path))
        } else if text.contains("://") || text.contains("::") {
            refuse(&format!("this kind of address is not cloned from; {SCHEMES}"))
        } else {
            refuse(&format!("there is no such directory; {SCHEMES}"))
        }
    }
}

/// What makes an address unsafe behind its scheme: git and ssh take a part that begins with `-` for an option.
fn unsafe_part(rest: &str) -> Option<&'static str> {
    let option = |part: &str| part.is_empty() || part.starts_with('-');
    if rest.chars().any(|c| c.is_control() || c.is_whitespace()) {
        Some("it holds spaces or control characters")
    } else if option(rest) || rest.split(['@', ':', '/']).next().is_none_or(option) {
        Some("it has no host")
    } else if rest.split(['@', ':', '/']).any(|part| part.starts_with('-')) {
        Some("a part of it begins with `-`, which git could take for an option")
    } else {
        None
    }
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
