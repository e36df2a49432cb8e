//! Tests of requests: paths, headers, tools, images, reasoning, cache markers.

use std::sync::Arc;

use haft_core::hooks::{BeforeProviderRequest, ProviderRequest, ProviderRequestDecision};
use haft_core::model::{Model, RequestOptions, RequestReview, ThinkingLevel};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, Image};
use haft_protocol::message::Message;
use haft_providers::HttpModel;
use haft_test_support::model_server::{ModelServer, RecordedRequest, Scenario, WireFormat};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{KEY, ask, config, each, gather, impatient, model, request, result, start, time, user};

fn sent(server: &ModelServer) -> RecordedRequest {
    server.requests().last().cloned().expect("a request")
}

/// Returns every string in a JSON value.
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
            WireFormat::Anthropic => {
                ("/v1/messages", KEY.to_owned(), "/tools/0/name", "/tools/0/input_schema")
            }
            WireFormat::OpenAiChat => (
                "/v1/chat/completions",
                format!("Bearer {KEY}"),
                "/tools/0/function/name",
                "/tools/0/function/parameters",
            ),
            _ => ("/v1/responses", format!("Bearer {KEY}"), "/tools/0/name", "/tools/0/parameters"),
        };
        assert_eq!(sent.path, path);
        let header = if wire == WireFormat::Anthropic { "x-api-key" } else { "authorization" };
        assert_eq!(sent.header(header), Some(key.as_str()), "{wire:?}");
        assert_eq!(
            sent.header(if wire == WireFormat::Anthropic { "authorization" } else { "x-api-key" }),
            None
        );
        assert_eq!(sent.body.pointer(tool), Some(&json!("weather")), "{wire:?}: {}", sent.body);
        assert_eq!(sent.body.pointer(schema).unwrap()["required"], json!(["city"]), "{wire:?}");
        assert_eq!(sent.body["stream"], json!(true));
        let texts = strings(&sent.body);
        assert!(texts.contains(&"You are terse.") && texts.contains(&"hello"), "{wire:?}: {}", sent.body);
        if wire == WireFormat::OpenAiResponses {
            assert_eq!(sent.body["store"], json!(false), "the provider keeps nothing");
        }
    })
    .await;
}

