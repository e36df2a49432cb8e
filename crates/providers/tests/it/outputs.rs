//! Tests of answers with a schema: each API takes the schema in its own form, or the answer is a call of a tool.

use std::sync::Arc;

use haft_core::Agent;
use haft_core::model::{Model, ModelEvent, ModelRequest, OutputSchema, ThinkingLevel, ToolChoice};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, StopCause};
use haft_providers::{HttpModel, ModelConfig};
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{config, gather, impatient, request, result, time, user};

const OSLO: &str = r#"{"city":"Oslo","day":3}"#;

/// The schema as a Rust type has it: with a format of Rust, a limit, and an open object.
fn schema() -> OutputSchema {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "day": {"type": "integer", "format": "uint8", "minimum": 0}},
        "required": ["city", "day"],
    });
    OutputSchema::new("place", RawJson::from_value(&schema).unwrap()).unwrap()
}

fn closed_schema(limits: bool) -> Value {
    let day = if limits { json!({"type": "integer", "minimum": 0}) } else { json!({"type": "integer"}) };
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "day": day},
        "required": ["city", "day"],
        "additionalProperties": false,
    })
}

struct Case {
    wire: WireFormat,
    model: &'static str,
    /// The provider, if it is not the dialect's own.
    provider: Option<&'static str>,
    tools: bool,
}

fn case(wire: WireFormat, model: &'static str, tools: bool) -> Case {
    Case { wire, model, provider: None, tools }
}

impl Case {
    fn http_model(&self, server: &ModelServer) -> HttpModel {
        let mut config: ModelConfig = config(server, self.wire, self.model);
        config.provider = self.provider.map_or(config.provider, str::to_owned);
        HttpModel::with_timeouts(config, impatient()).unwrap()
    }

    fn request(&self, thinking: ThinkingLevel) -> ModelRequest {
        let mut request = request(vec![user("Where?")]);
        if !self.tools {
            request.tools.clear();
        }
        request.with_output_schema(Arc::new(schema())).with_thinking(thinking)
    }

    /// Returns the body of a request, whose answer must be the JSON.
    async fn body(&self, answer: Scenario, thinking: ThinkingLevel) -> Value {
        self.body_of(answer, self.request(thinking)).await
    }

    async fn body_with_choice(&self, answer: Scenario, choice: ToolChoice) -> Value {
        let mut request = self.request(ThinkingLevel::Default);
        request.options.tool_choice = Some(choice);
        self.body_of(answer, request).await
    }

