//! Hook for the user's input.

use async_trait::async_trait;
use haft_protocol::content::{Image, InputSource};
use tokio_util::sync::CancellationToken;

use super::UNNAMED_HOOK;

/// Hook for the user's input before it becomes a prompt. A program asks it with
/// [`Agent::review_input`](crate::Agent::review_input); [`Agent::prompt`](crate::Agent::prompt) does not. A panic
/// changes nothing.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{CancellationToken, UserInputDecision, OnInput, UserInput};
///
/// /// Asks for a short answer to `?quick …`.
/// struct Quick;
///
/// #[async_trait]
/// impl OnInput for Quick {
///     async fn on_input(&self, _: &CancellationToken, input: &UserInput) -> UserInputDecision {
///         match input.text.strip_prefix("?quick ") {
///             Some(rest) => {
///                 UserInputDecision::Change(input.clone().with_text(format!("Answer briefly: {rest}")))
///             }
///             None => UserInputDecision::Keep,
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait OnInput: Send + Sync {
    /// Decides about an input. Later hooks see the changed input.
    async fn on_input(&self, cancel: &CancellationToken, input: &UserInput) -> UserInputDecision;

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// An input of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserInput {
    /// The text, before templates and skills are expanded.
    pub text: String,
    /// The images.
    pub images: Vec<Image>,
    /// The origin of the input. A hook cannot change it.
    pub source: InputSource,
    /// The files that the text mentions. The model reads them after the text.
    pub attached: Vec<AttachedFile>,
}

/// A file that an input mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachedFile {
    /// The path as the user wrote it, in one line and without `"`.
    pub name: String,
    /// The content.
    pub text: String,
}

impl AttachedFile {
    /// Creates a file.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

impl UserInput {
    /// Creates an input without images.
    pub fn new(text: impl Into<String>, source: InputSource) -> Self {
        Self { text: text.into(), images: Vec::new(), source, attached: Vec::new() }
    }

    /// Sets [`text`](Self::text).
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self }
    }

    /// Sets [`images`](Self::images).
    #[must_use]
    pub fn with_images(self, images: Vec<Image>) -> Self {
        Self { images, ..self }
    }

    /// Sets [`attached`](Self::attached).
    #[must_use]
    pub fn with_attached(self, attached: Vec<AttachedFile>) -> Self {
        Self { attached, ..self }
    }
}

/// The decision about an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserInputDecision {
    /// The input stays as it is.
    Keep,
    /// The input is replaced.
    Change(UserInput),
    /// The hook has handled the input: no prompt is sent, and no later hook is asked.
    Handled,
}