#[tokio::test]
async fn user_headers_override_defaults() {
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
    let image = |data: &str| ContentBlock::Image(Image { mime_type: "image/png".into(), data: data.into() });
    let scenarios = vec![Scenario::new().tool("call_a", "weather", "{}"), Scenario::text("Nice.")];
    each(scenarios, async |wire, server, model| {
        let content = vec![ContentBlock::text("look"), image(FROM_USER)];
        let mut messages = vec![Message::User { content, time: time() }];
        let answer = gather(start(&model, messages.clone()).await).await.1.unwrap();
        messages.push(crate::support::assistant(answer));
        messages.push(result("call_a", "weather", vec![ContentBlock::text("a map"), image(FROM_TOOL)]));
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
async fn unsupported_image_becomes_text() {
    each(vec![Scenario::text("hi")], async |wire, server, model| {
        let image = Image { mime_type: "image/x-unknown".into(), data: "AAAA".into() };
        let content = vec![ContentBlock::Image(image)];
        gather(start(&model, vec![Message::User { content, time: time() }]).await).await.1.unwrap();
        let body = sent(&server).body.to_string();
        assert!(body.contains("image/x-unknown") && !body.contains("AAAA"), "{wire:?}: {body}");
    })
    .await;
}

#[tokio::test]
async fn anthropic_prompts_are_marked_for_the_cache() {
    let server = ModelServer::start(WireFormat::Anthropic, vec![Scenario::text("hi")]).await;
    ask(&model(&server, WireFormat::Anthropic), "hello").await.1.unwrap();
    let body = sent(&server).body;
    let marker = json!({"type": "ephemeral"});
    assert_eq!(body.pointer("/system/0/cache_control"), Some(&marker), "{body}");
    assert_eq!(body.pointer("/tools/0/cache_control"), Some(&marker), "{body}");
    assert_eq!(body.pointer("/messages/0/content/0/cache_control"), Some(&marker), "{body}");
}

async fn reasoned(wire: WireFormat, model: &str, thinking: ThinkingLevel) -> Value {
    let server = ModelServer::start(wire, vec![Scenario::text("hi")]).await;
    let model = HttpModel::with_timeouts(config(&server, wire, model), impatient()).unwrap();
    let mut request = request(vec![user("hi")]);
    request.thinking = thinking;
    gather(model.stream(CancellationToken::new(), request).await.unwrap()).await.1.unwrap();
    sent(&server).body
}

#[tokio::test]
async fn reasoning_takes_each_models_own_form() {
    let body = reasoned(WireFormat::Anthropic, "claude-sonnet-4-6", ThinkingLevel::High).await;
    assert_eq!(body.pointer("/output_config/effort"), Some(&json!("high")), "{body}");
    let body = reasoned(WireFormat::Anthropic, "claude-haiku-4-5", ThinkingLevel::Medium).await;
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 12288}));
    let body = reasoned(WireFormat::Anthropic, "claude-haiku-4-5", ThinkingLevel::Off).await;
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    let body = reasoned(WireFormat::OpenAiResponses, "gpt-5.6", ThinkingLevel::Low).await;
    assert_eq!(body.pointer("/reasoning/effort"), Some(&json!("low")), "{body}");
    for (wanted, sent) in [(ThinkingLevel::Minimal, "low"), (ThinkingLevel::XHigh, "max")] {
        let body = reasoned(WireFormat::Anthropic, "claude-sonnet-4-6", wanted).await;
        assert_eq!(body.pointer("/output_config/effort"), Some(&json!(sent)), "{body}");
    }
    let body = reasoned(WireFormat::Anthropic, "claude-haiku-4-5", ThinkingLevel::Minimal).await;
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 1024}));
    for (wanted, sent) in [(ThinkingLevel::Off, "minimal"), (ThinkingLevel::XHigh, "high")] {
        let body = reasoned(WireFormat::OpenAiChat, "gpt-5", wanted).await;
        assert_eq!(body["reasoning_effort"], json!(sent), "{wanted}");
    }
    let body = reasoned(WireFormat::OpenAiChat, "gpt-5", ThinkingLevel::Low).await;
    assert_eq!(body["reasoning_effort"], json!("low"));
}

#[tokio::test]
async fn omits_unsupported_reasoning() {
    let body = reasoned(WireFormat::OpenAiChat, "gpt-4.1", ThinkingLevel::High).await;
    assert_eq!(body.get("reasoning_effort"), None, "{body}");
    let body = reasoned(WireFormat::OpenAiResponses, "gpt-4.1", ThinkingLevel::High).await;
    assert_eq!(body.get("reasoning"), None, "{body}");
    for wire in [WireFormat::Anthropic, WireFormat::OpenAiChat, WireFormat::OpenAiResponses] {
        let body = reasoned(wire, "gpt-5", ThinkingLevel::Default).await;
        assert_eq!((body.get("reasoning"), body.get("thinking")), (None, None), "{body}");
    }
}

/// Sends a thinking level to a server that haft does not know.
async fn reasoned_by_gateway(model: &str, thinking: ThinkingLevel) -> Value {
    let server = ModelServer::start(WireFormat::OpenAiResponses, vec![Scenario::text("hi")]).await;
    let mut config = config(&server, WireFormat::OpenAiResponses, model);
    config.provider = "gateway".into();
    config.facts.max_output = Some(9_000);
    let model = HttpModel::with_timeouts(config, impatient()).unwrap();
    let request = request(vec![user("hi")]).with_thinking(thinking);
    gather(model.stream(CancellationToken::new(), request).await.unwrap()).await.1.unwrap();
    sent(&server).body
}