    async fn body_of(&self, answer: Scenario, request: ModelRequest) -> Value {
        let server = ModelServer::start(self.wire, vec![answer]).await;
        let model = self.http_model(&server);
        let stream = model.stream(CancellationToken::new(), request).await.unwrap();
        let (events, answer) = gather(stream).await;
        let answer = answer.unwrap();
        assert_eq!(answer.content, [AssistantBlock::Text { text: OSLO.into() }]);
        assert_eq!((answer.stop, &server.violations()), (StopCause::End, &Vec::new()));
        let text: String = events
            .iter()
            .map(|event| match event {
                ModelEvent::Text(delta) => delta.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(text, OSLO);
        server.requests()[0].body.clone()
    }
}

#[tokio::test]
async fn apis_with_schemas_get_the_schema() {
    let openai = |name: &str| json!({"name": name, "schema": closed_schema(true), "strict": true});
    let cases = [
        (
            case(WireFormat::Anthropic, "claude-haiku-4-5", true),
            "/output_config/format",
            json!({"type": "json_schema", "schema": closed_schema(false)}),
        ),
        (
            case(WireFormat::OpenAiChat, "gpt-4.1", true),
            "/response_format",
            json!({"type": "json_schema", "json_schema": openai("place")}),
        ),
        (
            case(WireFormat::OpenAiResponses, "gpt-5.6", true),
            "/text/format",
            json!({"type": "json_schema", "name": "place", "schema": closed_schema(true), "strict": true}),
        ),
        (
            case(WireFormat::Gemini, "gemini-3.8-flash", true),
            "/generationConfig/responseJsonSchema",
            closed_schema(true),
        ),
        (
            case(WireFormat::Gemini, "gemini-2.5-flash", false),
            "/generationConfig/responseMimeType",
            json!("application/json"),
        ),
        (case(WireFormat::Ollama, "qwen3", false), "/format", closed_schema(true)),
    ];
    for (case, pointer, expect) in cases {
        let body = case.body(Scenario::text(OSLO), ThinkingLevel::Default).await;
        assert_eq!(body.pointer(pointer), Some(&expect), "{:?}: {body}", case.wire);
        assert!(!body.to_string().contains("final_answer"), "{body}");
    }
}

#[tokio::test]
async fn claude_keeps_its_effort_beside_the_schema() {
    let case = case(WireFormat::Anthropic, "claude-sonnet-4-6", true);
    let body = case.body(Scenario::text(OSLO), ThinkingLevel::High).await;
    assert_eq!(body["output_config"]["effort"], json!("high"), "{body}");
    assert_eq!(body["output_config"]["format"]["type"], json!("json_schema"), "{body}");
}

#[tokio::test]
async fn other_apis_get_a_tool_for_the_answer() {
    let at = |provider, case| Case { provider: Some(provider), ..case };
    let any = json!({"type": "any"});
    let cases = [
        (at("moonshot", case(WireFormat::Anthropic, "kimi", true)), "/tool_choice", any),
        (
            case(WireFormat::Anthropic, "claude-3-haiku-20240307", false),
            "/tool_choice",
            json!({"type": "tool", "name": "final_answer"}),
        ),
        (at("groq", case(WireFormat::OpenAiChat, "m", true)), "/tool_choice", json!("required")),
        (
            at("own", case(WireFormat::OpenAiChat, "m", false)),
            "/tool_choice",
            json!({"type": "function", "function": {"name": "final_answer"}}),
        ),
        (
            case(WireFormat::Gemini, "gemini-2.5-flash", true),
            "/toolConfig/functionCallingConfig",
            json!({"mode": "ANY"}),
        ),
        (case(WireFormat::Ollama, "qwen3", true), "/tools/1/function/name", json!("final_answer")),
    ];
    for (case, pointer, expect) in cases {
        let answer = Scenario::new().tool("call_a", "final_answer", OSLO);
        let body = case.body(answer, ThinkingLevel::Default).await;
        assert_eq!(body.pointer(pointer), Some(&expect), "{:?}: {body}", case.wire);
    }
}

/// The APIs that get a tool for the answer if there are other tools.
fn with_answer_tool() -> [Case; 5] {
    let at = |provider, case| Case { provider: Some(provider), ..case };
    [
        at("moonshot", case(WireFormat::Anthropic, "kimi", true)),
        at("groq", case(WireFormat::OpenAiChat, "m", true)),
        at("llama.cpp", case(WireFormat::OpenAiChat, "m", true)),
        case(WireFormat::Gemini, "gemini-2.5-flash", true),
        case(WireFormat::Ollama, "qwen3", true),
    ]
}

#[tokio::test]
async fn without_calls_only_the_answer_is_offered() {
    for case in with_answer_tool() {
        let is_native = matches!(case.wire, WireFormat::Gemini | WireFormat::Ollama)
            || case.provider == Some("llama.cpp");
        let answer = match is_native {
            true => Scenario::text(OSLO),
            false => Scenario::new().tool("call_a", "final_answer", OSLO),
        };
        let body = case.body_with_choice(answer, ToolChoice::None).await;
        assert!(!body.to_string().contains("weather"), "{:?}: {body}", case.wire);
        assert_eq!(body.get("tools").is_none(), is_native, "{:?}: {body}", case.wire);
        let forms = ["/response_format", "/generationConfig/responseJsonSchema", "/format"];
        let has_schema = forms.iter().any(|form| body.pointer(form).is_some());
        assert_eq!(has_schema, is_native, "{:?}: {body}", case.wire);
    }
}

/// Earlier calls need their functions in each request, which Gemini 2.5 does not accept together with a schema.
#[tokio::test]
async fn gemini_gets_the_tool_after_earlier_calls() {
    let case = case(WireFormat::Gemini, "gemini-2.5-flash", true);
    let mut request = case.request(ThinkingLevel::Default);
    request.options.tool_choice = Some(ToolChoice::None);
    let call =
        ToolCall { id: ToolCallId::new("call_a"), name: "weather".into(), args: RawJson::empty_object() };
    let call = AssistantMessage::new(vec![AssistantBlock::ToolCall(call)], time());
    let messages = vec![
        user("Where?"),
        Message::Assistant(call),
        result("call_a", "weather", vec![ContentBlock::text("sunny")]),
    ];
    request.messages = Arc::new(messages);
    let body = case.body_of(Scenario::new().tool("call_b", "final_answer", OSLO), request).await;
    assert_eq!(body["generationConfig"].get("responseJsonSchema"), None, "{body}");
    let functions = &body["tools"][0]["functionDeclarations"];
    assert_eq!((functions[0]["name"].as_str(), functions.get(1)), (Some("final_answer"), None), "{body}");
}

#[tokio::test]
async fn demanded_call_is_not_an_answer() {
    for choice in [ToolChoice::Required, ToolChoice::Tool("weather".into())] {
        // Ollama cannot demand calls.
        for case in with_answer_tool().into_iter().filter(|case| case.wire != WireFormat::Ollama) {
            let call = Scenario::new().tool("call_a", "weather", r#"{"city":"Oslo"}"#);
            let server = ModelServer::start(case.wire, vec![call]).await;
            let mut request = case.request(ThinkingLevel::Default);
            request.options.tool_choice = Some(choice.clone());
            let model = case.http_model(&server);
            let answer = gather(model.stream(CancellationToken::new(), request).await.unwrap()).await.1;
            assert_eq!(answer.unwrap().stop, StopCause::ToolUse, "{:?}", case.wire);
            let body = server.requests()[0].body.to_string();
            assert!(body.contains("weather") && !body.contains("final_answer"), "{body}");
            assert_eq!(server.violations(), Vec::<String>::new(), "{:?}", case.wire);
        }
    }
}

#[tokio::test]
async fn thinking_claude_is_offered_the_tool_without_demand() {
    let case = Case { provider: Some("other"), ..case(WireFormat::Anthropic, "claude-sonnet-4-6", true) };
    let body = case.body(Scenario::new().tool("call_a", "final_answer", OSLO), ThinkingLevel::High).await;
    assert!(body.get("tool_choice").is_none(), "{body}");
    assert_eq!(body["tools"][1]["name"], json!("final_answer"), "{body}");
}

/// The whole way: the agent corrects a wrong answer, and the conversation stays valid for each API.
#[tokio::test]
async fn agents_read_and_correct_answers_of_each_api() {
    let cases = [
        case(WireFormat::Anthropic, "claude-haiku-4-5", false),
        case(WireFormat::OpenAiChat, "gpt-4.1", false),
        Case { provider: Some("groq"), ..case(WireFormat::OpenAiChat, "m", false) },
        case(WireFormat::OpenAiResponses, "gpt-5.6", false),
        case(WireFormat::Gemini, "gemini-3.8-flash", false),
        case(WireFormat::Ollama, "qwen3", false),
    ];
    for case in cases {
        let right = match case.provider {
            Some(_) => Scenario::new().tool("call_b", "final_answer", OSLO),
            None => Scenario::text(OSLO),
        };
        let wrong = match case.provider {
            Some(_) => Scenario::new().tool("call_a", "final_answer", r#"{"city":7}"#),
            None => Scenario::text(r#"{"city":7}"#),
        };
        let server = ModelServer::start(case.wire, vec![wrong, right]).await;
        let agent = Agent::builder(case.http_model(&server)).build().unwrap();
        let answer = agent.prompt("Where?").answer_json(schema()).await.unwrap();
        assert_eq!(answer.as_str(), OSLO, "{:?}", case.wire);
        assert_eq!(server.violations(), Vec::<String>::new(), "{:?}", case.wire);
        assert!(server.requests()[1].body.to_string().contains("does not fit"), "{:?}", case.wire);
    }
}
