//! Answers of models for extensions, outside of the conversation.

use std::sync::Arc;

use futures::StreamExt;
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{Message, text_of};
use haft_protocol::thinking::ThinkingLevel;
use tokio_util::sync::CancellationToken;

use crate::agent_state::AgentState;
use crate::emitter::EventEmitter;
use crate::model::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelId, ModelRequest, ModelResponse, RequestOptions,
    stream_response,
};
use crate::session::entry::{Custom, ResponseMetadata};

/// The maximum length of the answer, in bytes.
const MAX_ANSWER: usize = 256 * 1024;

/// The kind of the session entry that records a completion.
const RECORD_KIND: &str = "completion";

/// A request of an extension to a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The extension.
    pub caller: ExtensionName,
    /// The name of the model; `None` for the agent's.
    pub model: Option<String>,
    /// The system prompt.
    pub system: String,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// Further options.
    pub options: RequestOptions,
}

impl CompletionRequest {
    /// Creates a request to the model of the agent.
    pub fn new(caller: ExtensionName, messages: Vec<Message>) -> Self {
        Self {
            caller,
            model: None,
            system: String::new(),
            messages,
            thinking: ThinkingLevel::default(),
            options: RequestOptions::default(),
        }
    }

    /// Sets [`model`](Self::model).
    #[must_use]
    pub fn with_model(self, model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..self }
    }

    /// Sets [`system`](Self::system).
    #[must_use]
    pub fn with_system(self, system: impl Into<String>) -> Self {
        Self { system: system.into(), ..self }
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
}

/// The answer to a [`CompletionRequest`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompletionAnswer {
    /// The text of the answer.
    pub text: String,
    /// The model that answered, its usage, and the reason for the end.
    pub answer: ResponseMetadata,
}

/// The reason why a model gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CompletionError {
    /// There is no such model.
    #[error("model {name:?} is not available: {reason}")]
    NoModel {
        /// The name.
        name: String,
        /// The reason, as a text fragment.
        reason: String,
    },
    /// The request failed.
    #[error("{0}")]
    Model(ModelError),
    /// The answer is too long.
    #[error("the answer is longer than {MAX_ANSWER} bytes; set a lower `max_tokens`")]
    TooLong,
}

/// Asks a model, and records the usage in the session.
pub(crate) async fn request_completion(
    agent: Arc<AgentState>,
    cancel: &CancellationToken,
    request: CompletionRequest,
    on_text: impl FnMut(&str) + Send,
    tell: Arc<dyn Fn(AgentEvent) + Send + Sync>,
) -> Result<CompletionAnswer, CompletionError> {
    let model = find_model(&agent, request.model.as_deref()).await?;
    let caller = request.caller;
    let request = ModelRequest {
        system: request.system,
        messages: Arc::new(request.messages),
        tools: Vec::new(),
        thinking: request.thinking,
        options: request.options,
        output_schema: None,
        review: agent.request_review(),
    };
    let (by, response) = read_answer(model.as_ref(), cancel, request, on_text).await?;
    let ModelId { provider, model } = by;
    let answer = ResponseMetadata { provider, model, stop: response.stop, usage: response.usage };
    record_answer(&agent, &caller, answer.clone(), tell);
    match text_of(&response.content) {
        text if text.len() > MAX_ANSWER => Err(CompletionError::TooLong),
        text => Ok(CompletionAnswer { text, answer }),
    }
}

async fn find_model(agent: &AgentState, name: Option<&str>) -> Result<Arc<dyn Model>, CompletionError> {
    let own = agent.setup().model;
    let asked = own.info();
    let Some(name) = name.filter(|name| *name != asked.to_string() && *name != asked.model) else {
        return Ok(own);
    };
    let found = match agent.config.models.as_deref() {
        Some(models) => models.model(name, &asked).await,
        None => Err("this program has only one model".to_owned()),
    };
    found.map_err(|reason| CompletionError::NoModel { name: name.to_owned(), reason })
}

/// Returns the answer of a model, and the model that gave it, which may be a fallback.
async fn read_answer(
    model: &dyn Model,
    cancel: &CancellationToken,
    request: ModelRequest,
    mut on_text: impl FnMut(&str) + Send,
) -> Result<(ModelId, ModelResponse), CompletionError> {
    let (asked, mut length) = (model.info(), 0);
    let mut answering = asked.clone();
    let mut events = stream_response(model, cancel.clone(), request).await.map_err(CompletionError::Model)?;
    while let Some(event) = events.next().await {
        match event.map_err(CompletionError::Model)? {
            ModelEvent::Done(response) => return Ok((answering, response)),
            ModelEvent::Answering(info) => answering = info,
            ModelEvent::Text(text) => {
                length += text.len();
                if length > MAX_ANSWER {
                    return Err(CompletionError::TooLong);
                }
                on_text(&text);
            }
            ModelEvent::Fallback { .. }
            | ModelEvent::Retry { .. }
            | ModelEvent::Thinking(_)
            | ModelEvent::ToolCallStart { .. }
            | ModelEvent::ToolCallArgs { .. }
            | ModelEvent::ToolCallEnd { .. } => {}
        }
    }
    let text = format!("the answer from {asked} ended without its final event; try again");
    Err(CompletionError::Model(ModelError::new(ModelErrorKind::Truncated, text)))
}

/// Adds the usage to that of the session.
fn record_answer(
    agent: &AgentState,
    caller: &ExtensionName,
    answer: ResponseMetadata,
    tell: Arc<dyn Fn(AgentEvent) + Send + Sync>,
) {
    let usage = answer.usage;
    let (owner, kind) = (caller.to_string(), RECORD_KIND.to_owned());
    let record = Custom { owner, kind, data: RawJson::empty_object(), answer: Some(answer) };
    // A session that cannot be written fails the next run with an error.
    _ = agent.transcript.record_usage(record, usage);
    let emitter = EventEmitter::with_sink(agent.current_hooks(), tell);
    emitter.emit(AgentEvent::Usage { usage, cumulative: agent.transcript.usage() });
}