#[tokio::test]
async fn openai_models_have_their_options_on_every_server() {
    let encrypted = json!(["reasoning.encrypted_content"]);
    for (model, wanted, effort, include) in [
        ("openai/gpt-5", ThinkingLevel::XHigh, json!({"effort": "high"}), &encrypted),
        ("gpt-5.6", ThinkingLevel::Off, json!({"effort": "none"}), &encrypted),
        ("gpt-4.1", ThinkingLevel::High, Value::Null, &Value::Null),
        ("unknown", ThinkingLevel::High, json!({"effort": "high"}), &encrypted),
    ] {
        let body = reasoned_by_gateway(model, wanted).await;
        assert_eq!((&body["reasoning"], &body["include"]), (&effort, include), "{model}");
        assert_eq!(body.get("max_output_tokens"), None, "{model}");
    }
}

#[tokio::test]
async fn models_that_read_no_images_get_texts() {
    let server = ModelServer::start(WireFormat::OpenAiResponses, vec![Scenario::text("hi")]).await;
    let model = HttpModel::new(config(&server, WireFormat::OpenAiResponses, "o3-mini")).unwrap();
    let image = ContentBlock::Image(Image { mime_type: "image/png".into(), data: "AAAA".into() });
    let content = vec![ContentBlock::text("look"), image];
    gather(start(&model, vec![Message::User { content, time: time() }]).await).await.1.unwrap();
    let body = sent(&server).body;
    let texts = strings(&body);
    assert!(texts.contains(&"look") && texts.contains(&"(an image that this model cannot read)"), "{body}");
    assert!(!body.to_string().contains("AAAA"), "{body}");
}

#[tokio::test]
async fn does_not_send_empty_request() {
    each(Vec::new(), async |wire, server, model| {
        let request = request(vec![user("  ")]);
        let error = model.stream(CancellationToken::new(), request).await.err().expect("a refusal");
        assert!(error.message.contains("no message"), "{wire:?}: {error}");
        assert!(server.requests().is_empty());
    })
    .await;
}

/// Sends a request with these options and this thinking level; returns the request that the server received.
async fn sent_with(wire: WireFormat, model: &str, thinking: ThinkingLevel, options: RequestOptions) -> Value {
    let server = ModelServer::start(wire, vec![Scenario::text("hi")]).await;
    let model = HttpModel::with_timeouts(config(&server, wire, model), impatient()).unwrap();
    let request = request(vec![user("hello")]).with_thinking(thinking).with_options(options);
    gather(model.stream(CancellationToken::new(), request).await.unwrap()).await.1.unwrap();
    sent(&server).body
}

#[tokio::test]
async fn sends_options_that_the_model_supports() {
    let options =
        |temperature| RequestOptions::default().with_max_tokens(9_000).with_temperature(temperature);
    let cases = [
        (WireFormat::Anthropic, "claude-haiku-4-5", ThinkingLevel::Off, "/max_tokens", json!(0.5)),
        // The model thinks, and then requires its own temperature.
        (WireFormat::Anthropic, "claude-sonnet-4-6", ThinkingLevel::High, "/max_tokens", Value::Null),
        (WireFormat::OpenAiChat, "gpt-4.1", ThinkingLevel::Default, "/max_tokens", json!(0.5)),
        (WireFormat::OpenAiResponses, "gpt-5.6", ThinkingLevel::High, "/max_output_tokens", Value::Null),
        (
            WireFormat::Gemini,
            "gemini-3.8-flash",
            ThinkingLevel::Default,
            "/generationConfig/maxOutputTokens",
            json!(0.5),
        ),
        (WireFormat::Ollama, "qwen3", ThinkingLevel::Default, "/options/num_predict", json!(0.5)),
    ];
    for (wire, model, thinking, most, temperature) in cases {
        let body = sent_with(wire, model, thinking, options(Some(0.5))).await;
        let pointers = ["/temperature", "/generationConfig/temperature", "/options/temperature"];
        let got = pointers.iter().find_map(|pointer| body.pointer(pointer)).cloned().unwrap_or_default();
        assert_eq!(got, temperature, "{wire:?} {model} {thinking:?}: {body}");
        let most = [most, "/max_completion_tokens"].iter().find_map(|pointer| body.pointer(pointer)).cloned();
        assert_eq!(most, Some(json!(9_000)), "{wire:?} {model}: {body}");
        let body = sent_with(wire, model, thinking, RequestOptions::default()).await;
        assert!(!body.to_string().contains("temperature"), "{wire:?}: {body}");
    }
}

