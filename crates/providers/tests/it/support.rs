//! Shared code of the tests: a model at a server, a request, a collected answer.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use haft_core::model::{Model, ModelError, ModelEvent, ModelRequest, ModelResponse, ModelStream};
use haft_core::tool::{ToolOwner, ToolSpec};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantMessage, Message, Rfc3339Time, ToolMessage};
use haft_providers::{ApiDialect, HttpModel, HttpTimeouts, ModelConfig};
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use tokio_util::sync::CancellationToken;

pub(crate) const KEY: &str = "sk-test-0123456789";

/// The dialects that send calls in pieces, with a model of the catalog for each.
pub(crate) const DIALECTS: [(WireFormat, &str); 3] = [
    (WireFormat::Anthropic, "claude-sonnet-4-6"),
    (WireFormat::OpenAiChat, "gpt-4.1"),
    (WireFormat::OpenAiResponses, "gpt-5.6"),
];

/// Returns timeouts without delays between attempts, so that no test depends on the clock.
pub(crate) fn impatient() -> HttpTimeouts {
    let mut timeouts = HttpTimeouts::default();
    timeouts.backoff_first = Duration::ZERO;
    timeouts
}

/// The dialects that send complete calls, with a model for each.
pub(crate) const NATIVE: [(WireFormat, &str); 2] =
    [(WireFormat::Gemini, "gemini-3.8-flash"), (WireFormat::Ollama, "qwen3")];

pub(crate) fn config(server: &ModelServer, wire: WireFormat, model: &str) -> ModelConfig {
    let (dialect, provider) = match wire {
        WireFormat::Anthropic => (ApiDialect::AnthropicMessages, "anthropic"),
        WireFormat::OpenAiChat => (ApiDialect::OpenAiChat, "openai-chat"),
        WireFormat::OpenAiResponses => (ApiDialect::OpenAiResponses, "openai"),
        WireFormat::Gemini => (ApiDialect::Gemini, "gemini"),
        WireFormat::Ollama => (ApiDialect::Ollama, "ollama"),
    };
    let mut config = ModelConfig::new(dialect, provider, model);
    config.base_url = Some(server.base_url());
    config.api_key = Some(KEY.into());
    config
}

pub(crate) fn model(server: &ModelServer, wire: WireFormat) -> HttpModel {
    let (_, name) = DIALECTS.iter().chain(&NATIVE).find(|(other, _)| *other == wire).unwrap();
    HttpModel::with_timeouts(config(server, wire, name), impatient()).unwrap()
}

/// Runs the same test for every dialect, each with a new server.
pub(crate) async fn each<F: AsyncFn(WireFormat, ModelServer, HttpModel)>(scenarios: Vec<Scenario>, test: F) {
    for (wire, _) in DIALECTS {
        let server = ModelServer::start(wire, scenarios.clone()).await;
        let model = model(&server, wire);
        test(wire, server, model).await;
    }
}

pub(crate) fn time() -> Rfc3339Time {
    Rfc3339Time("2026-01-01T00:00:00Z".into())
}

pub(crate) fn user(text: &str) -> Message {
    Message::User { content: vec![ContentBlock::text(text)], time: time() }
}

pub(crate) fn assistant(response: ModelResponse) -> Message {
    Message::Assistant(AssistantMessage::new(response.content, time()).with_native(response.native))
}

pub(crate) fn result(id: &str, name: &str, content: Vec<ContentBlock>) -> Message {
    let call_id = ToolCallId::new(id);
    Message::Tool(ToolMessage::new(call_id, name, content, time()))
}

pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    let tool = ToolSpec::new("weather", "Tells the weather.")
        .with_schema(RawJson::parse(schema).unwrap())
        .with_owner(ToolOwner::BuiltIn);
    ModelRequest::new(Arc::new(messages)).with_system("You are terse.").with_tools(vec![Arc::new(tool)])
}

pub(crate) async fn start(model: &dyn Model, messages: Vec<Message>) -> ModelStream {
    model.stream(CancellationToken::new(), request(messages)).await.unwrap()
}

/// Collects a whole answer.
pub(crate) async fn gather(mut stream: ModelStream) -> (Vec<ModelEvent>, Result<ModelResponse, ModelError>) {
    let mut events = Vec::new();
    loop {
        match stream.next().await.expect("a last item before the end") {
            Ok(ModelEvent::Done(response)) => {
                assert!(stream.next().await.is_none(), "nothing follows the answer");
                return (events, Ok(response));
            }
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows the error");
                return (events, Err(error));
            }
        }
    }
}

pub(crate) async fn ask(
    model: &dyn Model,
    text: &str,
) -> (Vec<ModelEvent>, Result<ModelResponse, ModelError>) {
    gather(start(model, vec![user(text)]).await).await
}
