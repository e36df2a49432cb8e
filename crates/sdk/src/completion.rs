//! Completions of a command.

use haft_protocol::ext::CompletionItem;

/// A completion of a command: see [`Extension::complete`](crate::Extension::complete).
///
/// ```
/// use haft_sdk::Completion;
///
/// let done = Completion::new("done 1").label("milk").description("It is done.");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion(CompletionItem);

impl Completion {
    /// Creates a completion. `value` replaces all text after the name of the command; it is one
    /// line.
    pub fn new(value: impl Into<String>) -> Self {
        Self(CompletionItem { value: value.into(), ..CompletionItem::default() })
    }

    /// Sets the text beside the value.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.0.label = label.into();
        self
    }

    /// Sets a description of one line.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.0.description = description.into();
        self
    }
}

impl From<Completion> for CompletionItem {
    fn from(completion: Completion) -> Self {
        completion.0
    }
}

impl From<CompletionItem> for Completion {
    fn from(item: CompletionItem) -> Self {
        Self(item)
    }
}
