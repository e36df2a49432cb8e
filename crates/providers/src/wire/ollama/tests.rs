//! Tests of the Ollama format: answers event by event, and requests of a conversation with every construct.

use super::*;
use crate::wire::test_support::{
    assistant_message, build_conversation, call_block, decode_answer, encode_request, request, text_block,
    thinking_block, tool, user_message,
};

#[track_caller]
fn check(lines: &[&str], expect: &str) {
    assert_eq!(decode_answer(OllamaChat.decoder(), lines), expect, "{lines:#?}");
}

const DONE: &str = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",
    "total_duration":100,"prompt_eval_count":12,"prompt_eval_cached_count":4,"eval_count":7}"#;

#[test]
fn lines_join_to_one_text() {
    check(
        &[
            r#"{"model":"m","created_at":"T","message":{"role":"assistant","content":"The sky "},"done":false}"#,
            r#"{"message":{"role":"assistant","content":"is blue."},"done":false}"#,
            DONE,
        ],
        "Some(End), 8 in, 7 out, 4 cached\ntext \"The sky is blue.\"",
    );
}

#[test]
fn thinking_is_noted_as_the_models_own() {
    check(
        &[
            r#"{"message":{"role":"assistant","content":"","thinking":"Rayleigh "}}"#,
            r#"{"message":{"role":"assistant","content":"","thinking":"scattering."}}"#,
            r#"{"message":{"role":"assistant","content":"<think>Blue.</think>"}}"#,
            DONE,
        ],
        "Some(End), 8 in, 7 out, 4 cached\nthinking \"Rayleigh scattering.\"\ntext \"<think>Blue.</think>\"\nnative true",
    );
    check(
        &[
            r#"{"message":{"role":"assistant","content":"<think>Hm.</thi"}}"#,
            r#"{"message":{"role":"assistant","content":"nk>Blue."}}"#,
            r#"{"done":true}"#,
        ],
        "Some(End), 0 in, 0 out, 0 cached\nthinking \"Hm.\"\ntext \"Blue.\"\nnative true",
    );
}

#[test]
fn calls_have_ids_and_arguments_in_any_form() {
    check(
        &[
            r#"{"message":{"content":"Calling.","tool_calls":[{"id":"a","function":{"index":0,"name":"read","arguments":{"path":"x"}}}]}}"#,
            r#"{"message":{"content":"","tool_calls":[
                {"id":"a","function":{"name":"read","arguments":"{\"path\":\"y\"}"}},
                {"function":{"name":"read"}},{"function":{"name":"read","arguments":null}},
                {"function":{"name":"read","arguments":"{\"path"}},
                {"function":{"arguments":{}}},{"function":{"name":""}},"call"]}}"#,
            r#"{"message":{"content":"Done."}}"#,
            DONE,
        ],
        "Some(ToolUse), 8 in, 7 out, 4 cached\ntext \"Calling.\"\ncall a read {\"path\":\"x\"}\ncall (generated) read {\"path\":\"y\"}\n\
         call (generated) read {}\ncall (generated) read {}\ncall (generated) read \"{\\\"path\"\ntext \"Done.\"",
    );
}

#[test]
fn stop_reasons_and_usage_never_fail_an_answer() {
    for (reason, expect) in [("length", "Length"), ("stop", "End"), ("unload", "End")] {
        let done = format!(r#"{{"done":true,"done_reason":"{reason}","eval_count":-1}}"#);
        check(
            &[
                r#"{"message":{"content":"Half"}}"#,
                r#"{"status":"ok"}"#,
                &done,
                r#"{"message":{"content":"late"}}"#,
            ],
            &format!("Some({expect}), 0 in, 0 out, 0 cached\ntext \"Half\""),
        );
    }
}

#[test]
fn errors_and_missing_ends_fail_an_answer() {
    let half = r#"{"message":{"content":"Half"},"error":null}"#;
    check(&[half, r#"{"error":"out of memory"}"#], r#"error None None {"error":"out of memory"}"#);
    check(&[half], "Truncated");
    check(&[], "Truncated");
    let invalid = decode_answer(OllamaChat.decoder(), &[half, "{not json"]);
    assert!(invalid.starts_with("Invalid("), "{invalid}");
}

#[test]
fn writes_every_construct() {
    let (messages, tools) = (build_conversation(), [tool()]);
    let request = WireRequest {
        max_tokens: Some(1_000),
        temperature: Some(0.5),
        top_p: None,
        stop: &[],
        tool_choice: None,
        output: None,
        window: Some(65_536),
        thinking: Some(ThinkingOption::Effort("xhigh")),
        ..request(&messages, &tools)
    };
    insta::assert_json_snapshot!(encode_request(&OllamaChat, &request));
}

#[test]
fn returns_own_thinking_in_its_field() {
    let messages = [
        user_message(vec![ContentBlock::text("hi")]),
        assistant_message(
            vec![thinking_block("Hm."), text_block("One."), call_block("a", "{}"), text_block("Two.")],
            Some("true"),
        ),
    ];
    let body = encode_request(&OllamaChat, &request(&messages, &[]));
    let expect = r#"{"role":"assistant","content":"One.\nTwo.","thinking":"Hm.","tool_calls":[{"id":"a","function":{"name":"read","arguments":{}}}]}"#;
    assert_eq!(body["messages"][2], serde_json::from_str::<serde_json::Value>(expect).unwrap());
    assert!(body.get("options").is_none() && body.get("think").is_none() && body.get("tools").is_none());
}

#[test]
fn thinking_levels_become_the_nearest() {
    use ThinkingOption::{Budget, Effort, Off};
    for (option, expect) in [
        (Off, "false"),
        (Effort("minimal"), "\"low\""),
        (Effort("medium"), "\"medium\""),
        (Effort("xhigh"), "\"high\""),
        (Effort("max"), "\"max\""),
        (Budget(1), "null"),
    ] {
        assert_eq!(serde_json::to_string(&thinking_value(option)).unwrap(), expect, "{option:?}");
    }
}
