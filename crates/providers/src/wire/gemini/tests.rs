//! Tests of the Gemini format: answers event by event, and requests of a conversation with every construct.

use super::*;
use crate::wire::ThinkingOption;
use crate::wire::test_support::{
    assistant_message, build_conversation, call_block, decode_answer, encode_request, image, request,
    result_message, text_block, thinking_block, tool, user_message,
};
use serde_json::{Value, json};

#[track_caller]
fn check(events: &[&str], expect: &str) {
    assert_eq!(decode_answer(GeminiContent::new("gemini-3-pro").decoder(), events), expect, "{events:#?}");
}

/// Decodes parts, each in an event of its own, with an end.
#[track_caller]
fn check_parts(parts: &[&str], expect: &str) {
    let events: Vec<String> = parts
        .iter()
        .map(|part| {
            format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}},"index":0}}]}}"#)
        })
        .chain([STOP.to_owned()])
        .collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let whole = decode_answer(GeminiContent::new("gemini-3-pro").decoder(), &events);
    assert_eq!(whole.split_once('\n').map_or("", |(_, parts)| parts), expect, "{parts:#?}");
}

const STOP: &str = r#"{"candidates":[{"finishReason":"STOP","index":0}]}"#;

#[test]
fn chunks_join_to_one_answer() {
    check(
        &[
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Let me ","thought":true}]},"index":0}],
                "usageMetadata":{"promptTokenCount":10,"totalTokenCount":10},"modelVersion":"m","responseId":"r"}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"see.","thought":true}, {"text":"The sky "}]}}]}"#,
            r#"{"responseId":"r"}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"is blue."}]},"finishReason":"STOP","safetyRatings":[]}],
                "usageMetadata":{"promptTokenCount":100,"toolUsePromptTokenCount":5,"cachedContentTokenCount":40,
                "candidatesTokenCount":7,"thoughtsTokenCount":3,"totalTokenCount":115,"promptTokensDetails":[]}}"#,
        ],
        "Some(End), 65 in, 10 out, 40 cached\nthinking \"Let me see.\"\ntext \"The sky is blue.\"\n\
         native [{\"part\":\"thought\"},{\"part\":\"text\"}]",
    );
}

#[test]
fn text_without_signature_has_no_native_form() {
    check_parts(&[r#"{"text":"Hello, "}"#, r#"{"text":"world"}"#, r#"{"text":""}"#], "text \"Hello, world\"");
}

#[test]
fn calls_are_complete_and_have_ids() {
    check(
        &[
            r#"{"candidates":[{"content":{"parts":[
                {"functionCall":{"id":"a","name":"read","args":{"n":9007199254740993}},"thoughtSignature":"c2ln"},
                {"functionCall":{"id":"a","name":"read","args":{}}},{"functionCall":{"name":"read"}},
                {"functionCall":{"args":{}}},{"functionCall":{"name":"read","args":"[1"}}]}}]}"#,
            STOP,
        ],
        "Some(ToolUse), 0 in, 0 out, 0 cached\ncall a read {\"n\":9007199254740993}\ncall (generated) read {}\n\
         call (generated) read {}\ncall (generated) read \"[1\"\n\
         native [{\"part\":\"call\",\"signature\":\"c2ln\"},{\"part\":\"call\"},{\"part\":\"call\"},{\"part\":\"call\"}]",
    );
}

