//! The oracle of the answers of model servers. An input is the body of an answer, which every dialect reads.

use std::sync::OnceLock;

use futures::StreamExt as _;
use futures::executor::block_on;
use haft_core::model::{ModelError, ModelEvent, ModelRequest, ModelResponse};
use haft_protocol::content::ContentBlock;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, Message, Rfc3339Time};
use haft_providers::{ApiDialect, HttpModel, ModelConfig};

use crate::{memory, pieces};

/// The bytes that an answer may need at any time, whatever its length.
const MOST: usize = 64 * 1024 * 1024;

/// The bytes that each byte of an answer may need.
const BYTES_A_BYTE: usize = 2 * 1024;

/// The bytes that any answer may need, in addition.
const BYTES_AN_ANSWER: usize = 512 * 1024;

/// The maximum length of an error message: a quotation of 600 characters, and the words around it.
const LONGEST_ERROR: usize = 4 * 1024;

const DIALECTS: [(ApiDialect, &str, &str); 5] = [
    (ApiDialect::AnthropicMessages, "anthropic", "claude-sonnet-4-6"),
    (ApiDialect::OpenAiChat, "openai-chat", "gpt-5.6"),
    (ApiDialect::OpenAiResponses, "openai", "gpt-5.6"),
    (ApiDialect::Gemini, "gemini", "gemini-3.8-flash"),
    (ApiDialect::Ollama, "ollama", "llama3"),
];

/// Checks the reading of an answer by every dialect.
///
/// * The answer ends with one complete response or one error, and nothing follows.
/// * The events of a tool call are complete, in order, and have their own id.
/// * The response has exactly the tool calls that ended.
/// * The pieces in which the answer arrives make no difference.
/// * The length of the answer bounds the memory.
///
/// # Panics
/// If haft's reader breaks one of these promises.
pub fn check(body: &[u8]) {
    let limit = MOST.min(BYTES_AN_ANSWER + body.len() * BYTES_A_BYTE);
    for (model, (dialect, ..)) in models().iter().zip(DIALECTS) {
        let whole = memory::run_at_most(limit, || read(model, vec![body.to_vec()]));
        check_events(&whole).unwrap_or_else(|problem| panic!("{dialect:?}: {problem}: {whole:?}"));
        let cut = pieces::uneven_pieces(body).into_iter().map(<[u8]>::to_vec).collect();
        let cut = without_ids(&read(model, cut));
        assert_eq!(cut, without_ids(&whole), "{dialect:?}: other events for uneven pieces");
    }
}

/// Returns one model of each dialect. They are created once.
fn models() -> &'static [HttpModel] {
    static MODELS: OnceLock<Vec<HttpModel>> = OnceLock::new();
    MODELS.get_or_init(|| {
        let model = |(dialect, provider, model)| {
            HttpModel::new(ModelConfig::new(dialect, provider, model)).expect("the configuration is valid")
        };
        DIALECTS.map(model).into()
    })
}

fn read(model: &HttpModel, pieces: Vec<Vec<u8>>) -> Vec<Result<ModelEvent, ModelError>> {
    let content = vec![ContentBlock::text("hello")];
    let prompt = Message::User { content, time: Rfc3339Time("2026-01-01T00:00:00Z".into()) };
    let request = ModelRequest::new(vec![prompt]);
    let answer = model.replay_answer(&request, pieces).expect("the request can be encoded");
    block_on(answer.collect())
}

/// Returns the events as text, with the number of a call in place of its id, and without the native form of the
/// message. haft generates missing ids.
fn without_ids(events: &[Result<ModelEvent, ModelError>]) -> String {
    let mut events = events.to_vec();
    let mut ids = Vec::new();
    for event in &mut events {
        match event {
            Ok(ModelEvent::ToolCallStart { id, .. }) => ids.push(id.clone()),
            Ok(ModelEvent::Done(response)) => response.native = None,
            Ok(_) | Err(_) => {}
        }
    }
    let known = ids.iter().map(ToolCallId::as_str).filter(|id| !id.is_empty()).enumerate();
    known.fold(format!("{events:?}"), |text, (number, id)| {
        text.replace(&format!("{id:?}"), &format!("<{number}>"))
    })
}

/// Checks the order of the events.
fn check_events(events: &[Result<ModelEvent, ModelError>]) -> Result<(), String> {
    let (mut open, mut ended) = (Vec::new(), Vec::new());
    for (index, event) in events.iter().enumerate() {
        let is_last = index + 1 == events.len();
        let is_end = matches!(event, Err(_) | Ok(ModelEvent::Done(_)));
        if is_last != is_end {
            return Err(if is_last { "no end".to_owned() } else { "events after the end".to_owned() });
        }
        match event {
            Ok(ModelEvent::ToolCallStart { id, .. }) if open.contains(id) || ended.contains(id) => {
                return Err(format!("{id} starts twice"));
            }
            Ok(ModelEvent::ToolCallStart { id, .. }) => open.push(id.clone()),
            Ok(ModelEvent::ToolCallArgs { id, .. }) if !open.contains(id) => {
                return Err(format!("arguments of {id}, which is not open"));
            }
            Ok(ModelEvent::ToolCallEnd { id }) => match open.iter().position(|open| open == id) {
                Some(at) => ended.push(open.remove(at)),
                None => return Err(format!("the end of {id}, which is not open")),
            },
            Ok(ModelEvent::Done(response)) => check_response(response, &ended)?,
            Err(error) if error.message.len() > LONGEST_ERROR => {
                return Err(format!("an error of {} bytes", error.message.len()));
            }
            Ok(ModelEvent::Retry { .. }) => return Err("a retry".to_owned()),
            Ok(_) | Err(_) => {}
        }
    }
    if events.is_empty() { Err("no event".to_owned()) } else { Ok(()) }
}

/// Checks that the response has exactly the tool calls that ended.
fn check_response(response: &ModelResponse, ended: &[ToolCallId]) -> Result<(), String> {
    let calls = response.content.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => Some(call),
        AssistantBlock::Text { .. } | AssistantBlock::Thinking { .. } => None,
    });
    let calls: Vec<_> = calls.collect();
    let unknown = calls.iter().find(|call| !ended.contains(&call.id));
    match unknown {
        Some(call) => Err(format!("the response has {}, which has no events", call.id)),
        None if calls.len() != ended.len() => {
            Err(format!("{} calls ended, the response has {}", ended.len(), calls.len()))
        }
        None => Ok(()),
    }
}
