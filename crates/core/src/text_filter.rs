//! The filter of texts that are stored outside of the session, such as the complete output of a command.

use std::fmt;
use std::sync::Arc;

type FilterFunction = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Removes secrets from a text before it is stored. Clones share the filter.
#[derive(Clone)]
pub struct TextFilter(Arc<FilterFunction>);

impl TextFilter {
    /// Creates a filter from a function that returns the changed text, or `None` for a text that stays as it is.
    pub fn new(filter: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(filter))
    }

    /// Returns the changed text; `None` if the text stays as it is.
    pub fn apply(&self, text: &str) -> Option<String> {
        (self.0)(text)
    }
}

impl fmt::Debug for TextFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextFilter").finish_non_exhaustive()
    }
}
