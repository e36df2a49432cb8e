//! The restriction of file access.

use std::sync::Arc;

use super::atomic::PathBoundary;

/// The files that an operation may access.
#[derive(Debug, Clone)]
pub(super) enum FileRestriction {
    /// All files, because neither a boundary nor a sandbox was configured.
    Unrestricted,
    /// The files within a boundary.
    Within(Arc<PathBoundary>),
}

impl FileRestriction {
    /// Restricts access to the first of these boundaries that was configured.
    pub(super) fn from_first<const N: usize>(configured: [Option<&Arc<PathBoundary>>; N]) -> Self {
        configured
            .into_iter()
            .flatten()
            .next()
            .map_or(Self::Unrestricted, |boundary| Self::Within(Arc::clone(boundary)))
    }

    /// Returns the boundary, which each access must check.
    pub(super) fn path_boundary(&self) -> Option<&PathBoundary> {
        match self {
            Self::Unrestricted => None,
            Self::Within(boundary) => Some(boundary),
        }
    }
}
