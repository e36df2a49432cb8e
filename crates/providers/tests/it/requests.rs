//! What is sent: paths, headers, tools, images, reasoning, cache markers.

use haft_core::model::{Model, Thinking};
use haft_protocol::content::{Content, Image};
use haft_protocol::message::Message;
use haft_providers::HttpModel;
use haft_test_support::model_server::{ModelServer, Recorded, Scenario, Wire};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{KEY, ask, config, each, gather, impatient, request, result, start, time, user};

fn sent(server: &ModelServer) -> Recorded {
    server.requests().last().cloned().expect("a request")
}

/// Every string in a JSON value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[tokio::test]
async fn each_dialect_has_its_path_key_and_tools() {
    each(vec![Scenario::text("hi")], async |wire, server, model| {
        ask(&model, "hello").await.1.unwrap();
        let sent = sent(&server);
        let (path, key, tool, schema) = match wire {
            Wire::Anthropic => ("/v1/messages", KEY.to_owned(), "/tools/0/name", "/tools/0/input_schema"),
            Wire::OpenAiChat => (
                "/v1/chat/completions",
                format!("Bearer {KEY}"),
                "/tools/0/function/name",
                "/tools/0/function/parameters",
            ),
            _ => ("/v1/responses", format!("Bearer {KEY}"), "/tools/0/name", "/tools/0/parameters"),
        };
        assert_eq!(sent.path, path);
        let header = if wire == Wire::Anthropic { "x-api-key" } else { "authorization" };
        assert_eq!(sent.header(header), Some(key.as_str()), "{wire:?}");
        assert_eq!(sent.header(if wire == Wire::Anthropic { "authorization" } else { "x-api-key" }), None);
        assert_eq!(sent.body.pointer(tool), Some(&json!("weather")), "{wire:?}: {}", sent.body);
        assert_eq!(sent.body.pointer(schema).unwrap()["required"], json!(["city"]), "{wire:?}");
        assert_eq!(sent.body["stream"], json!(true));
        let texts = strings(&sent.body);
        assert!(texts.contains(&"You are terse.") && texts.contains(&"hello"), "{wire:?}: {}", sent.body);
        if wire == Wire::OpenAiResponses {
            assert_eq!(sent.body["store"], json!(false), "the provider keeps nothing");
        }
    })
    .await;
}

