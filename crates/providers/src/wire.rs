//! Wire formats: how each model API writes a conversation and its answer.
//!
//! A format only translates. It does no I/O: [`body`] collects the pieces of a request, [`events`] splits and meters
//! an answer, and `http` sends and receives both.

mod answer;
#[cfg(feature = "anthropic")]
mod anthropic;
mod body;
#[cfg(feature = "openai")]
mod chat;
mod error;
mod events;
#[cfg(feature = "gemini")]
mod gemini;
mod json;
#[cfg(feature = "ollama")]
mod ollama;
mod output;
#[cfg(feature = "openai")]
mod responses;
#[cfg(test)]
mod test_support;
mod turn;

use std::fmt;
use std::sync::Arc;

use haft_core::model::{OutputSchema, ToolChoice};
use haft_core::tool::ToolSpec;
use haft_protocol::message::Message;

pub(crate) use answer::{AnswerBuilder, AnswerDecoder};
#[cfg(feature = "anthropic")]
pub(crate) use anthropic::AnthropicMessages;
pub(crate) use body::{RequestBody, TurnCache};
#[cfg(feature = "openai")]
pub(crate) use chat::{CatalogEntry, ChatCompletions};
pub(crate) use error::{AnswerError, ConnectionFailure, ConnectionStage, ErrorResponse, root_cause};
pub(crate) use events::{EventFraming, EventReader};
#[cfg(feature = "gemini")]
pub(crate) use gemini::GeminiContent;
#[cfg(feature = "ollama")]
pub(crate) use ollama::OllamaChat;
#[cfg(feature = "openai")]
pub(crate) use responses::OpenAiResponses;
pub(crate) use turn::ConversationTurn;

/// The format of a model API.
pub(crate) trait WireFormat: fmt::Debug + Send + Sync {
    /// Returns the path of the endpoint below `base`, the path of the API's address, with its query.
    fn path(&self, base: &str, model: &str) -> String;

    /// True if the server may accept thinking options for any model.
    fn accepts_thinking(&self) -> bool {
        true
    }

    /// Returns how the API gets an answer that fits the schema of the request.
    fn output_method(&self, _request: &WireRequest<'_>) -> OutputMethod {
        OutputMethod::ToolCall
    }

    /// True if the request can demand tool calls.
    fn can_demand_calls(&self, _request: &WireRequest<'_>) -> bool {
        true
    }

    /// Returns the part of the request that the API does not have, and the next step.
    fn find_unsupported(&self, _request: &WireRequest<'_>) -> Option<&'static str> {
        None
    }

    /// Returns the framing of an answer.
    fn framing(&self) -> EventFraming {
        EventFraming::EventStream
    }

    /// Returns the headers that the API requires for this request.
    fn headers(&self, _request: &WireRequest<'_>) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Writes the request up to its first turn: everything but the conversation, and the beginning of its list.
    fn write_head(&self, request: &WireRequest<'_>, out: &mut Vec<u8>);

    /// Writes a turn as elements of the list, each with a comma behind it; nothing if the turn has no content.
    fn write_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>);

    /// Writes the last turn, which may differ from others. The default writes it like any other.
    fn write_last_turn(&self, turn: &ConversationTurn<'_>, out: &mut Vec<u8>) {
        self.write_turn(turn, out);
    }

    /// Writes what must be between results and a message of the user that follows them. The default writes nothing.
    fn write_unanswered(&self, _out: &mut Vec<u8>) {}

    /// Returns what follows the last turn.
    fn end(&self) -> &'static str {
        "]}"
    }

    /// Returns a decoder for one answer.
    fn decoder(&self) -> Box<dyn AnswerDecoder>;
}

/// A request to a model, with the settings of the model already applied.
#[derive(Debug)]
pub(crate) struct WireRequest<'a> {
    /// The model's id at the provider.
    pub(crate) model: &'a str,
    /// The system prompt; empty if there is none.
    pub(crate) system: &'a str,
    /// The conversation, oldest first.
    pub(crate) messages: &'a [Message],
    /// The tools that the model can call, in order.
    pub(crate) tools: &'a [Arc<ToolSpec>],
    /// The maximum length of the answer in tokens.
    pub(crate) max_tokens: Option<u64>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    /// The texts that end the answer.
    pub(crate) stop: &'a [String],
    /// The calls that the answer may or must have; `None` without tools.
    pub(crate) tool_choice: Option<&'a ToolChoice>,
    /// The schema of the answer, for [`OutputMethod::Native`].
    pub(crate) output: Option<&'a OutputSchema>,
    /// The thinking options; `None` for the model's default.
    pub(crate) thinking: Option<ThinkingOption>,
    /// The window that the user configured, in tokens.
    pub(crate) window: Option<u64>,
    /// Facts about the model that change its requests.
    pub(crate) quirks: ModelQuirks,
}

/// The way to an answer that fits a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputMethod {
    /// The API takes the schema.
    Native,
    /// The model gives its answer as the arguments of a tool.
    ToolCall,
}

/// The amount of thinking that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingOption {
    Off,
    /// The level, by its name in the API: `low`, `high`, `max`, …
    Effort(&'static str),
    /// The maximum number of tokens.
    Budget(u32),
}

/// Facts about a model that change its requests. The default is that of a new model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelQuirks {
    /// Anthropic: an effort goes without `thinking: {"type": "adaptive"}`.
    pub(crate) effort_without_adaptive: bool,
    /// Anthropic: the `thinking.type` that turns thinking off, where it is not `disabled`.
    pub(crate) thinking_off: Option<String>,
    /// Anthropic: the model can be given the schema of its answer.
    pub(crate) output_schemas: bool,
    /// Anthropic: a thinking block is valid only with the tools and the system prompt that it was made with.
    pub(crate) binds_thinking: bool,
    /// OpenAI Responses: the model cannot think, and rejects the options of thinking.
    pub(crate) never_thinks: bool,
}