#[tokio::test]
async fn limits_answer_to_the_models_maximum() {
    let options = RequestOptions::default().with_max_tokens(u64::MAX);
    let body = sent_with(WireFormat::Anthropic, "claude-haiku-4-5", ThinkingLevel::Off, options).await;
    assert_eq!(body["max_tokens"], json!(64_000));
}

#[tokio::test]
async fn defines_called_tools_without_offered_tools() {
    let server = ModelServer::start(
        WireFormat::Anthropic,
        vec![Scenario::new().tool("call_a", "weather", "{}"), Scenario::text("so far so good")],
    )
    .await;
    let model = model(&server, WireFormat::Anthropic);
    let mut messages = vec![user("hello")];
    let answer = gather(start(&model, messages.clone()).await).await.1.unwrap();
    messages.push(crate::support::assistant(answer));
    messages.push(result("call_a", "weather", vec![ContentBlock::text("fog")]));
    let request = request(messages).with_tools(Vec::new());
    gather(model.stream(CancellationToken::new(), request).await.unwrap()).await.1.unwrap();
    let body = sent(&server).body;
    assert_eq!(body["tool_choice"], json!({"type": "none"}), "{body}");
    assert_eq!(body["tools"][0]["name"], json!("weather"), "{body}");
    assert_eq!(body["tools"].as_array().unwrap().len(), 1, "{body}");
}

/// Adds a field to the body, and headers of which some are reserved.
struct Tagger;

#[async_trait::async_trait]
impl BeforeProviderRequest for Tagger {
    async fn before_provider_request(
        &self,
        _: &CancellationToken,
        request: &ProviderRequest,
    ) -> ProviderRequestDecision {
        assert!(!request.payload.as_str().contains(KEY));
        let mut payload: Value = request.payload.read().unwrap();
        payload["tag"] = json!(request.model.to_string());
        let headers = [("X-Team", "compilers"), ("authorization", "stolen"), ("x-api-key", "stolen")];
        ProviderRequestDecision::Change {
            payload: RawJson::from_value(&payload).ok(),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        }
    }
}

#[tokio::test]
async fn hooks_change_the_body_and_add_headers_but_not_the_key() {
    each(vec![Scenario::rate_limited("0"), Scenario::text("hi")], async |wire, server, model| {
        let review = RequestReview::new(vec![Arc::new(Tagger)]);
        let request = request(vec![user("hello")]).with_review(review);
        let stream = model.stream(CancellationToken::new(), request).await.unwrap();
        gather(stream).await.1.unwrap();
        let requests = server.requests();
        assert_eq!(requests.len(), 2, "{wire:?}");
        for sent in requests {
            assert_eq!(sent.body["tag"], json!(model.info().to_string()), "{wire:?}: {}", sent.body);
            assert!(strings(&sent.body).contains(&"hello"), "{wire:?}: {}", sent.body);
            assert_eq!(sent.header("x-team"), Some("compilers"));
            assert!(sent.headers.iter().any(|(_, value)| value.contains(KEY)), "{wire:?}");
            assert!(sent.headers.iter().all(|(_, value)| value != "stolen"), "{wire:?}");
        }
    })
    .await;
}
