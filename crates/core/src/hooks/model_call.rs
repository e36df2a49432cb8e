//! Hooks before a request to the model and after its response.

use std::sync::Arc;

use async_trait::async_trait;
use haft_protocol::message::{AssistantBlock, Message, StopCause, TokenUsage};

use super::{CancellationToken, Refusal, UNNAMED_HOOK};
use crate::model::{ModelId, RequestOptions, ThinkingLevel};
use crate::tool::ToolSpec;

/// Hook before a request to the model. Asked for each step, and again if the provider found the request too long and
/// the context was compacted. Not asked for requests for summaries. A panic ends the turn.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{
///     BeforeModelRequest, CancellationToken, OutgoingRequest, RequestDecision, RequestEdit,
/// };
/// use haft_core::model::ThinkingLevel;
///
/// /// Sets a high thinking level for the first step of a prompt and a lower one for the others.
/// struct FirstThings;
///
/// #[async_trait]
/// impl BeforeModelRequest for FirstThings {
///     async fn before_model_request(&self, _: &CancellationToken, request: &OutgoingRequest) -> RequestDecision {
///         let thinking = if request.step == 1 { ThinkingLevel::High } else { ThinkingLevel::Low };
///         let edit = RequestEdit::default().with_thinking(thinking);
///         RequestDecision::Edit(edit)
///     }
/// }
/// ```
#[async_trait]
pub trait BeforeModelRequest: Send + Sync {
    /// Decides about the request. An edit applies to this request only: the transcript does not change, and the next
    /// request starts from it again. Later hooks see the edited request.
    async fn before_model_request(
        &self,
        cancel: &CancellationToken,
        request: &OutgoingRequest,
    ) -> RequestDecision;

