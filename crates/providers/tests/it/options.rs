//! Tests of the options of requests: each API has its own form, and what it does not have is refused.

use haft_core::model::{Model, ModelErrorKind, ModelRequest, RequestOptions, ThinkingLevel, ToolChoice};
use haft_providers::HttpModel;
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{config, gather, impatient, request, user};

const ALL: [(WireFormat, &str); 5] = [
    (WireFormat::Anthropic, "claude-haiku-4-5"),
    (WireFormat::OpenAiChat, "gpt-4.1"),
    (WireFormat::OpenAiResponses, "gpt-4.1"),
    (WireFormat::Gemini, "gemini-3.8-flash"),
    (WireFormat::Ollama, "qwen3"),
];

/// Returns the body of a request, or the message of its refusal.
async fn sent(wire: WireFormat, name: &str, request: ModelRequest) -> Result<Value, String> {
    let server = ModelServer::start(wire, vec![Scenario::text("hi")]).await;
    let model = HttpModel::with_timeouts(config(&server, wire, name), impatient()).unwrap();
    match model.stream(CancellationToken::new(), request).await {
        Ok(stream) => {
            gather(stream).await.1.unwrap();
            Ok(server.requests()[0].body.clone())
        }
        Err(error) => {
            assert_eq!(error.kind, ModelErrorKind::Rejected);
            assert!(server.requests().is_empty());
            Err(error.message)
        }
    }
}

fn with_options(options: RequestOptions) -> ModelRequest {
    request(vec![user("hello")]).with_options(options)
}

#[tokio::test]
async fn sampling_and_stop_words_take_each_apis_form() {
    for (wire, name) in ALL {
        let (share, stop) = match wire {
            WireFormat::Anthropic => ("/top_p", Some("/stop_sequences")),
            WireFormat::OpenAiChat => ("/top_p", Some("/stop")),
            WireFormat::OpenAiResponses => ("/top_p", None),
            WireFormat::Gemini => ("/generationConfig/topP", Some("/generationConfig/stopSequences")),
            WireFormat::Ollama => ("/options/top_p", Some("/options/stop")),
        };
        let options = RequestOptions::default().with_top_p(0.5);
        let body = sent(wire, name, with_options(options)).await.unwrap();
        assert_eq!(body.pointer(share), Some(&json!(0.5)), "{wire:?}: {body}");
        let options = RequestOptions::default().with_stop(vec!["END".into()]);
        match (stop, sent(wire, name, with_options(options)).await) {
            (Some(stop), Ok(body)) => {
                assert_eq!(body.pointer(stop), Some(&json!(["END"])), "{wire:?}: {body}")
            }
            (None, Err(message)) => assert!(message.contains("stop words"), "{wire:?}: {message}"),
            other => panic!("{wire:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn claude_takes_one_sampling_option() {
    for (wire, name) in ALL {
        let options = RequestOptions::default().with_temperature(0.5).with_top_p(0.5);
        match sent(wire, name, with_options(options)).await {
            Ok(body) => assert_ne!(wire, WireFormat::Anthropic, "{body}"),
            Err(message) => {
                assert_eq!(wire, WireFormat::Anthropic, "{message}");
                assert!(message.contains("set one of both"), "{message}");
            }
        }
    }
    // A model that thinks gets neither.
    let options = RequestOptions::default().with_temperature(0.5).with_top_p(0.5);
    let request = with_options(options).with_thinking(ThinkingLevel::High);
    sent(WireFormat::Anthropic, "claude-sonnet-4-6", request).await.unwrap();
}

#[tokio::test]
async fn tool_choice_takes_each_apis_form() {
    let weather = || ToolChoice::Tool("weather".into());
    for (wire, name) in ALL {
        let (pointer, forms) = match wire {
            WireFormat::Anthropic => (
                "/tool_choice",
                json!([{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "weather"}]),
            ),
            WireFormat::OpenAiChat => (
                "/tool_choice",
                json!(["auto", "none", "required", {"type": "function", "function": {"name": "weather"}}]),
            ),
            WireFormat::OpenAiResponses => {
                ("/tool_choice", json!(["auto", "none", "required", {"type": "function", "name": "weather"}]))
            }
            WireFormat::Gemini => (
                "/toolConfig/functionCallingConfig",
                json!([{"mode": "AUTO"}, {"mode": "NONE"}, {"mode": "ANY"},
                    {"mode": "ANY", "allowedFunctionNames": ["weather"]}]),
            ),
            WireFormat::Ollama => ("/tool_choice", json!([null, null, "refused", "refused"])),
        };
        let choices = [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, weather()];
        for (choice, expect) in choices.into_iter().zip(forms.as_array().unwrap()) {
            let options = RequestOptions::default().with_tool_choice(choice.clone());
            match sent(wire, name, with_options(options)).await {
                Ok(body) => {
                    let got = body.pointer(pointer).unwrap_or(&Value::Null);
                    assert_eq!(got, expect, "{wire:?} {choice:?}: {body}");
                    let offers = wire != WireFormat::Ollama || choice != ToolChoice::None;
                    assert_eq!(body.get("tools").is_some(), offers, "{wire:?} {choice:?}: {body}");
                }
                Err(message) => assert!(expect == "refused" && message.contains("tool call"), "{message}"),
            }
        }
    }
}

#[tokio::test]
async fn thinking_claude_cannot_be_made_to_call() {
    let options = RequestOptions::default().with_tool_choice(ToolChoice::Required);
    let request = with_options(options).with_thinking(ThinkingLevel::High);
    let message = sent(WireFormat::Anthropic, "claude-sonnet-4-6", request).await.unwrap_err();
    assert!(message.contains("thinks"), "{message}");
}

#[tokio::test]
async fn without_options_nothing_is_sent() {
    for (wire, name) in ALL {
        let body = sent(wire, name, with_options(RequestOptions::default())).await.unwrap().to_string();
        for word in ["top_p", "topP", "stop", "tool_choice", "toolConfig", "format", "Schema\":{\"additional"]
        {
            assert!(!body.contains(word), "{wire:?} {word}: {body}");
        }
    }
}
