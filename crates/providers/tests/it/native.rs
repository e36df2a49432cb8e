//! Tests of the native APIs of Gemini and Ollama, which send complete calls: text, thinking, calls, usage, history,
//! failures.

use haft_core::model::{Model, ModelErrorKind, ModelEvent, ThinkingLevel};
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::message::{AssistantBlock, Message, StopCause};
use haft_providers::HttpModel;
use haft_test_support::model_server::{AnswerFault, ModelServer, Scenario, TokenCounts, WireFormat};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{
    KEY, NATIVE, ask, assistant, config, gather, impatient, model, request, result, start, time, user,
};

const TEXT: &str = "Grüße aus Zürich, 天气很好 🌤️ – und “das” ist alles.";
const ARGS: &str = r#"{"city":"Z\u00fcrich \"天\"\n\\ 🌤️","n":9007199254740993}"#;

async fn each<F: AsyncFn(WireFormat, ModelServer, HttpModel)>(scenarios: Vec<Scenario>, test: F) {
    for (wire, _) in NATIVE {
        let server = ModelServer::start(wire, scenarios.clone()).await;
        let model = model(&server, wire);
        test(wire, server, model).await;
    }
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text { text: text.into() }
}

#[tokio::test]
async fn text_and_thinking_survive_every_cut() {
    for cut in [1, 2, 3, 7, 37, 0] {
        let scenario = Scenario::new().think("Let me see 🤔", "c2lnbmVk").say(TEXT).cut_every(cut);
        each(vec![scenario], async |wire, _, model| {
            let (events, answer) = ask(&model, "hello").await;
            let answer = answer.unwrap();
            let thinking = AssistantBlock::Thinking { text: "Let me see 🤔".into() };
            assert_eq!(answer.content, [thinking, text(TEXT)], "{wire:?} cut every {cut}");
            assert_eq!(answer.stop, StopCause::End);
            let said: String = events
                .iter()
                .filter_map(|event| match event {
                    ModelEvent::Text(delta) => Some(delta.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(said, TEXT, "{wire:?}");
            assert!(events.len() > 5, "{wire:?} streams");
        })
        .await;
    }
}

#[tokio::test]
async fn calls_have_unique_ids_and_complete_arguments() {
    let scenario = Scenario::text("Looking.").tool("call_a", "weather", ARGS).tool("call_b", "weather", "{}");
    for cut in [1, 37] {
        each(vec![scenario.clone().cut_every(cut)], async |wire, _, model| {
            let (events, answer) = ask(&model, "weather?").await;
            let answer = answer.unwrap();
            let message = assistant(answer.clone());
            let Message::Assistant(message) = &message else { panic!() };
            let calls: Vec<_> = message.tool_calls().collect();
            let args: Vec<Value> = calls.iter().map(|call| call.args.read().unwrap()).collect();
            let expect: Value = serde_json::from_str(ARGS).unwrap();
            assert_eq!(args, [expect, json!({})], "{wire:?}");
            assert_eq!((message.text().as_str(), answer.stop), ("Looking.", StopCause::ToolUse), "{wire:?}");
            assert!(calls[0].id != calls[1].id, "{wire:?}");
            let starts = events.iter().filter(|event| matches!(event, ModelEvent::ToolCallStart { .. }));
            let ends = events.iter().filter(|event| matches!(event, ModelEvent::ToolCallEnd { .. }));
            assert_eq!((starts.count(), ends.count()), (2, 2), "{wire:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn reports_usage_and_the_output_limit() {
    let tokens = TokenCounts { input: 100, output: 20, cache_read: 50, cache_write: 0 };
    let scenario = Scenario::text("I was going to").usage(tokens).out_of_tokens();
    each(vec![scenario], async |wire, _, model| {
        let answer = ask(&model, "hello").await.1.unwrap();
        assert_eq!(answer.stop, StopCause::Length, "{wire:?}");
        let usage = answer.usage;
        assert_eq!(
            (usage.input, usage.output, usage.cache_read, usage.cache_write),
            (100, 20, 50, 0),
            "{wire:?}"
        );
        // A local model has no known cost.
        assert_eq!(usage.cost_usd > 0.0, wire == WireFormat::Gemini, "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn sends_key_in_header_and_not_in_address() {
    each(vec![Scenario::text("hi")], async |wire, server, model| {
        ask(&model, "hello").await.1.unwrap();
        let sent = server.requests().last().cloned().unwrap();
        let (path, header, key, tool) = match wire {
            WireFormat::Gemini => {
                let path = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse";
                (path, "x-goog-api-key", KEY.to_owned(), "/tools/0/functionDeclarations/0/name")
            }
            _ => ("/api/chat", "authorization", format!("Bearer {KEY}"), "/tools/0/function/name"),
        };
        assert_eq!((sent.path.as_str(), sent.header(header)), (path, Some(key.as_str())));
        assert_eq!(sent.body.pointer(tool), Some(&json!("weather")), "{}", sent.body);
        assert!(sent.body.to_string().contains("You are terse."), "{}", sent.body);
    })
    .await;
}

#[tokio::test]
async fn accepts_address_with_api_path() {
    for (wire, more) in
        [(WireFormat::Gemini, "/v1beta"), (WireFormat::Ollama, "/v1"), (WireFormat::Ollama, "/api/chat")]
    {
        let server = ModelServer::start(wire, vec![Scenario::text("hi")]).await;
        let mut config = config(&server, wire, "m");
        config.base_url = Some(format!("{}{more}", server.base_url()));
        ask(&HttpModel::new(config).unwrap(), "hello").await.1.unwrap();
        let path = server.requests()[0].path.clone();
        assert!(path.starts_with("/v1beta/models/m:") || path == "/api/chat", "{path}");
    }
}

#[tokio::test]
async fn sends_back_results_images_and_signatures() {
    let thoughtful =
        Scenario::new().think("Hm.", "c2lnbmF0dXJl").say("Looking.").tool("call_a", "weather", ARGS);
    each(vec![thoughtful, Scenario::text("Sunny.")], async |wire, server, model| {
        let answer = gather(start(&model, vec![user("weather?")]).await).await.1.unwrap();
        let AssistantBlock::ToolCall(call) = answer.content.last().unwrap().clone() else { panic!() };
        let image = ContentBlock::Image(Image { mime_type: "image/png".into(), data: "aW1hZ2U=".into() });
        let content = vec![ContentBlock::text("sunny, 21°")];
        let messages = vec![
            Message::User { content: vec![ContentBlock::text("weather?"), image], time: time() },
            assistant(answer),
            result(call.id.as_str(), "weather", content),
        ];
        gather(start(&model, messages).await).await.1.unwrap();
        let body = server.requests()[1].body.to_string();
        for part in ["Looking.", "Zürich", "sunny, 21°", "aW1hZ2U="] {
            assert!(body.contains(part), "{wire:?}: {part} is not in {body}");
        }
        assert_eq!(body.contains("c2lnbmF0dXJl"), wire == WireFormat::Gemini, "{body}");
    })
    .await;
}

async fn thought(wire: WireFormat, name: &str, thinking: ThinkingLevel, window: Option<u64>) -> Value {
    let server = ModelServer::start(wire, vec![Scenario::text("hi")]).await;
    let mut config = config(&server, wire, name);
    config.facts.window = window;
    let model = HttpModel::with_timeouts(config, impatient()).unwrap();
    let mut request = request(vec![user("hi")]);
    request.thinking = thinking;
    gather(model.stream(CancellationToken::new(), request).await.unwrap()).await.1.unwrap();
    server.requests()[0].body.clone()
}

#[tokio::test]
async fn thinking_takes_each_apis_form() {
    let level = "/generationConfig/thinkingConfig/thinkingLevel";
    let body = thought(WireFormat::Gemini, "gemini-3.8-flash", ThinkingLevel::Minimal, None).await;
    assert_eq!(
        body.pointer(level).and_then(Value::as_str).map(str::to_lowercase),
        Some("low".into()),
        "{body}"
    );
    let budget = "/generationConfig/thinkingConfig/thinkingBudget";
    let body = thought(WireFormat::Gemini, "gemini-2.5-flash", ThinkingLevel::XHigh, None).await;
    assert_eq!(body.pointer(budget), Some(&json!(24_576)), "{body}");
    for (wanted, sent) in [
        (ThinkingLevel::Off, json!(false)),
        (ThinkingLevel::Minimal, json!("low")),
        (ThinkingLevel::XHigh, json!("high")),
    ] {
        assert_eq!(thought(WireFormat::Ollama, "qwen3", wanted, None).await["think"], sent);
    }
    let body = thought(WireFormat::Ollama, "qwen3", ThinkingLevel::Default, Some(65_536)).await;
    assert_eq!((&body["think"], &body["options"]["num_ctx"]), (&Value::Null, &json!(65_536)));
}

#[tokio::test]
async fn classifies_failures() {
    let event = |code: &str, message: &str| {
        Scenario::new().fault(AnswerFault::ErrorEvent { code: code.into(), message: message.into() })
    };
    let long = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
    let cases = [
        (WireFormat::Gemini, Scenario::status(400, "INVALID_ARGUMENT", long), ModelErrorKind::Overflow),
        (WireFormat::Gemini, Scenario::status(403, "PERMISSION_DENIED", "no {key}"), ModelErrorKind::Auth),
        (
            WireFormat::Gemini,
            Scenario::status(400, "INVALID_ARGUMENT", "API_KEY_INVALID {key}"),
            ModelErrorKind::Auth,
        ),
        (
            WireFormat::Gemini,
            Scenario::text("Half").fault(AnswerFault::NoFinalEvent),
            ModelErrorKind::Truncated,
        ),
        (WireFormat::Gemini, event("INVALID_ARGUMENT", "bad"), ModelErrorKind::Rejected),
        (
            WireFormat::Ollama,
            Scenario::status(400, "", "the input length exceeds the context length"),
            ModelErrorKind::Overflow,
        ),
        (WireFormat::Ollama, Scenario::status(404, "", "model 'm' not found"), ModelErrorKind::Rejected),
        (WireFormat::Ollama, event("", "exceeds the available context size"), ModelErrorKind::Overflow),
        (
            WireFormat::Ollama,
            Scenario::text("Half").fault(AnswerFault::NoFinalEvent),
            ModelErrorKind::Truncated,
        ),
        (WireFormat::Ollama, Scenario::text("Half").fault(AnswerFault::Reset), ModelErrorKind::Connection),
        (WireFormat::Ollama, Scenario::new().fault(AnswerFault::Html), ModelErrorKind::Rejected),
    ];
    for (wire, scenario, kind) in cases {
        let server = ModelServer::start(wire, vec![scenario.clone()]).await;
        let error = ask(&model(&server, wire), "hello").await.1.unwrap_err();
        assert_eq!(error.kind, kind, "{wire:?} {scenario:?}: {error}");
        assert!(!error.message.contains(KEY), "{error}");
        assert_eq!(server.requests().len(), 1, "{error}");
    }
}

#[tokio::test]
async fn retries_temporary_failures() {
    each(vec![Scenario::rate_limited("0"), Scenario::text("hi")], async |wire, server, model| {
        assert_eq!(ask(&model, "hello").await.1.unwrap().content, [text("hi")], "{wire:?}");
        assert_eq!(server.scenarios_left(), 0);
    })
    .await;
    let overloaded =
        AnswerFault::ErrorEvent { code: "UNAVAILABLE".into(), message: "The model is overloaded.".into() };
    let server =
        ModelServer::start(WireFormat::Gemini, vec![Scenario::new().fault(overloaded), Scenario::text("hi")])
            .await;
    assert_eq!(ask(&model(&server, WireFormat::Gemini), "hello").await.1.unwrap().content, [text("hi")]);
}