#[tokio::test]
async fn own_headers_win() {
    each(vec![Scenario::text("hi")], async |wire, server, _| {
        let mut config = config(&server, wire, "any-model");
        config.headers = vec![
            ("x-team".into(), "haft".into()),
            ("Authorization".into(), "Basic abc".into()),
            ("anthropic-version".into(), "2099-01-01".into()),
        ];
        ask(&HttpModel::new(config).unwrap(), "hello").await.1.unwrap();
        let sent = sent(&server);
        assert_eq!(sent.header("x-team"), Some("haft"));
        assert_eq!(sent.header("authorization"), Some("Basic abc"));
        assert_eq!(sent.header("anthropic-version"), Some("2099-01-01"));
    })
    .await;
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    each(vec![Scenario::text("hi")], async |wire, server, _| {
        let mut config = config(&server, wire, "any-model");
        config.api_key = None;
        ask(&HttpModel::new(config).unwrap(), "hello").await.1.unwrap();
        let sent = sent(&server);
        assert_eq!((sent.header("authorization"), sent.header("x-api-key")), (None, None), "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn images_reach_the_model_from_users_and_tools() {
    const FROM_USER: &str = "dXNlcg==";
    const FROM_TOOL: &str = "dG9vbA==";
    let image = |data: &str| Content::Image(Image { mime_type: "image/png".into(), data: data.into() });
    let scenarios = vec![Scenario::new().tool("call_a", "weather", "{}"), Scenario::text("Nice.")];
    each(scenarios, async |wire, server, model| {
        let content = vec![Content::text("look"), image(FROM_USER)];
        let mut messages = vec![Message::User { content, time: time() }];
        let answer = gather(start(&model, messages.clone()).await).await.1.unwrap();
        messages.push(crate::support::assistant(answer));
        messages.push(result("call_a", "weather", vec![Content::text("a map"), image(FROM_TOOL)]));
        gather(start(&model, messages).await).await.1.unwrap();
        let body = sent(&server).body.to_string();
        for data in [FROM_USER, FROM_TOOL] {
            assert_eq!(body.matches(data).count(), 1, "{wire:?}: {body}");
        }
        assert!(body.contains("a map"), "{wire:?}");
    })
    .await;
}

#[tokio::test]
async fn an_image_nobody_reads_becomes_words() {
    each(vec![Scenario::text("hi")], async |wire, server, model| {
        let image = Image { mime_type: "image/x-unknown".into(), data: "AAAA".into() };
        let content = vec![Content::Image(image)];
        gather(start(&model, vec![Message::User { content, time: time() }]).await).await.1.unwrap();
        let body = sent(&server).body.to_string();
        assert!(body.contains("image/x-unknown") && !body.contains("AAAA"), "{wire:?}: {body}");
    })
    .await;
}

#[tokio::test]
async fn anthropic_prompts_are_marked_for_the_cache() {
    let server = ModelServer::start(Wire::Anthropic, vec![Scenario::text("hi")]).await;
    ask(&crate::support::model(&server, Wire::Anthropic), "hello").await.1.unwrap();
    let body = sent(&server).body;
    let marker = json!({"type": "ephemeral"});
    assert_eq!(body.pointer("/system/0/cache_control"), Some(&marker), "{body}");
    assert_eq!(body.pointer("/tools/0/cache_control"), Some(&marker), "{body}");
    assert_eq!(body.pointer("/messages/0/content/0/cache_control"), Some(&marker), "{body}");
}

async fn reasoned(wire: Wire, model: &str, thinking: Thinking) -> Value {
    let server = ModelServer::start(wire, vec![Scenario::text("hi")]).await;
    let model = HttpModel::with_timeouts(config(&server, wire, model), impatient()).unwrap();
    let mut request = request(vec![user("hi")]);
    request.thinking = thinking;
    gather(model.stream(CancellationToken::new(), request).await.unwrap()).await.1.unwrap();
    sent(&server).body
}

#[tokio::test]
async fn reasoning_takes_each_models_own_form() {
    let body = reasoned(Wire::Anthropic, "claude-sonnet-4-6", Thinking::High).await;
    assert_eq!(body.pointer("/output_config/effort"), Some(&json!("high")), "{body}");
    let body = reasoned(Wire::Anthropic, "claude-haiku-4-5", Thinking::Medium).await;
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 12288}));
    let body = reasoned(Wire::Anthropic, "claude-haiku-4-5", Thinking::Off).await;
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    let body = reasoned(Wire::OpenAiResponses, "gpt-5.6", Thinking::Low).await;
    assert_eq!(body.pointer("/reasoning/effort"), Some(&json!("low")), "{body}");
    for (wanted, sent) in [(Thinking::Minimal, "low"), (Thinking::XHigh, "max")] {
        let body = reasoned(Wire::Anthropic, "claude-sonnet-4-6", wanted).await;
        assert_eq!(body.pointer("/output_config/effort"), Some(&json!(sent)), "{body}");
    }
    let body = reasoned(Wire::Anthropic, "claude-haiku-4-5", Thinking::Minimal).await;
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 1024}));
    for (wanted, sent) in [(Thinking::Off, "minimal"), (Thinking::XHigh, "high")] {
        let body = reasoned(Wire::OpenAiChat, "gpt-5", wanted).await;
        assert_eq!(body["reasoning_effort"], json!(sent), "{wanted}");
    }
    let body = reasoned(Wire::OpenAiChat, "gpt-5", Thinking::Low).await;
    assert_eq!(body["reasoning_effort"], json!("low"));
}

#[tokio::test]
async fn reasoning_a_model_does_not_have_is_left_out() {
    let body = reasoned(Wire::OpenAiChat, "gpt-4.1", Thinking::High).await;
    assert_eq!(body.get("reasoning_effort"), None, "{body}");
    let body = reasoned(Wire::OpenAiResponses, "gpt-4.1", Thinking::High).await;
    assert_eq!(body.get("reasoning"), None, "{body}");
    for wire in [Wire::Anthropic, Wire::OpenAiChat, Wire::OpenAiResponses] {
        let body = reasoned(wire, "gpt-5", Thinking::Default).await;
        assert_eq!((body.get("reasoning"), body.get("thinking")), (None, None), "{body}");
    }
}

#[tokio::test]
async fn nothing_to_say_is_not_sent() {
    each(Vec::new(), async |wire, server, model| {
        let request = request(vec![user("  ")]);
        let error = model.stream(CancellationToken::new(), request).await.err().expect("a refusal");
        assert!(error.message.contains("no message"), "{wire:?}: {error}");
        assert!(server.requests().is_empty());
    })
    .await;
}
