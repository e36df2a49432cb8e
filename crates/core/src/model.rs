//! `Model`: the interface between the agent and a provider.

mod facts;
mod output;
mod review;

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{FutureExt, Stream, StreamExt, stream};
use haft_protocol::content::ToolCall;
pub use haft_protocol::event::Advice;
pub use haft_protocol::ext::{RequestOptions, ToolChoice};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, NativeMessage, StopCause, TokenUsage};
pub use haft_protocol::thinking::ThinkingLevel;
use serde::{Serialize, Serializer};
use tokio_util::sync::CancellationToken;

use crate::forward::forward_trait;
use crate::panics::panic_message;
use crate::tool::ToolSpec;

pub use facts::{ModelFacts, TokenPrices};
pub use output::OutputSchema;
pub(crate) use review::UNNAMED_HOOK;
pub use review::{
    BeforeProviderRequest, MAX_HEADERS, MAX_PAYLOAD, ProviderRequest, ProviderRequestDecision, RequestReview,
    ReviewedRequest, check_header,
};

/// A language model behind an API, or a scripted one. `haft-providers` implements both.
///
/// ```
/// use haft_core::hooks::CancellationToken;
/// use haft_core::model::{Model, ModelError, ModelId, ModelRequest, ModelResponse, ModelStream};
///
/// /// Gives the same answer to every request.
/// struct Parrot;
///
/// #[async_trait::async_trait]
/// impl Model for Parrot {
///     fn info(&self) -> ModelId {
///         ModelId { provider: "zoo".into(), model: "parrot".into() }
///     }
///
///     async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
///         Ok(ModelResponse::text("Hello!").into_stream())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = haft_core::Agent::builder(Parrot).build()?;
/// assert_eq!(agent.prompt("Hi").answer().await?, "Hello!");
/// assert_eq!(agent.messages().len(), 2);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Model: Send + Sync {
    /// Returns the name of the model for people, `hello_ack` and the log.
    fn info(&self) -> ModelId;

    /// Returns the known facts of the model: window, prices, thinking. The default knows nothing. May search a large
    /// table.
    fn facts(&self) -> ModelFacts {
        ModelFacts::default()
    }

    /// Sends one request. The last item of the stream is [`ModelEvent::Done`] or an error. The agent reports a stream
    /// without either as [`ModelErrorKind::Truncated`].
    ///
    /// Dropping the stream or cancelling ends the request on the network. A panic here or in the stream becomes a
    /// [`ModelErrorKind::Unavailable`].
    async fn stream(
        &self,
        cancel: CancellationToken,
        request: ModelRequest,
    ) -> Result<ModelStream, ModelError>;
}

forward_trait!(Model for [Arc, Box] {
    async stream(cancel: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError>;
    fn info() -> ModelId;
    fn facts() -> ModelFacts;
});

/// Sends one request as [`Model::stream`] does. A panic of the model becomes an error.
pub(crate) async fn stream_response(
    model: &dyn Model,
    cancel: CancellationToken,
    request: ModelRequest,
) -> Result<ModelStream, ModelError> {
    let info = model.info();
    let panicked = move |panic: Box<dyn Any + Send>| {
        let message = format!("{info} panicked: {}", panic_message(&*panic));
        ModelError::new(ModelErrorKind::Unavailable, message)
    };
    let request = AssertUnwindSafe(async { model.stream(cancel, request).await });
    let stream = request.catch_unwind().await.map_err(&panicked)??;
    let events = AssertUnwindSafe(stream).catch_unwind();
    Ok(events.map(move |event| event.map_err(&panicked)?).boxed())
}

impl fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.info().to_string()).finish()
    }
}

/// Finds models by the names that hooks specify.
#[async_trait]
pub trait ModelSource: Send + Sync {
    /// Returns the model of this name, with its own settings. `asked` is the agent's model; a name without a provider
    /// can refer to the same provider. The future is dropped when the run is cancelled.
    ///
    /// # Errors
    /// The reason why there is no such model, as a text fragment for people.
    async fn model(&self, name: &str, asked: &ModelId) -> Result<Arc<dyn Model>, String>;
}

forward_trait!(ModelSource for [Arc] {
    async model(name: &str, asked: &ModelId) -> Result<Arc<dyn Model>, String>;
});