    /// Reports that a part of the edit was rejected; `detail` is the reason. The rest of the edit applies.
    fn edit_refused(&self, _detail: &str) {}

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The input of [`BeforeModelRequest`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OutgoingRequest {
    /// The step, counted from 1 within a prompt.
    pub step: u32,
    /// The model that receives the request.
    pub model: ModelId,
    /// The system prompt, which a hook cannot change here.
    pub system: String,
    /// The transcript, oldest first.
    pub messages: Arc<Vec<Message>>,
    /// The tools that the model is offered, followed by those that earlier hooks added.
    pub tools: Vec<Arc<ToolSpec>>,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// Further options of the request.
    pub options: RequestOptions,
    /// True for the last request of an interrupted run: no tools are offered, and none can be added.
    pub last: bool,
}

impl OutgoingRequest {
    /// Creates a request without a system prompt, tools and options.
    pub fn new(step: u32, model: ModelId, messages: impl Into<Arc<Vec<Message>>>) -> Self {
        Self {
            step,
            model,
            system: String::new(),
            messages: messages.into(),
            tools: Vec::new(),
            thinking: ThinkingLevel::default(),
            options: RequestOptions::default(),
            last: false,
        }
    }

    /// Sets [`system`](Self::system).
    #[must_use]
    pub fn with_system(self, system: impl Into<String>) -> Self {
        Self { system: system.into(), ..self }
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(self, tools: Vec<Arc<ToolSpec>>) -> Self {
        Self { tools, ..self }
    }

    /// Sets [`thinking`](Self::thinking).
    #[must_use]
    pub fn with_thinking(self, thinking: ThinkingLevel) -> Self {
        Self { thinking, ..self }
    }

    /// Sets [`options`](Self::options).
    #[must_use]
    pub fn with_options(self, options: RequestOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets [`last`](Self::last).
    #[must_use]
    pub fn with_last(self, last: bool) -> Self {
        Self { last, ..self }
    }
}

/// The decision about a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestDecision {
    /// Sends the request unchanged.
    Send,
    /// Sends the request with changes.
    Edit(RequestEdit),
    /// Sends nothing and ends the turn.
    Refuse(Refusal),
}

/// A hook's changes to one request; `None` and empty fields change nothing.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RequestEdit {
    /// Another model, by a name that [`AgentBuilder::models`](crate::AgentBuilder::models) resolves. An unknown name is
    /// rejected.
    pub model: Option<String>,
    /// Other messages. Calls without a result receive one that says so. An empty list is rejected.
    pub messages: Option<Vec<Message>>,
    /// Additional tools. A tool whose name is already offered is ignored. A tool that the agent's selection excludes is
    /// rejected. If the model calls such a tool, a hook that [handles unknown
    /// tools](super::BeforeToolExecute::handles_unknown_tools) must answer.
    pub add_tools: Vec<ToolSpec>,
    /// Other options, which replace all options.
    pub options: Option<RequestOptions>,
    /// Another thinking level.
    pub thinking: Option<ThinkingLevel>,
}

impl RequestEdit {
    /// Sets [`model`](Self::model).
    #[must_use]
    pub fn with_model(self, model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..self }
    }

    /// Sets [`messages`](Self::messages).
    #[must_use]
    pub fn with_messages(self, messages: impl Into<Option<Vec<Message>>>) -> Self {
        Self { messages: messages.into(), ..self }
    }

    /// Sets [`add_tools`](Self::add_tools).
    #[must_use]
    pub fn with_add_tools(self, add_tools: Vec<ToolSpec>) -> Self {
        Self { add_tools, ..self }
    }

    /// Sets [`options`](Self::options).
    #[must_use]
    pub fn with_options(self, options: impl Into<Option<RequestOptions>>) -> Self {
        Self { options: options.into(), ..self }
    }

    /// Sets [`thinking`](Self::thinking).
    #[must_use]
    pub fn with_thinking(self, thinking: impl Into<Option<ThinkingLevel>>) -> Self {
        Self { thinking: thinking.into(), ..self }
    }
}

/// Hook after a response of the model, before it has any effect. A panic ends the turn, and the response is not added
/// to the context.
///
/// ```
/// use async_trait::async_trait;
/// use haft_core::hooks::{
///     AfterModelResponse, CancellationToken, ReceivedResponse, Refusal, ResponseDecision,
/// };
///
/// /// Ends the turn after an answer that uses too many tokens.
/// struct Budget {
///     most_tokens: u64,
/// }
///
/// #[async_trait]
/// impl AfterModelResponse for Budget {
///     async fn after_model_response(&self, _: &CancellationToken, answer: &ReceivedResponse) -> ResponseDecision {
///         match answer.usage.output {
///             spent if spent > self.most_tokens => {
///                 let reason = format!("the answer used {spent} tokens; the limit is {}", self.most_tokens);
///                 ResponseDecision::Refuse(Refusal::for_turn(reason))
///             }
///             _ => ResponseDecision::Keep,
///         }
///     }
///
///     fn suppresses_deltas(&self) -> bool {
///         false // the user sees the answer while it arrives
///     }
/// }
/// ```
#[async_trait]
pub trait AfterModelResponse: Send + Sync {
    /// Decides about the response. The transcript, the user and the tool calls use the response that the hooks leave.
    /// Later hooks see the edited response.
    async fn after_model_response(
        &self,
        cancel: &CancellationToken,
        response: &ReceivedResponse,
    ) -> ResponseDecision;

    /// True if the user must not see any part of a response before this hook decides. While such a hook exists, deltas
    /// of text, thinking and calls are held back. Otherwise the user may have seen content that the hook changes.
    fn suppresses_deltas(&self) -> bool {
        true
    }

    /// Returns the name of the hook, see the [module](super#names).
    fn name(&self) -> &str {
        UNNAMED_HOOK
    }
}

/// The input of [`AfterModelResponse`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReceivedResponse {
    /// The step, counted from 1 within a prompt.
    pub step: u32,
    /// The model that answered.
    pub model: ModelId,
    /// Text, thinking and tool calls, in order.
    pub content: Vec<AssistantBlock>,
    /// The reason why the model stopped.
    pub stop: StopCause,
    /// The usage of the request.
    pub usage: TokenUsage,
}

impl ReceivedResponse {
    /// Creates a response without usage.
    pub fn new(step: u32, model: ModelId, content: Vec<AssistantBlock>, stop: StopCause) -> Self {
        Self { step, model, content, stop, usage: TokenUsage::default() }
    }

    /// Sets [`usage`](Self::usage).
    #[must_use]
    pub fn with_usage(self, usage: TokenUsage) -> Self {
        Self { usage, ..self }
    }
}

/// The decision about a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseDecision {
    /// Keeps the response.
    Keep,
    /// Replaces the content of the response.
    Edit {
        /// All blocks of the new content.
        content: Vec<AssistantBlock>,
    },
    /// Ends the turn. The response is in the session's log, but not in the context.
    Refuse(Refusal),
}
