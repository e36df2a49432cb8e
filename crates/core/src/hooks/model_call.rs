//! Before a request is sent to the model, and after the model has answered.

use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::message::{AssistantBlock, Message, StopCause, TokenUsage};

use super::{CancellationToken, Refusal};
use crate::model::{ModelInfo, RequestOptions, ThinkingLevel};
use crate::tool::ToolSpec;

/// A request is about to be sent to the model. Asked for each step, and once more when the context was summed up because
/// the provider found the request too long; the requests for summaries are none of these. One that panics has allowed
/// nothing: the turn ends.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{
///     BeforeModelRequest, CancellationToken, OutgoingRequest, RequestDecision, RequestEdit,
/// };
/// use haft_core::model::Thinking;
///
/// /// Thinks hard about the first step of a prompt, and less about the others.
/// struct FirstThings;
///
/// #[async_trait]
/// impl BeforeModelRequest for FirstThings {
///     async fn before_model_request(&self, _: &CancellationToken, request: &OutgoingRequest) -> RequestDecision {
///         let thinking = if request.step == 1 { Thinking::High } else { Thinking::Low };
///         let edit = RequestEdit { thinking: Some(thinking), ..RequestEdit::default() };
///         RequestDecision::Edit { by: "first-things".into(), edit }
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeModelRequest: Send + Sync {
    /// Decides what is sent. An edit is of this one request: the transcript stays as it is, and the next request is made
    /// from that again. The hooks behind this one are asked about what it left.
    async fn before_model_request(
        &self,
        cancel: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision;

    /// A part of its edit does not count, and `detail` says why; the rest of it does.
    fn edit_refused(&self, _detail: &str) {}

    /// Returns the name of the hook, for when it panics.
    fn name(&self) -> &str {
        "a hook"
    }
}

/// The input of [`BeforeModelRequest`].
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingRequest {
    /// The step, counted from 1 within one prompt.
    pub step: u32,
    /// The model that will be asked.
    pub model: ModelInfo,
    /// The system prompt. It cannot be changed here.
    pub system: String,
    /// The transcript, oldest first.
    pub messages: Arc<Vec<Message>>,
    /// The tools that the model is offered, and behind them those that earlier hooks added.
    pub tools: Vec<Arc<ToolSpec>>,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// Further options of the request.
    pub options: RequestOptions,
    /// The last request of a run that was interrupted: no tools are offered, and none can be added.
    pub last: bool,
}

/// The decision about a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestDecision {
    /// Sends the request unchanged.
    Send,
    /// Sends the request with changes.
    Edit {
        /// The hook that changed it.
        by: String,
        /// The changes.
        edit: RequestEdit,
    },
    /// Nothing is sent, and the turn ends here.
    Refuse(Refusal),
}

/// The changes of a hook to one request; what is not there stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestEdit {
    /// Another model, by the name that [`AgentBuilder::models`](crate::AgentBuilder::models) knows it by. One that is
    /// not known does not count.
    pub model: Option<String>,
    /// Other messages. A call in them that has no result is given one that says so; no messages at all do not count.
    pub messages: Option<Vec<Message>>,
    /// More tools. One of a name that is offered already is passed over; one that the agent's own selection leaves out
    /// does not count. The model may call such a tool, and it is for a hook that
    /// [takes unknown tools](super::BeforeToolExecute::handles_unknown_tools) to answer.
    pub add_tools: Vec<ToolSpec>,
    /// Other options: all of them, and not only those that are set.
    pub options: Option<RequestOptions>,
    /// More or less thinking.
    pub thinking: Option<ThinkingLevel>,
}

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
///                 ResponseDecision::Refuse(Refusal::for_turn("budget", reason))
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

    /// True if the user sees nothing of an answer before this has decided: deltas of text, thinking and calls are held back
    /// while there is one such hook. Otherwise the user may have seen what the hook then changes.
    fn suppresses_deltas(&self) -> bool {
        true
    }

    /// Returns the name of the hook, for when it panics.
    fn name(&self) -> &str {
        "a hook"
    }
}

/// The input of [`AfterModelResponse`].
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedResponse {
    /// The step, counted from 1 within one prompt.
    pub step: u32,
    /// The model that answered.
    pub model: ModelInfo,
    /// Text, thinking and tool calls in order.
    pub content: Vec<AssistantBlock>,
    /// Why the model stopped.
    pub stop: StopCause,
    /// The usage of the request.
    pub usage: TokenUsage,
}

/// The decision about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseDecision {
    /// It is what was asked about.
    Keep,
    /// It is this instead.
    Edit {
        /// The hook that changed it.
        by: String,
        /// All of its blocks.
        content: Vec<AssistantBlock>,
    },
    /// The turn ends here. The answer is in the session's log, and not in the context.
    Refuse(Refusal),
}