#[test]
fn signatures_stay_with_their_parts() {
    let signed = r#"{"thoughtSignature":"c2ln"}"#;
    let text = r#"{"text":"a"}"#;
    // Behind text, in a part of its own, as streams end.
    check_parts(&[text, signed], "text \"a\"\nnative [{\"part\":\"text\",\"signature\":\"c2ln\"}]");
    check_parts(
        &[text, r#"{"text":"","thoughtSignature":"c2ln"}"#],
        "text \"a\"\nnative [{\"part\":\"text\",\"signature\":\"c2ln\"}]",
    );
    // Before the text.
    check_parts(&[signed, text], "text \"a\"\nnative [{\"part\":\"text\",\"signature\":\"c2ln\"}]");
    // Behind a call.
    check_parts(
        &[r#"{"functionCall":{"id":"x","name":"read"}}"#, signed],
        "call x read {}\nnative [{\"part\":\"call\",\"signature\":\"c2ln\"}]",
    );
    // Alone, and behind thinking.
    check_parts(&[signed], "native [{\"part\":\"empty_text\",\"signature\":\"c2ln\"}]");
    check_parts(
        &[r#"{"text":"t","thought":true}"#, r#"{"text":"","thoughtSignature":"c2ln"}"#],
        "thinking \"t\"\nnative [{\"part\":\"thought\"},{\"part\":\"empty_text\",\"signature\":\"c2ln\"}]",
    );
    // Two signed pieces remain two.
    check_parts(
        &[
            r#"{"text":"1","thought":true,"thoughtSignature":"b25l"}"#,
            r#"{"text":"2","thought":true,"thoughtSignature":"dHdv"}"#,
        ],
        "thinking \"1\"\nthinking \"2\"\n\
         native [{\"part\":\"thought\",\"signature\":\"b25l\"},{\"part\":\"thought\",\"signature\":\"dHdv\"}]",
    );
    check_parts(
        &[r#"{"text":"a","thoughtSignature":"b25l"}"#, signed],
        "text \"a\"\nnative [{\"part\":\"text\",\"signature\":\"b25l\"},{\"part\":\"empty_text\",\"signature\":\"c2ln\"}]",
    );
    check_parts(
        &[r#"{"fileData":{}}"#, signed],
        "native [{\"part\":{\"other\":{\"fileData\":{}}}},{\"part\":\"empty_text\",\"signature\":\"c2ln\"}]",
    );
    // The API would reject this one.
    check_parts(&[r#"{"text":"a","thoughtSignature":"not base64!"}"#], "text \"a\"");
}

#[test]
fn other_parts_are_kept_for_the_same_model() {
    check_parts(
        &[
            r#"{"text":"a"}"#,
            r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#,
            r#"{"text":7}"#,
            r#"{"text":"b"}"#,
            "null",
            "\"stray\"",
            r#"{"thought":false}"#,
        ],
        "text \"a\"\ntext \"b\"\nnative [{\"part\":\"text\"},{\"part\":{\"other\":{\"executableCode\":{\"language\":\"PYTHON\",\"code\":\"1\"}}}},\
         {\"part\":{\"other\":{\"text\":7}}},{\"part\":\"text\"}]",
    );
}

#[test]
fn the_last_finish_reason_counts() {
    let reason = |reason: &str| {
        format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}},"finishReason":{reason}}}]}}"#)
    };
    for (first, last, expect) in [
        ("\"STOP\"", "\"MAX_TOKENS\"", "Some(Length)"),
        ("\"OTHER\"", "\"STOP\"", "Some(End)"),
        ("\"MALFORMED_FUNCTION_CALL\"", "\"NEWER_THAN_THIS\"", "Some(End)"),
        ("\"STOP\"", "99", "Some(End)"),
        ("\"SAFETY\"", "\"STOP\"", "Refused(\"SAFETY\")"),
    ] {
        let whole = decode_answer(GeminiContent::new("m").decoder(), &[&reason(first), &reason(last)]);
        assert!(whole.starts_with(expect), "{first} {last}: {whole}");
    }
}

