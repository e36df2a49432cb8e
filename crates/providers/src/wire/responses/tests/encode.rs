//! Requests, byte by byte.

use std::sync::Arc;

use haft_core::tool::{ToolOwner, ToolSpec};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, ToolCall};
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, NativeMessage, ToolMessage};

use crate::wire::responses::{OpenAiResponses, call_id};
use crate::wire::test_support::{
    image, text_block as text, thinking_block as thinking, time, user_message as user,
};
use crate::wire::{ModelQuirks, RequestBody, ThinkingOption, TurnCache, WireFormat, WireRequest};

const ORIGIN: &str = "openai/m";

fn request(messages: &[Message]) -> WireRequest<'_> {
    WireRequest {
        model: "m",
        system: "",
        messages,
        tools: &[],
        max_tokens: None,
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

fn written(request: &WireRequest<'_>) -> String {
    let body = RequestBody::write(&OpenAiResponses, request, ORIGIN, &mut TurnCache::default()).unwrap();
    let bytes = body.pieces.concat();
    serde_json::from_slice::<serde_json::Value>(&bytes).expect("valid JSON");
    String::from_utf8(bytes).unwrap()
}

/// Checks the items of a conversation.
#[track_caller]
fn check(messages: &[Message], expect: &[&str]) {
    let body = written(&request(messages));
    let (_, items) = body.split_once(r#""input":["#).unwrap();
    assert_eq!(items, format!("{}]}}", expect.join(",")));
}

#[track_caller]
fn check_head(request: &WireRequest<'_>, expect: &str) {
    let body = written(request);
    assert_eq!(body.split_once(r#","input":["#).unwrap().0, expect);
}

fn hello() -> Message {
    user(vec![ContentBlock::text("Hi.")])
}

const HELLO: &str = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}"#;

fn call(id: &str, name: &str, args: &str) -> AssistantBlock {
    let args = RawJson::parse(args).unwrap();
    AssistantBlock::ToolCall(ToolCall { id: ToolCallId::new(id), name: name.into(), args })
}

fn answer(content: Vec<AssistantBlock>, origin: &str, native: &str) -> Message {
    let data = RawJson::parse(native).unwrap();
    let native = Some(NativeMessage::new(origin, data));
    Message::Assistant(AssistantMessage::new(content, time()).with_native(native))
}

fn foreign(content: Vec<AssistantBlock>) -> Message {
    answer(content, "anthropic/claude", r#"["text"]"#)
}

fn result(id: &str, content: Vec<ContentBlock>) -> Message {
    Message::Tool(ToolMessage::new(ToolCallId::new(id), "weather", content, time()))
}

#[test]
fn the_head_has_only_what_is_set() {
    let messages = [hello()];
    let plain = request(&messages);
    let common = r#"{"model":"m","stream":true,"store":false"#;
    let include = r#""include":["reasoning.encrypted_content"]"#;
    check_head(&plain, &format!("{common},{include}"));
    let tools = [Arc::new(ToolSpec::new("weather", "Tells the weather.").with_owner(ToolOwner::BuiltIn))];
    let full = WireRequest {
        system: " Be \"terse\".\n",
        tools: &tools,
        max_tokens: Some(9_000),
        temperature: Some(0.5),
        top_p: None,
        stop: &[],
        tool_choice: None,
        output: None,
        thinking: Some(ThinkingOption::Effort("high")),
        ..request(&messages)
    };
    let tool = r#"{"type":"function","name":"weather","description":"Tells the weather.","parameters":{"type":"object","properties":{}},"strict":false}"#;
    check_head(
        &full,
        &format!(
            r#"{common},{include},"instructions":"Be \"terse\".","tools":[{tool}],"max_output_tokens":9000,"temperature":0.5,"reasoning":{{"effort":"high"}}"#
        ),
    );
}

#[test]
fn thinking_options_follow_the_model() {
    let messages = [hello()];
    let head = |thinking, never_thinks, max_tokens| {
        let quirks = ModelQuirks { never_thinks, ..ModelQuirks::default() };
        let body = written(&WireRequest { thinking, quirks, max_tokens, ..request(&messages) });
        let (head, _) = body.split_once(r#","input":["#).unwrap();
        head.strip_prefix(r#"{"model":"m","stream":true,"store":false"#).unwrap().to_owned()
    };
    let include = r#","include":["reasoning.encrypted_content"]"#;
    assert_eq!(
        head(Some(ThinkingOption::Off), false, None),
        format!(r#"{include},"reasoning":{{"effort":"none"}}"#)
    );
    assert_eq!(head(Some(ThinkingOption::Budget(9)), false, None), include);
    assert_eq!(head(Some(ThinkingOption::Off), true, None), "");
    assert_eq!(head(None, true, Some(1)), r#","max_output_tokens":16"#, "the least that the API accepts");
}

#[test]
fn users_send_texts_and_images() {
    check(
        &[
            user(vec![ContentBlock::text(" "), ContentBlock::text("Look."), image("image/png")]),
            user(vec![ContentBlock::text("\n")]),
            user(vec![image("image/heic")]),
        ],
        &[
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,aW1hZ2U="},{"type":"input_text","text":"(an image of type image/heic that cannot be shown)"}]}"#,
        ],
    );
}

#[test]
fn results_are_texts_or_lists_with_images() {
    check(
        &[
            hello(),
            foreign(["a", "b", "c", "d"].map(|id| call(id, "weather", "{}")).into()),
            result("a", vec![ContentBlock::text("fog")]),
            result("b", Vec::new()),
            result("c", vec![ContentBlock::text("map"), image("image/jpeg")]),
            result("d", vec![image("image/svg+xml")]),
        ],
        &[
            HELLO,
            r#"{"type":"function_call","call_id":"a","name":"weather","arguments":"{}"}"#,
            r#"{"type":"function_call","call_id":"b","name":"weather","arguments":"{}"}"#,
            r#"{"type":"function_call","call_id":"c","name":"weather","arguments":"{}"}"#,
            r#"{"type":"function_call","call_id":"d","name":"weather","arguments":"{}"}"#,
            r#"{"type":"function_call_output","call_id":"a","output":"fog"}"#,
            r#"{"type":"function_call_output","call_id":"b","output":"(no output)"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"map"},{"type":"input_image","detail":"auto","image_url":"data:image/jpeg;base64,aW1hZ2U="}]}"#,
            r#"{"type":"function_call_output","call_id":"d","output":"(an image of type image/svg+xml that cannot be shown)"}"#,
        ],
    );
}

#[test]
fn answers_of_other_models_keep_their_texts_and_calls() {
    let content = vec![thinking("Hm."), text("Looking."), text(" "), call("call_1", "weather", "[1]")];
    check(
        &[hello(), foreign(content), result("call_1", Vec::new()), foreign(vec![text("")]), hello()],
        &[
            HELLO,
            r#"{"type":"message","role":"assistant","content":"Hm."}"#,
            r#"{"type":"message","role":"assistant","content":"Looking."}"#,
            r#"{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{}"}"#,
            r#"{"type":"function_call_output","call_id":"call_1","output":"(no output)"}"#,
            HELLO,
        ],
    );
}

#[test]
fn the_same_model_gets_its_items_back() {
    let native = r#"[
        {"summary":{"id":"rs_1","encrypted_content":"a","format":"v1"}},
        {"text":{"id":"msg_1","phase":"commentary"}},
        {"encrypted":{"id":"rs_2","encrypted_content":"b"}},
        {"call":{"id":"fc_1"}},
        {"other":{"type":"web_search_call","id":"ws_1"}},
        {"thinking":{"id":"rs_3"}},
        {"call":{}},
        "omitted",
        {"text":{"phase":"final_answer"}},
        {"refusal":{"id":"msg_2"}}
    ]"#;
    let content = vec![
        thinking("Hm."),
        text("Looking."),
        call("call_1", "weather", r#"{"city":"Z\u00fcrich"}"#),
        thinking("So."),
        call("call_2", "weather", "{}"),
        thinking("Lost."),
        text("Done."),
        text("No."),
    ];
    check(
        &[
            hello(),
            answer(content, ORIGIN, native),
            result("call_1", Vec::new()),
            result("call_2", Vec::new()),
        ],
        &[
            HELLO,
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"a","format":"v1","id":"rs_1"}"#,
            r#"{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Looking.","annotations":[]}],"id":"msg_1","phase":"commentary"}"#,
            r#"{"type":"reasoning","summary":[],"encrypted_content":"b","id":"rs_2"}"#,
            r#"{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"city\":\"Z\\u00fcrich\"}","id":"fc_1"}"#,
            r#"{"type":"web_search_call","id":"ws_1"}"#,
            r#"{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"So."}],"id":"rs_3"}"#,
            r#"{"type":"function_call","call_id":"call_2","name":"weather","arguments":"{}"}"#,
            r#"{"type":"message","role":"assistant","content":"Done.","phase":"final_answer"}"#,
            r#"{"type":"message","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"No."}],"id":"msg_2"}"#,
            r#"{"type":"function_call_output","call_id":"call_1","output":"(no output)"}"#,
            r#"{"type":"function_call_output","call_id":"call_2","output":"(no output)"}"#,
        ],
    );
}

#[test]
fn a_changed_answer_is_sent_without_its_native_form() {
    let native = r#"[{"summary":{"id":"rs_1","encrypted_content":"a"}},{"text":{"id":"msg_1"}}]"#;
    let plain = r#"{"type":"message","role":"assistant","content":"Edited."}"#;
    for native in [native, r#"[{"text":{"id":"msg_1"}},{"text":{"id":"msg_2"}}]"#, r#"{"role":"old"}"#, "[]"]
    {
        check(&[hello(), answer(vec![text("Edited.")], ORIGIN, native), hello()], &[HELLO, plain, HELLO]);
    }
}

#[test]
fn ids_of_calls_have_a_form_that_the_api_accepts() {
    for id in ["call_1", "toolu_01-A", &"a".repeat(64)] {
        assert_eq!(call_id(id), id);
    }
    let long = "a".repeat(65);
    let odd = ["functions.read:0", "functions.read:1", "call_1|fc_1", &long, "天", ""];
    let ids: std::collections::BTreeSet<_> = odd[..5].iter().map(|id| call_id(id)).collect();
    assert_eq!(ids.len(), 5, "{ids:?}");
    for id in ids {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        assert!(id.len() <= 64 && id.bytes().all(valid), "{id}");
    }
}

#[test]
fn the_path_is_below_the_base() {
    assert_eq!(OpenAiResponses.path("/v1", "m"), "/v1/responses");
    assert_eq!(OpenAiResponses.path("/openai/v1/", "m"), "/openai/v1/responses");
}