/// The stream of a model's answer.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// The name of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
// Closed: these two name a model.
pub struct ModelId {
    /// The provider: `anthropic`, `openai`, `scripted`, …
    pub provider: String,
    /// The model's id at that provider.
    pub model: String,
}

impl fmt::Display for ModelId {
    /// As `provider/model`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// One request to a model.
///
/// ```
/// use haft_core::model::ModelRequest;
/// use haft_core::protocol::content::joined_text;
/// use haft_core::protocol::message::Message;
///
/// /// Converts messages for a chat API: role and text.
/// fn turns(request: &ModelRequest) -> Vec<(&'static str, String)> {
///     let said = request.messages.iter().map(|message| match message {
///         Message::User { content, .. } => ("user", joined_text(content)),
///         Message::Assistant(message) => ("assistant", message.text()),
///         Message::Tool(result) => ("tool", joined_text(&result.content)),
///     });
///     std::iter::once(("system", request.system.clone())).chain(said).collect()
/// }
///
/// /// Converts tools for a chat API: name, description, JSON schema.
/// fn tools(request: &ModelRequest) -> Vec<(&str, &str, &str)> {
///     let specs = request.tools.iter();
///     specs.map(|tool| (tool.name.as_str(), tool.description.as_str(), tool.schema.as_str())).collect()
/// }
/// ```
///
/// Serializes for logs, without [`review`](Self::review).
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The system prompt.
    pub system: String,
    /// The transcript, oldest first.
    #[serde(serialize_with = "serialize_shared")]
    pub messages: Arc<Vec<Message>>,
    /// The tools that the model can call, in order.
    #[serde(serialize_with = "serialize_tools")]
    pub tools: Vec<Arc<ToolSpec>>,
    /// The thinking level. A level that the model does not support becomes the nearest one.
    pub thinking: ThinkingLevel,
    /// Further options.
    pub options: RequestOptions,
    /// The schema of the answer, if it must be JSON. The agent checks each answer without tool calls, so a model need
    /// not guarantee that its answers fit.
    #[serde(serialize_with = "serialize_output")]
    pub output_schema: Option<Arc<OutputSchema>>,
    /// The hooks that review the encoded request.
    #[serde(skip)]
    pub review: RequestReview,
}

