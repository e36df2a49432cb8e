//! Tests of the transcript in requests: exact for the model that wrote it, readable for any other model.

use haft_core::model::ModelResponse;
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::message::{AssistantBlock, Message};
use haft_providers::HttpModel;
use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use serde_json::{Value, json};

use crate::support::{DIALECTS, assistant, config, gather, impatient, model, result, start, user};

const ARGS: &str = r#"{"city":"Zürich"}"#;

fn thoughtful() -> Scenario {
    Scenario::new().think("Hm.", "c2lnbmF0dXJl").say("Looking.").tool("call_a", "weather", ARGS)
}

/// Sends a prompt, answers the call, and sends the next request to `second`; returns the body of the second request.
async fn continued(wire: WireFormat, second: impl Fn(&ModelServer) -> HttpModel) -> Value {
    let server = ModelServer::start(wire, vec![thoughtful(), Scenario::text("Sunny.")]).await;
    let first = gather(start(&model(&server, wire), vec![user("weather?")]).await).await.1.unwrap();
    let messages = vec![
        user("weather?"),
        stored(first),
        result("call_a", "weather", vec![ContentBlock::text("sunny, 21°")]),
    ];
    gather(start(&second(&server), messages).await).await.1.unwrap();
    server.requests().last().unwrap().body.clone()
}

/// Returns the message as a session file would restore it.
fn stored(mut response: ModelResponse) -> Message {
    if let Some(native) = &mut response.native {
        native.data = RawJson::parse(native.data.as_str()).unwrap();
    }
    assistant(response)
}

#[tokio::test]
async fn anthropic_gets_its_signed_thinking_back() {
    let body = continued(WireFormat::Anthropic, |server| model(server, WireFormat::Anthropic)).await;
    let content = &body["messages"][1]["content"];
    assert_eq!(content[0], json!({"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmF0dXJl"}));
    assert_eq!(content[1], json!({"type": "text", "text": "Looking."}));
    assert_eq!(content[2]["id"], "call_a");
    assert_eq!(content[2]["input"], json!({"city": "Zürich"}));
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "call_a", "{body}");
}

#[tokio::test]
async fn responses_gets_its_items_back() {
    let body =
        continued(WireFormat::OpenAiResponses, |server| model(server, WireFormat::OpenAiResponses)).await;
    let input = body["input"].as_array().unwrap();
    let find = |kind: &str| input.iter().find(|item| item["type"] == kind).unwrap_or(&Value::Null);
    assert_eq!(find("reasoning")["encrypted_content"], "c2lnbmF0dXJl", "{body}");
    assert_eq!(find("function_call")["call_id"], "call_a");
    assert_eq!(find("function_call")["arguments"], ARGS, "byte for byte");
    assert_eq!(find("function_call_output")["call_id"], "call_a");
}

#[tokio::test]
async fn chat_gets_its_reasoning_and_calls_back() {
    let body = continued(WireFormat::OpenAiChat, |server| model(server, WireFormat::OpenAiChat)).await;
    let messages = body["messages"].as_array().unwrap();
    let turn = messages.iter().find(|message| message["role"] == "assistant").unwrap();
    assert_eq!(turn["reasoning_content"], "Hm.", "{body}");
    assert_eq!(turn["tool_calls"][0]["id"], "call_a");
    assert_eq!(turn["tool_calls"][0]["function"]["arguments"], ARGS, "byte for byte");
    let tool = messages.iter().find(|message| message["role"] == "tool").unwrap();
    assert_eq!(tool["tool_call_id"], "call_a");
}

#[tokio::test]
async fn another_model_gets_no_signatures_and_all_text() {
    for (wire, _) in DIALECTS {
        let body = continued(wire, |server| {
            HttpModel::with_timeouts(config(server, wire, "another-model"), impatient()).unwrap()
        })
        .await;
        let text = body.to_string();
        assert!(!text.contains("c2lnbmF0dXJl"), "{wire:?}: {text}");
        for part in ["Looking.", "Zürich", "sunny, 21°"] {
            assert!(text.contains(part), "{wire:?}: {part} is not in {text}");
        }
        assert_eq!(text.matches("call_a").count(), 2, "{wire:?}: the call and its result: {text}");
    }
}

#[tokio::test]
async fn a_session_moves_between_dialects() {
    for (from, _) in DIALECTS {
        let old = ModelServer::start(from, vec![thoughtful()]).await;
        let answer = gather(start(&model(&old, from), vec![user("weather?")]).await).await.1.unwrap();
        for (to, _) in DIALECTS.into_iter().filter(|(to, _)| *to != from) {
            let server = ModelServer::start(to, vec![Scenario::text("Sunny.")]).await;
            let outcome = result("call_a", "weather", vec![ContentBlock::text("sunny, 21°")]);
            let messages = vec![user("weather?"), assistant(answer.clone()), outcome];
            gather(start(&model(&server, to), messages).await).await.1.unwrap();
            let text = server.requests()[0].body.to_string();
            assert!(!text.contains("c2lnbmF0dXJl"), "{from:?} to {to:?}: {text}");
            for part in ["Looking.", "Zürich", "sunny, 21°"] {
                assert!(text.contains(part), "{from:?} to {to:?}: {part} is not in {text}");
            }
        }
    }
}

