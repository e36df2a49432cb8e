//! Tests of requests.

use std::sync::Arc;

use haft_core::tool::{ToolOwner, ToolSpec};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, NativeMessage, ToolMessage};
use insta::assert_snapshot;

use super::{format, format_of};
use crate::wire::chat::CatalogEntry;
use crate::wire::test_support::{
    image, text_block as text, thinking_block as thinking, time, user_message as user,
};
use crate::wire::{
    ChatCompletions, ModelQuirks, RequestBody, ThinkingOption, TurnCache, WireFormat, WireRequest,
};

fn call(id: &str, name: &str, args: &str) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: ToolCallId::new(id),
        name: name.into(),
        args: RawJson::parse(args).unwrap(),
    })
}

/// Returns an answer of this model, if it has a native form.
fn answer(content: Vec<AssistantBlock>, native: Option<&str>) -> Message {
    let native = native.map(|data| NativeMessage::new("here", RawJson::parse(data).unwrap()));
    Message::Assistant(AssistantMessage::new(content, time()).with_native(native))
}

fn result(id: &str, content: Vec<ContentBlock>) -> Message {
    Message::Tool(ToolMessage::new(ToolCallId::new(id), "look", content, time()))
}

fn tool() -> Arc<ToolSpec> {
    Arc::new(
        ToolSpec::new("look", "Looks.")
            .with_schema(
                RawJson::parse(r#"{"type":"object","properties":{"at":{"type":"string"}}}"#).unwrap(),
            )
            .with_owner(ToolOwner::BuiltIn),
    )
}

fn request<'a>(messages: &'a [Message], tools: &'a [Arc<ToolSpec>]) -> WireRequest<'a> {
    WireRequest {
        model: "m",
        system: "You are terse.",
        messages,
        tools,
        max_tokens: Some(9_000),
        temperature: None,
        top_p: None,
        stop: &[],
        tool_choice: None,
        output: None,
        thinking: None,
        window: None,
        quirks: ModelQuirks::default(),
    }
}

fn written(format: &ChatCompletions, request: &WireRequest<'_>) -> serde_json::Value {
    let body = RequestBody::write(format, request, "here", &mut TurnCache::default()).unwrap();
    serde_json::from_slice(&body.pieces.concat()).unwrap()
}

/// Writes the messages as one line each.
fn messages(provider: &str, model: &str, messages: &[Message]) -> String {
    let tools = [tool()];
    let body = written(&format(provider, model), &request(messages, &tools));
    let lines = body["messages"].as_array().unwrap().iter().skip(1).map(ToString::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn conversation_with_every_construct() {
    let conversation = [
        user(vec![
            ContentBlock::text("  "),
            ContentBlock::text("look"),
            image("image/png"),
            image("image/x"),
        ]),
        answer(
            vec![
                thinking("Hm."),
                text("Looking."),
                call("a", "look", r#"{"at":"Zürich"}"#),
                call("b", "look", "[1]"),
                call("c", "", "{}"),
            ],
            None,
        ),
        result("a", vec![ContentBlock::text("fog"), image("image/png"), ContentBlock::text("sun")]),
        result("b", Vec::new()),
        user(vec![ContentBlock::text("and")]),
        user(vec![ContentBlock::text("now?")]),
        answer(vec![text(" ")], None),
        answer(vec![thinking("Only thinking.")], Some(r#"{"field":"reasoning"}"#)),
        user(vec![ContentBlock::text("so?")]),
    ];
    let tools = [tool()];
    let body = written(&format("compatible", "m"), &request(&conversation, &tools));
    assert_snapshot!(serde_json::to_string_pretty(&body).unwrap());
}

#[test]
fn reasoning_goes_back_in_its_field() {
    let said = vec![thinking("a"), text("One, "), thinking("b"), text("two.")];
    let mut lines = String::new();
    for field in ["reasoning_content", "reasoning", "reasoning_text", "content"] {
        let native = format!(r#"{{"field":"{field}"}}"#);
        let turn = [answer(said.clone(), Some(&native)), user(vec![ContentBlock::text("so?")])];
        lines += &messages("compatible", "m", &turn);
        lines.push('\n');
    }
    assert_snapshot!(lines);
}

#[test]
fn details_get_their_text_back() {
    let native = concat!(
        r#"{"field":"reasoning","details":[{"text":["text",2],"fields":{"type":"reasoning.text","index":0,"signature":"s"}},"#,
        r#"{"text":["text",3],"fields":{"type":"reasoning.text","index":1}},"#,
        r#"{"fields":{"type":"reasoning.encrypted","data":"x"}}],"calls":{"0":{"extra_content":{"s":1}}}}"#
    );
    let turn = |first: &str| {
        let said = vec![thinking(first), text("Hi"), thinking("me"), call("a", "look", "{}")];
        [answer(said, Some(native)), result("a", Vec::new())]
    };
    let mut lines = messages("openrouter", "m", &turn("Let"));
    // The thinking was changed.
    lines += "\n";
    lines += &messages("openrouter", "m", &turn("Let us"));
    assert_snapshot!(lines);
}

#[test]
fn deepseek_requires_reasoning_content() {
    let turn = [
        answer(vec![thinking("Hm."), text("Hi")], None),
        user(vec![image("image/png")]),
        answer(vec![thinking("Hm."), text("Hi")], Some(r#"{"field":"reasoning_content"}"#)),
        user(vec![ContentBlock::text("so?")]),
    ];
    let lines = messages("deepseek", "deepseek-chat", &turn);
    assert_snapshot!(lines);
    let at_host = ChatCompletions::new("compatible", "api.deepseek.com", "m", CatalogEntry::default());
    let empty = |format: &ChatCompletions| {
        let body = written(format, &request(&turn, &[])).to_string();
        body.contains(r#""reasoning_content":"""#)
    };
    assert!(empty(&at_host));
    for (provider, model, expect) in [
        ("moonshot", "kimi-k3", true),
        ("compatible", "accounts/fireworks/models/kimi-k3", true),
        ("openrouter", "moonshotai/kimi-k2.6", true),
        ("xiaomimimo", "mimo-v2.5", true),
        ("moonshot", "kimi-k2.6", false),
        ("openai-chat", "gpt-4o", false),
    ] {
        assert_eq!(empty(&format(provider, model)), expect, "{provider} {model}");
    }
}

#[test]
fn mistral_gets_its_ids_and_an_answer_after_results() {
    let turn = [
        answer(vec![call("call_0123456789", "look", "{}"), call("abc123XYZ", "look", "{}")], None),
        result("call_0123456789", vec![image("image/png")]),
        result("abc123XYZ", vec![ContentBlock::text("fog")]),
        user(vec![ContentBlock::text("stop")]),
    ];
    assert_snapshot!(messages("mistral", "mistral-medium-latest", &turn));
}

#[test]
fn an_answer_after_results_is_not_cached_without_its_message() {
    let format = format("mistral", "devstral-small");
    let mut conversation = vec![
        user(vec![ContentBlock::text("look")]),
        answer(vec![call("abc123XYZ", "look", "{}")], None),
        result("abc123XYZ", vec![ContentBlock::text("fog")]),
        user(vec![ContentBlock::text("stop")]),
    ];
    let mut cache = TurnCache::default();
    let mut body = |messages: &[Message]| {
        let body = RequestBody::write(&format, &request(messages, &[]), "here", &mut cache).unwrap();
        String::from_utf8(body.pieces.concat()).unwrap()
    };
    assert!(body(&conversation).contains("(interrupted)"));
    conversation.insert(3, answer(vec![text("Fog.")], None));
    assert!(!body(&conversation).contains("(interrupted)"));
    conversation.remove(3);
    assert!(body(&conversation).contains("(interrupted)"));
}

#[test]
fn results_of_llama_cpp_have_images() {
    let turn = [
        answer(vec![call("a", "look", "{}")], None),
        result("a", vec![ContentBlock::text("a map"), image("image/png")]),
    ];
    assert_snapshot!(messages("llama.cpp", "qwen-vl", &turn));
}

#[test]
fn called_tools_are_defined_but_cannot_be_called() {
    let turn = [answer(vec![call("a", "look", "{}")], None), result("a", Vec::new())];
    let body = written(&format("openai-chat", "gpt-4.1"), &request(&turn, &[]));
    assert_eq!(body["tool_choice"], "none", "{body}");
    assert_eq!(body["tools"][0]["function"]["name"], "look", "{body}");
}

#[track_caller]
fn check_head(provider: &str, model: &str, thinking: Option<ThinkingOption>, expect: &str) {
    let messages = [user(vec![ContentBlock::text("hi")])];
    let entry = CatalogEntry { tools_need_thinking_off: model == "gpt-6-sol", ..CatalogEntry::default() };
    let tools = [tool()];
    let request = WireRequest { model, thinking, ..request(&messages, &tools) };
    let mut body = written(&format_of(provider, model, entry), &request);
    let fields = body.as_object_mut().unwrap();
    for field in ["messages", "model", "stream", "tools"] {
        assert!(fields.remove(field).is_some(), "{field}");
    }
    let expect: serde_json::Value = serde_json::from_str(expect).unwrap();
    assert_eq!(body, expect, "{provider} {model}");
}

#[test]
fn options_of_each_server() {
    let usage = r#""stream_options":{"include_usage":true}"#;
    check_head("openai-chat", "gpt-4.1", None, &format!(r#"{{"max_tokens":9000,{usage}}}"#));
    check_head("openai-chat", "gpt-5.6", None, &format!(r#"{{"max_completion_tokens":9000,{usage}}}"#));
    check_head("openai-chat", "openai/gpt-5.6", None, &format!(r#"{{"max_tokens":9000,{usage}}}"#));
    check_head("vllm", "gpt-5.6", None, &format!(r#"{{"max_tokens":9000,{usage}}}"#));
    check_head("openrouter", "a/b", None, r#"{"max_tokens":9000}"#);
    check_head("mistral", "mistral-medium", None, r#"{"max_tokens":9000}"#);
    let high = Some(ThinkingOption::Effort("high"));
    check_head("mistral", "mistral-medium", high, r#"{"max_tokens":9000,"reasoning_effort":"high"}"#);
    check_head("openrouter", "a/b", high, r#"{"max_tokens":9000,"reasoning":{"effort":"high"}}"#);
    check_head("openai-chat", "gpt-4.1", high, &format!(r#"{{"max_tokens":9000,{usage}}}"#));
    // The model cannot call tools while it thinks, which it does by default.
    let none = format!(r#"{{"max_completion_tokens":9000,"reasoning_effort":"none",{usage}}}"#);
    check_head("openai-chat", "gpt-6-sol", None, &none);
}

#[test]
fn path_follows_the_base() {
    for base in ["/v1", "/v1/"] {
        assert_eq!(format("x", "m").path(base, "m"), "/v1/chat/completions");
    }
}
