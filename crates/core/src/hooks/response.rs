//! After the model has answered.

use async_trait::async_trait;
use haft_protocol::message::{AssistantBlock, Stop, Usage};

use super::{CancellationToken, Refusal};
use crate::model::ModelInfo;

/// The model has answered, and nothing has followed from it yet. One that panics has allowed nothing: the turn ends, and
/// the answer does not stay in the context.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{
///     AfterModelResponse, CancellationToken, ReceivedResponse, Refusal, ResponseDecision,
/// };
///
/// /// Answers that cost too much end the turn.
/// struct Budget {
///     most_tokens: u64,
/// }
///
/// #[async_trait]
/// impl AfterModelResponse for Budget {
///     async fn after_model_response(&self, _: &CancellationToken, answer: &ReceivedResponse) -> ResponseDecision {
///         match answer.usage.output {
///             spent if spent > self.most_tokens => {
///                 let reason = format!("{spent} tokens in one answer, of {} allowed", self.most_tokens);
///                 ResponseDecision::Refuse(Refusal::of_turn("budget", reason))
///             }
///             _ => ResponseDecision::Keep,
///         }
///     }
///
///     fn holds_back(&self) -> bool {
///         false // the user may watch the answer come
///     }
/// }
/// ```
#[async_trait]
pub trait AfterModelResponse: Send + Sync {
    /// Decides what the answer is. What the hooks leave is what the transcript keeps, what the user is shown and whose
    /// tool calls run. The hooks behind this one are asked about what it left.
    async fn after_model_response(
        &self,
        cancel: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision;

    /// Whether the user sees nothing of an answer before this has decided: deltas of text, thinking and calls are held back
    /// while there is one such hook. Otherwise the user may have seen what the hook then changes.
    fn holds_back(&self) -> bool {
        true
    }

    /// Who this is, where the hook cannot say so itself because it panicked.
    fn name(&self) -> &str {
        "a hook"
    }
}

/// What [`AfterModelResponse`] is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedResponse {
    /// The step, counted from 1 within one prompt.
    pub step: u32,
    /// Who answered.
    pub model: ModelInfo,
    /// Text, thinking and tool calls in order.
    pub content: Vec<AssistantBlock>,
    /// Why the model stopped.
    pub stop: Stop,
    /// What the request used.
    pub usage: Usage,
}

/// What becomes of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseDecision {
    /// It is what was asked about.
    Keep,
    /// It is this instead.
    Edit {
        /// Who changed it.
        by: String,
        /// All of its blocks.
        content: Vec<AssistantBlock>,
    },
    /// The turn ends here. The answer is in the session's log, and not in the context.
    Refuse(Refusal),
}