#[tokio::test]
async fn ignores_invalid_native_data() {
    for (wire, _) in DIALECTS {
        let server = ModelServer::start(wire, vec![thoughtful(), Scenario::text("ok")]).await;
        let model = model(&server, wire);
        let mut answer = gather(start(&model, vec![user("weather?")]).await).await.1.unwrap();
        answer.content = vec![AssistantBlock::Text { text: "Edited.".into() }];
        gather(start(&model, vec![user("weather?"), assistant(answer), user("so?")]).await).await.1.unwrap();
        let text = server.requests()[1].body.to_string();
        assert!(text.contains("Edited.") && !text.contains("call_a"), "{wire:?}: {text}");
    }
}

#[tokio::test]
async fn results_of_one_step_stay_together_and_are_never_empty() {
    let scenario = Scenario::new().tool("call_a", "weather", "{}").tool("call_b", "weather", "{}");
    for (wire, _) in DIALECTS {
        let server = ModelServer::start(wire, vec![scenario.clone(), Scenario::text("ok")]).await;
        let model = model(&server, wire);
        let answer = gather(start(&model, vec![user("weather?")]).await).await.1.unwrap();
        let messages = vec![
            user("weather?"),
            assistant(answer),
            result("call_a", "weather", Vec::new()),
            result("call_b", "weather", vec![ContentBlock::text("rain")]),
            user("and tomorrow?"),
        ];
        gather(start(&model, messages).await).await.1.unwrap();
        let body = server.requests()[1].body.clone();
        let text = body.to_string();
        assert!(text.contains("(no output)") && text.contains("rain"), "{wire:?}: {text}");
        if wire == WireFormat::Anthropic {
            let results = body["messages"][2]["content"].as_array().unwrap();
            let ids: Vec<_> = results.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
            assert_eq!(ids, ["call_a", "call_b"], "{text}");
        }
    }
}

#[tokio::test]
async fn arguments_that_are_not_an_object_do_not_break_the_next_request() {
    for args in ["[1]", r#"{"city":"#, "nonsense", r#""text""#, r#"{"a":1,"a":2}"#] {
        for keeps_native in [true, false] {
            for (wire, _) in DIALECTS {
                let scenario = Scenario::new().tool("call_a", "weather", args);
                let server = ModelServer::start(wire, vec![scenario, Scenario::text("ok")]).await;
                let model = model(&server, wire);
                let mut answer = gather(start(&model, vec![user("weather?")]).await).await.1.unwrap();
                answer.native = answer.native.filter(|_| keeps_native);
                let told =
                    result("call_a", "weather", vec![ContentBlock::text("the arguments are no object")]);
                gather(start(&model, vec![user("weather?"), stored(answer), told]).await).await.1.unwrap();
                let body = server.requests()[1].body.clone();
                let sent = match wire {
                    WireFormat::Anthropic => body["messages"][1]["content"][0]["input"].clone(),
                    WireFormat::OpenAiChat => parsed(&find(&body["messages"], "tool_calls")[0]["function"]),
                    _ => parsed(&call_of(&body["input"])),
                };
                assert!(sent.is_object(), "{wire:?} {args} {keeps_native}: {body}");
            }
        }
    }
}

fn parsed(call: &Value) -> Value {
    serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap()
}

fn find<'a>(items: &'a Value, field: &str) -> &'a Value {
    items.as_array().unwrap().iter().find_map(|item| item.get(field)).unwrap()
}

fn call_of(items: &Value) -> Value {
    let calls = |item: &&Value| item["type"] == "function_call";
    items.as_array().unwrap().iter().find(calls).unwrap().clone()
}

#[tokio::test]
async fn images_follow_all_results_of_a_step() {
    let scenario = Scenario::new().tool("call_a", "weather", "{}").tool("call_b", "weather", "{}");
    let image = ContentBlock::Image(haft_protocol::content::Image {
        mime_type: "image/png".into(),
        data: "dG9vbA==".into(),
    });
    let server = ModelServer::start(WireFormat::OpenAiChat, vec![scenario, Scenario::text("ok")]).await;
    let model = model(&server, WireFormat::OpenAiChat);
    let answer = gather(start(&model, vec![user("weather?")]).await).await.1.unwrap();
    let messages = vec![
        user("weather?"),
        assistant(answer),
        result("call_a", "weather", vec![image]),
        result("call_b", "weather", vec![ContentBlock::text("rain")]),
        user("and tomorrow?"),
    ];
    gather(start(&model, messages).await).await.1.unwrap();
    let body = server.requests()[1].body.clone();
    let roles: Vec<_> =
        body["messages"].as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect();
    assert!(roles.windows(3).any(|roles| roles == ["assistant", "tool", "tool"]), "{roles:?} {body}");
}