#[test]
fn refusals_and_missing_ends_fail_an_answer() {
    check(&[r#"{"candidates":[{"content":{"parts":[{"text":"Half"}]}}]}"#], "Truncated");
    check(
        &[r#"{"candidates":[{"content":{},"finishReason":"SAFETY","finishMessage":"Harmful."}]}"#],
        "Refused(\"SAFETY: Harmful.\")",
    );
    check(
        &[r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#],
        "Refused(\"MALFORMED_FUNCTION_CALL\")",
    );
    check(
        &[r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#],
        "Some(End), 0 in, 0 out, 0 cached",
    );
    check(
        &[
            r#"{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[{"category":"HARM","probability":"HIGH"}]}}"#,
        ],
        "error None Some(\"SAFETY\") the prompt was blocked: HARM HIGH",
    );
    check(&[r#"{"promptFeedback":{"blockReason":7}}"#], "error None Some(\"7\") the prompt was blocked");
    check(
        &[r#"{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"}}"#, STOP],
        "Some(End), 0 in, 0 out, 0 cached",
    );
}

#[test]
fn errors_within_an_answer_have_their_status() {
    for (code, status) in
        [("429", "Some(429)"), ("200", "None"), ("\"503\"", "None"), ("-1", "None"), ("null", "None")]
    {
        let event = format!(r#"{{"error":{{"code":{code},"message":"m","status":"S"}}}}"#);
        check(&[&event], &format!("error {status} None {event}"));
    }
}

#[test]
fn unknown_events_and_counts_are_ignored() {
    check(
        &[
            r#"{"new":{"event":[1]}}"#,
            r#"{"candidates":null,"usageMetadata":{"promptTokenCount":"many"}}"#,
            r#"{"candidates":[]}"#,
            r#"{"candidates":[{"content":null}]}"#,
            r#"{"candidates":[{"content":{"parts":null}}]}"#,
            STOP,
        ],
        "Some(End), 0 in, 0 out, 0 cached",
    );
    let invalid = decode_answer(GeminiContent::new("m").decoder(), &[r#"{"candidates":7}"#]);
    assert!(invalid.starts_with("Invalid("), "{invalid}");
}

#[test]
fn writes_every_construct_for_gemini_3() {
    let (messages, tools) = (build_conversation(), [tool()]);
    let request = WireRequest {
        max_tokens: Some(1_000),
        temperature: Some(0.5),
        top_p: None,
        stop: &[],
        tool_choice: None,
        output: None,
        thinking: Some(ThinkingOption::Effort("high")),
        model: "gemini-3-pro",
        ..request(&messages, &tools)
    };
    let body = encode_request(&GeminiContent::new("gemini-3-pro"), &request);
    let mut body = serde_json::to_string_pretty(&body).unwrap();
    // The hash of a changed id may differ between versions of Rust.
    for (id, name) in [("toolu/b:ü", "CHANGED_ID"), (&"c".repeat(80), "SHORTENED_ID")] {
        body = body.replace(&*valid_id(id), name);
    }
    insta::assert_snapshot!(body);
}

#[test]
fn changed_ids_are_valid_and_distinct() {
    let ids = ["toolu/b", "toolu:b", "", "ü", &"c".repeat(65), &"c".repeat(66)];
    for (index, id) in ids.iter().enumerate() {
        let sent = valid_id(id);
        assert!(
            sent.len() <= MAX_ID && sent.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'),
            "{sent}"
        );
        assert!(ids[..index].iter().all(|other| valid_id(other) != sent), "{sent}");
    }
    assert_eq!(valid_id("call_a-B9"), "call_a-B9");
}

#[test]
fn older_models_have_no_ids_and_no_images_in_results() {
    let messages = build_conversation();
    let body = encode_request(&GeminiContent::new("gemini-2.5-pro"), &request(&messages, &[]));
    insta::assert_json_snapshot!(body);
}

#[test]
fn the_same_model_gets_its_parts_back() {
    let native = r#"[{"part":"thought","signature":"b25l"},{"part":"text"},{"part":"call"},{"part":"call","signature":"dHdv"},
        {"part":{"other":{"executableCode":{"code":"1"}}}},{"part":"empty_thought","signature":"dA=="},{"part":"empty_text","signature":"c2ln"}]"#;
    let said = vec![thinking_block("Hm."), text_block("Look"), call_block("a", "{}"), call_block("b", "{}")];
    let ask = user_message(vec![ContentBlock::text("hi")]);
    let answered = [
        result_message("a", vec![ContentBlock::text("x")], false),
        result_message("b", vec![image("image/gif")], false),
    ];
    let parts = |model: &str, said: Vec<_>| {
        let messages = [vec![ask.clone(), assistant_message(said, Some(native))], answered.to_vec()].concat();
        encode_request(&GeminiContent::new(model), &request(&messages, &[tool()]))["contents"][1]["parts"]
            .clone()
    };
    let expect = json!([
        {"text": "Hm.", "thought": true, "thoughtSignature": "b25l"},
        {"text": "Look"},
        {"functionCall": {"id": "a", "name": "read", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"},
        {"functionCall": {"id": "b", "name": "read", "args": {}}, "thoughtSignature": "dHdv"},
        {"executableCode": {"code": "1"}},
        {"text": "", "thought": true, "thoughtSignature": "dA=="},
        {"text": "", "thoughtSignature": "c2ln"},
    ]);
    assert_eq!(parts("gemini-3-pro", said.clone()), expect);
    let older = parts("gemini-2.5-pro", said.clone());
    assert_eq!(older[2], json!({"functionCall": {"name": "read", "args": {}}}));
    assert_eq!(older[3]["thoughtSignature"], "dHdv");
    // A changed message does not match its native form.
    let changed = parts("gemini-3-pro", said[1..].to_vec());
    assert_eq!(changed[0], json!({"text": "Look"}));
    assert_eq!(changed.as_array().map(Vec::len), Some(3));
}

#[test]
fn head_has_at_least_a_configuration() {
    let messages = [user_message(vec![ContentBlock::text("hi")])];
    let request = WireRequest { system: " ", ..request(&messages, &[]) };
    let expect: Value =
        json!({"generationConfig": {}, "contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    assert_eq!(encode_request(&GeminiContent::new("m"), &request), expect);
}

#[test]
fn prefix_of_models_is_accepted() {
    let path = GeminiContent::new("m").path("/proxy/", "models/gemini-3-pro");
    assert_eq!(path, "/proxy/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse");
}
