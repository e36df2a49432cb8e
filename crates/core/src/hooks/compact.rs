//! Before the context is summed up.

use async_trait::async_trait;

use super::CancellationToken;
use crate::compact::Compacting;
use crate::session::EntryId;

/// The context is about to be summed up, so that it fits into the model's window. All such hooks are asked; a refusal
/// counts whoever says it, and of several replacements the first. One that panics has said nothing.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::compact::Compacting;
/// use haft_core::hooks::{BeforeCompact, CancellationToken, CompactDecision};
///
/// /// Sums up without a model: what was asked, and which files were changed.
/// struct Plainly;
///
/// #[async_trait]
/// impl BeforeCompact for Plainly {
///     async fn before_compact(&self, _: &CancellationToken, about: &Compacting) -> CompactDecision {
///         let earlier = about.previous_summary.clone().unwrap_or_default();
///         let summary = format!("{earlier}Files that were changed: {}", about.files_modified.join(", "));
///         CompactDecision::Replace { by: "plainly".into(), summary, first_kept: None }
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeCompact: Send + Sync {
    /// Decides whether it is, and what the summary says.
    async fn before_compact(&self, cancel: &CancellationToken, compacting: &Compacting) -> CompactDecision;

    /// It wanted to keep what is kept from this entry on. The kept part cannot begin there, so what it decided does not
    /// count.
    fn cut_refused(&self, _first_kept: EntryId) {}
}

/// What becomes of a context that is about to be summed up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactDecision {
    /// The model sums it up.
    Default,
    /// It stays as it is. If it is too long, the provider will say so, and the turn ends.
    Cancel {
        /// Who wants that.
        by: String,
        /// What the user is told.
        reason: String,
    },
    /// The summary is this, and no model is asked. Cut if it is longer than a summary may be.
    Replace {
        /// Who wrote it.
        by: String,
        /// What the model is told.
        summary: String,
        /// What is kept begins here, and not where it was suggested: one of [`Compacting::cut_points`].
        first_kept: Option<EntryId>,
    },
}