impl ModelRequest {
    /// Creates a request without a system prompt, tools and options.
    pub fn new(messages: impl Into<Arc<Vec<Message>>>) -> Self {
        Self {
            system: String::new(),
            messages: messages.into(),
            tools: Vec::new(),
            thinking: ThinkingLevel::default(),
            options: RequestOptions::default(),
            output_schema: None,
            review: RequestReview::default(),
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

    /// Sets [`output_schema`](Self::output_schema).
    #[must_use]
    pub fn with_output_schema(self, output_schema: impl Into<Option<Arc<OutputSchema>>>) -> Self {
        Self { output_schema: output_schema.into(), ..self }
    }

    /// Sets [`review`](Self::review).
    #[must_use]
    pub fn with_review(self, review: RequestReview) -> Self {
        Self { review, ..self }
    }
}

fn serialize_shared<S: Serializer>(value: &Arc<impl Serialize>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde passes the field")]
fn serialize_output<S: Serializer>(
    schema: &Option<Arc<OutputSchema>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    schema.as_deref().serialize(serializer)
}

fn serialize_tools<S: Serializer>(tools: &[Arc<ToolSpec>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tools.iter().map(Arc::as_ref))
}

/// One event of a model's answer. The user watches the pieces; the complete answer at the end is authoritative.
///
/// ```
/// use futures::{StreamExt, stream};
/// use haft_core::model::{ModelEvent, ModelResponse, ModelStream};
///
/// /// Converts an answer that arrives in pieces.
/// fn streamed(pieces: Vec<String>) -> ModelStream {
///     let answer = ModelResponse::text(pieces.concat());
///     let pieces = pieces.into_iter().map(ModelEvent::Text);
///     stream::iter(pieces.chain([ModelEvent::Done(answer)]).map(Ok)).boxed()
/// }
/// # let count = streamed(vec!["a".into(), "b".into()]).count();
/// # assert_eq!(futures::FutureExt::now_or_never(count), Some(3));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// More text.
    Text(String),
    /// More thinking. Not shown while a message interceptor exists, because interceptors see only text.
    Thinking(String),
    /// A tool call begins.
    ToolCallStart {
        /// The call id.
        id: ToolCallId,
        /// The tool name.
        name: String,
    },
    /// More of a tool call's arguments, as JSON text.
    ToolCallArgs {
        /// The call id.
        id: ToolCallId,
        /// The next piece of JSON text.
        delta: String,
    },
    /// A tool call is complete.
    ToolCallEnd {
        /// The call id.
        id: ToolCallId,
    },
    /// The request failed temporarily and will be retried. Sent only before the first piece of an answer.
    Retry {
        /// The number of the next attempt, counted from 2.
        attempt: u32,
        /// The wait before the next attempt.
        delay: Duration,
        /// The reason.
        message: String,
        /// The maximum number of attempts.
        max_attempts: u32,
        /// The kind of the failure.
        kind: ModelErrorKind,
    },
    /// The model is not available and another model is used. Sent only before the first piece of an answer.
    Fallback {
        /// The model that failed.
        from: ModelId,
        /// The model that is used instead.
        to: ModelId,
        /// The reason.
        message: String,
    },
    /// The model that answers. A model that represents several sends this event once, directly before the first piece
    /// of its answer. Without it, [`Model::info`] names the model.
    Answering(ModelId),
    /// The complete answer; always the last event.
    Done(ModelResponse),
}

impl ModelEvent {
    /// True if the event is a piece of an answer.
    pub fn is_answer(&self) -> bool {
        !matches!(self, Self::Retry { .. } | Self::Fallback { .. } | Self::Answering(_))
    }
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelResponse {
    /// Text, thinking and tool calls in the model's order. Arguments that are not a JSON object are kept unchanged,
    /// wrapped by [`wrap_invalid_args`].
    pub content: Vec<AssistantBlock>,
    /// The reason why the model stopped: [`StopCause::End`], [`StopCause::ToolUse`] or [`StopCause::Length`].
    pub stop: StopCause,
    /// The usage of the request.
    pub usage: TokenUsage,
    /// Provider-specific data that only this provider can read.
    pub native: Option<NativeMessage>,
}

/// Wraps arguments that are not valid JSON as a JSON string, so that the transcript stays valid. The schema check then
/// reports the error to the model.
pub fn wrap_invalid_args(text: &str) -> haft_protocol::RawJson {
    haft_protocol::RawJson::from_value(text).unwrap_or_else(|_| haft_protocol::RawJson::empty_object())
}

/// The error of a request to a model.
///
/// ```
/// use haft_core::model::{ModelError, ModelErrorKind};
///
/// fn refused(status: u16) -> ModelError {
///     ModelError::new(ModelErrorKind::Rejected, "the zoo is closed; come back at 9").with_status(status)
/// }
/// assert_eq!(refused(403).to_string(), "the zoo is closed; come back at 9");
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// The kind, for retries and for programs.
    pub kind: ModelErrorKind,
    /// The message for people: the provider, the failure and the next step. Never contains a key.
    pub message: String,
    /// The HTTP status of the response, if one arrived.
    pub status: Option<u16>,
    /// The wait before another attempt that the provider asks for.
    pub retry_after: Option<Duration>,
    /// The next step, for programs that offer it.
    pub advice: Option<Advice>,
    /// The error of a library or of the system behind this one. Not compared by `==`.
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl ModelError {
    /// Creates an error without further data.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, advice: None, source: None }
    }

    /// Sets the HTTP status of the response.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    /// Sets the wait before another attempt that the provider asks for.
    #[must_use]
    pub fn with_retry_after(self, delay: Duration) -> Self {
        Self { retry_after: Some(delay), ..self }
    }

    /// Sets the next step.
    #[must_use]
    pub fn with_advice(self, advice: Advice) -> Self {
        Self { advice: Some(advice), ..self }
    }

    /// Sets the error behind this one.
    #[must_use]
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }
}

impl PartialEq for ModelError {
    fn eq(&self, other: &Self) -> bool {
        let Self { kind, message, status, retry_after, advice, source: _ } = self;
        *kind == other.kind
            && *message == other.message
            && *status == other.status
            && *retry_after == other.retry_after
            && *advice == other.advice
    }
}

impl Eq for ModelError {}

/// The kinds of [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing, or the provider rejected it.
    Auth,
    /// The provider's rate limit was reached, after all retries.
    RateLimited,
    /// The provider is overloaded or failing, after all retries.
    Unavailable,
    /// The provider rejected the request, for example because of an unknown model or a bad argument.
    Rejected,
    /// The request is longer than the model's window. Only a shorter transcript or a larger window helps, not a retry.
    Overflow,
    /// The connection failed before or during the answer.
    Connection,
    /// The answer ended without its final event.
    Truncated,
    /// The run was cancelled.
    Cancelled,
}

