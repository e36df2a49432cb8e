//! Before the user sees what the model said.

use async_trait::async_trait;

use super::CancellationToken;

/// The user is about to see what the model said. Asked for every message with text. While there is such a hook,
/// deltas of text and thinking are held back until it has decided; a message that was replaced or suppressed takes
/// its thinking along. There is an example at the [module](super).
#[async_trait]
pub trait BeforeAssistantMessage: Send + Sync {
    /// Decides what the user sees. The transcript keeps the original.
    async fn before_assistant_message(&self, cancel: &CancellationToken, text: &str) -> MessageDecision;
}

/// What the user sees of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDecision {
    /// The text that was asked about.
    Show,
    /// This instead.
    Replace {
        /// Who replaced it.
        by: String,
        /// The text.
        text: String,
    },
    /// Nothing. Tool calls of the message still run.
    Suppress {
        /// Who suppressed it.
        by: String,
        /// What the user is told instead.
        reason: String,
    },
}