impl ModelResponse {
    /// Creates a response without usage.
    pub fn new(content: Vec<AssistantBlock>, stop: StopCause) -> Self {
        Self { content, stop, usage: TokenUsage::default(), native: None }
    }

    /// Creates an answer with text and without tool calls.
    pub fn text(text: impl Into<String>) -> Self {
        let content = vec![AssistantBlock::Text { text: text.into() }];
        Self { content, stop: StopCause::End, usage: TokenUsage::default(), native: None }
    }

    /// Creates an answer that calls tools and waits for their results.
    pub fn with_tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let content = calls.into_iter().map(AssistantBlock::ToolCall).collect();
        Self { content, stop: StopCause::ToolUse, usage: TokenUsage::default(), native: None }
    }

    /// Converts the answer into a stream: each block in one piece, then [`ModelEvent::Done`].
    ///
    /// ```
    /// # use futures::StreamExt;
    /// use haft_core::model::{ModelEvent, ModelResponse};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let answer = ModelResponse::text("Hello!");
    /// let events: Vec<_> = answer.clone().into_stream().collect().await;
    /// assert_eq!(events, [Ok(ModelEvent::Text("Hello!".into())), Ok(ModelEvent::Done(answer))]);
    /// # }
    /// ```
    pub fn into_stream(self) -> ModelStream {
        let mut events: Vec<ModelEvent> = self.content.iter().flat_map(block_events).collect();
        events.push(ModelEvent::Done(self));
        stream::iter(events.into_iter().map(Ok)).boxed()
    }

    /// Sets [`usage`](Self::usage).
    #[must_use]
    pub fn with_usage(self, usage: TokenUsage) -> Self {
        Self { usage, ..self }
    }

    /// Sets [`native`](Self::native).
    #[must_use]
    pub fn with_native(self, native: impl Into<Option<NativeMessage>>) -> Self {
        Self { native: native.into(), ..self }
    }
}

fn block_events(block: &AssistantBlock) -> Vec<ModelEvent> {
    match block {
        AssistantBlock::Text { text } => vec![ModelEvent::Text(text.clone())],
        AssistantBlock::Thinking { text } => vec![ModelEvent::Thinking(text.clone())],
        AssistantBlock::ToolCall(ToolCall { id, name, args }) => vec![
            ModelEvent::ToolCallStart { id: id.clone(), name: name.clone() },
            ModelEvent::ToolCallArgs { id: id.clone(), delta: args.as_str().to_owned() },
            ModelEvent::ToolCallEnd { id: id.clone() },
        ],
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::RawJson;
    use haft_protocol::ids::ToolCallId;

    use super::*;

    #[tokio::test]
    async fn streams_a_call_with_its_arguments() {
        let id = ToolCallId::new("t1");
        let args = RawJson::parse(r#"{"n":1}"#).unwrap();
        let answer = ModelResponse::with_tool_calls([ToolCall { id: id.clone(), name: "echo".into(), args }]);
        assert_eq!(answer.stop, StopCause::ToolUse);
        let events: Vec<_> = answer.clone().into_stream().map(Result::unwrap).collect().await;
        assert_eq!(
            events,
            [
                ModelEvent::ToolCallStart { id: id.clone(), name: "echo".into() },
                ModelEvent::ToolCallArgs { id: id.clone(), delta: r#"{"n":1}"#.into() },
                ModelEvent::ToolCallEnd { id },
                ModelEvent::Done(answer),
            ]
        );
    }
}
