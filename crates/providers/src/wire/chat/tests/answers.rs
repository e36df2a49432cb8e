//! Tests of answers, decoded event by event.

use std::fmt::Write as _;

use haft_core::model::ModelEvent;
use haft_protocol::message::AssistantBlock;

use super::format;
use crate::wire::{AnswerBuilder, AnswerError, WireFormat};

/// The end of an answer.
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// Returns the event of a piece of the message.
fn delta(delta: &str) -> String {
    format!(
        r#"{{"object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    )
}

/// Returns the event of a piece of calls.
fn calls(pieces: &str) -> String {
    delta(&format!(r#"{{"tool_calls":[{pieces}]}}"#))
}

fn decode(events: &[String]) -> Result<AnswerBuilder, AnswerError> {
    let mut decoder = format("openrouter", "m").decoder();
    let mut answer = AnswerBuilder::default();
    for event in events {
        decoder.read_event(event, &mut answer)?;
    }
    decoder.finish(&mut answer)?;
    answer.end_calls();
    Ok(answer)
}

/// Returns the blocks of an answer, and its native form. A generated id is `?`.
fn summary(mut answer: AnswerBuilder) -> String {
    let mut text = String::new();
    for block in answer.take_blocks() {
        let _ = match block {
            AssistantBlock::Text { text: said } => writeln!(text, "text {said}"),
            AssistantBlock::Thinking { text: thought } => writeln!(text, "thinking {thought}"),
            AssistantBlock::ToolCall(call) => {
                let id = call.id.as_str();
                let id = if id.starts_with("call_") && id.len() == 21 { "?" } else { id };
                writeln!(text, "call {id} {} {}", call.name, call.args.as_str())
            }
        };
    }
    if let Some(native) = &answer.native {
        let _ = writeln!(text, "native {}", native.as_str());
    }
    text
}

#[track_caller]
fn check(events: &[String], expect: &str) {
    let mut events = events.to_vec();
    events.push(STOP.to_owned());
    events.push("[DONE]".to_owned());
    assert_eq!(summary(decode(&events).unwrap()).trim_end(), expect);
}

#[test]
fn text_and_refusals_are_text() {
    check(
        &[
            delta(r#"{"role":"assistant","content":""}"#),
            delta(r#"{"content":"Hel"}"#),
            delta(r#"{"content":"lo\n"}"#),
        ],
        "text Hello",
    );
    check(&[delta(r#"{"content":null,"refusal":"I can't."}"#)], "text I can't.");
    check(&[delta(r#"{"content":[{"type":"text","text":"a"},{"text":"b"}]}"#)], "text ab");
    check(&[delta(r#"{"content":{"type":"refusal","refusal":"No."}}"#)], "text No.");
    check(
        &[delta(r#"{"content":42}"#), delta(r#"{"content":[{"type":"reference","reference_ids":[1]}]}"#)],
        "",
    );
}

#[test]
fn thinking_keeps_its_field() {
    for (name, field) in [
        ("reasoning_content", "reasoning_content"),
        ("reasoning", "reasoning"),
        ("reasoning_text", "reasoning_text"),
    ] {
        let pieces =
            [r#""a ""#, r#""b""#].map(|piece| delta(&format!(r#"{{"{name}":{piece},"content":null}}"#)));
        let mut events = pieces.to_vec();
        events.push(delta(r#"{"content":"Hi"}"#));
        check(&events, &format!("thinking a b\ntext Hi\nnative {{\"field\":\"{field}\"}}"));
    }
    let twice = delta(r#"{"reasoning":"a","reasoning_content":"a"}"#);
    check(&[twice], "thinking a\nnative {\"field\":\"reasoning_content\"}");
}

#[test]
fn thinking_parts_of_mistral_keep_their_place() {
    let part = |text: &str| {
        format!(r#"{{"content":[{{"type":"thinking","thinking":[{{"type":"text","text":"{text}"}}]}}]}}"#)
    };
    check(
        &[delta(&part("plan ")), delta(&part("it")), delta(r#"{"content":"Hi"}"#)],
        "thinking plan it\ntext Hi\nnative {\"field\":\"content\"}",
    );
    check(
        &[delta(r#"{"content":[{"type":"thinking","thinking":"plan"}]}"#)],
        "thinking plan\nnative {\"field\":\"content\"}",
    );
}

#[test]
fn reasoning_details_do_not_repeat_the_thinking() {
    let piece = |text: &str, more: &str| {
        delta(&format!(
            r#"{{"reasoning":"{text}","reasoning_details":[{{"type":"reasoning.text","text":"{text}","index":0{more}}}]}}"#
        ))
    };
    let signature = delta(r#"{"reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0}]}"#);
    check(
        &[
            piece("Let ", r#","signature":null"#),
            piece("me.", r#","format":"anthropic-claude-v1""#),
            delta(r#"{"content":"Hi"}"#),
            signature,
        ],
        concat!(
            "thinking Let me.\ntext Hi\nnative ",
            r#"{"field":"reasoning","details":[{"text":["text",7],"fields":{"format":"anthropic-claude-v1","#,
            r#""index":0,"signature":"sig","type":"reasoning.text"}}]}"#
        ),
    );
}

#[test]
fn encrypted_reasoning_is_kept_whole() {
    let summary = |text: &str| {
        format!(
            r#"{{"type":"reasoning.summary","summary":"{text}","format":"openai-responses-v1","index":0}}"#
        )
    };
    let encrypted = r#"{"type":"reasoning.encrypted","data":"gAAA","id":"rs_1","index":0}"#;
    check(
        &[
            delta(&format!(r#"{{"reasoning":"Weigh","reasoning_details":[{}]}}"#, summary("Weigh"))),
            delta(&format!(r#"{{"reasoning":"ing","reasoning_details":[{}]}}"#, summary("ing"))),
            delta(&format!(r#"{{"reasoning_details":[{encrypted}]}}"#)),
        ],
        concat!(
            "thinking Weighing\nnative ",
            r#"{"field":"reasoning","details":[{"text":["summary",8],"fields":{"format":"openai-responses-v1","index":0,"#,
            r#""type":"reasoning.summary"}},"#,
            r#"{"fields":{"data":"gAAA","id":"rs_1","index":0,"type":"reasoning.encrypted"}}]}"#
        ),
    );
    // A signature without thinking, as Gemini sends it.
    check(
        &[
            delta(r#"{"content":"Hi"}"#),
            delta(r#"{"content":"","reasoning_details":[{"type":"reasoning.text","signature":"s"}]}"#),
        ],
        "text Hi\nnative {\"details\":[{\"fields\":{\"signature\":\"s\",\"type\":\"reasoning.text\"}}]}",
    );
}

#[test]
fn details_with_other_text_keep_it() {
    check(
        &[delta(
            r#"{"reasoning":"short","reasoning_details":[{"type":"reasoning.text","text":"long","index":0}]}"#,
        )],
        concat!(
            "thinking short\nnative ",
            r#"{"field":"reasoning","details":[{"fields":{"index":0,"text":"long","type":"reasoning.text"}}]}"#
        ),
    );
    check(
        &[delta(r#"{"reasoning_details":[{"type":"reasoning.text","text":"only here","index":0}]}"#)],
        concat!(
            "thinking only here\nnative ",
            r#"{"field":"reasoning","details":[{"text":["text",9],"fields":{"index":0,"type":"reasoning.text"}}]}"#
        ),
    );
}

#[test]
fn parallel_calls_are_assembled() {
    check(
        &[
            delta(r#"{"content":"Looking."}"#),
            calls(r#"{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}"#),
            calls(r#"{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\""}}"#),
            calls(
                r#"{"index":0,"function":{"arguments":"{\"x\":"}},{"index":1,"function":{"arguments":":2}"}}"#,
            ),
            calls(r#"{"index":0,"id":null,"function":{"name":null,"arguments":"1}"}}"#),
        ],
        "text Looking.\ncall a f {\"x\":1}\ncall b g {\"y\":2}",
    );
}

#[test]
fn calls_survive_missing_and_repeated_fields() {
    // The id and the name in each piece.
    let repeated = |args: &str| {
        calls(&format!(r#"{{"index":0,"id":"a","function":{{"name":"f","arguments":"{args}"}}}}"#))
    };
    check(&[repeated("{"), repeated(r#"\"x\":1}"#), repeated("")], "call a f {\"x\":1}");
    // Another id in each piece.
    check(
        &[
            calls(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#),
            calls(r#"{"index":0,"id":"b","function":{"arguments":"}"}}"#),
        ],
        "call a f {}",
    );
    // The index 0 for all calls.
    let whole = |id: &str, name: &str| {
        calls(&format!(r#"{{"index":0,{id}"function":{{"name":"{name}","arguments":"{{}}"}}}}"#))
    };
    check(&[whole(r#""id":"a","#, "f"), whole(r#""id":"b","#, "g")], "call a f {}\ncall b g {}");
    check(&[whole(r#""id":"","#, "f"), whole("", "g")], "call ? f {}\ncall ? g {}");
    // No index.
    check(
        &[
            calls(
                r#"{"id":"a","function":{"name":"f","arguments":"{\"x\":"}},{"id":"b","function":{"name":"g"}}"#,
            ),
            calls(r#"{"id":"a","function":{"arguments":"1}"}}"#),
        ],
        "call a f {\"x\":1}\ncall b g {}",
    );
    // Neither index nor id.
    check(
        &[
            calls(r#"{"function":{"name":"f","arguments":"{\"q\":"}}"#),
            calls(r#"{"function":{"arguments":"\"}\"}"}}"#),
            calls(r#"{"function":{"name":"f","arguments":"{\"q\":2}"}}"#),
        ],
        "call ? f {\"q\":\"}\"}\ncall ? f {\"q\":2}",
    );
    // A number as id, an object as arguments.
    check(
        &[calls(r#"{"index":null,"id":42,"function":{"name":"f","arguments":{"x":1}}}"#)],
        "call 42 f {\"x\":1}",
    );
    // The name after the arguments, or never.
    check(
        &[
            calls(r#"{"index":0,"id":"a","function":{"arguments":"{\"x\""}}"#),
            calls(r#"{"index":0,"function":{"name":"f","arguments":":1}"}}"#),
            calls(r#"{"index":1,"id":"b","function":{"arguments":"{}"}}"#),
        ],
        "call a f {\"x\":1}",
    );
    // The same id twice.
    check(
        &[calls(
            r#"{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"a","function":{"name":"g"}}"#,
        )],
        "call a f {}\ncall ? g {}",
    );
}

#[test]
fn additional_fields_of_calls_are_native() {
    check(
        &[calls(
            r#"{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"},"extra_content":{"google":{"thought_signature":"s"}}}"#,
        )],
        "call a f {}\ncall b g {}\nnative {\"calls\":{\"1\":{\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}}}}",
    );
}

#[test]
fn a_complete_message_is_an_answer() {
    let message = concat!(
        r#"{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":"Hi","#,
        r#""reasoning_content":"Hm.","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}},"#,
        r#"{"function":{"name":"g","arguments":"{}"}}]}}]}"#
    );
    let answer = decode(&[message.to_owned()]).unwrap();
    assert_eq!(
        summary(answer).trim_end(),
        "thinking Hm.\ntext Hi\ncall a f {}\ncall ? g {}\nnative {\"field\":\"reasoning_content\"}"
    );
}

#[test]
fn other_choices_and_unknown_events_are_ignored() {
    check(
        &[
            r#"{"choices":[{"index":1,"delta":{"content":"B"}},{"index":0,"delta":{"content":"A"}}]}"#
                .to_owned(),
            r#"{"type":"future"}"#.to_owned(),
            r#""noise""#.to_owned(),
            r#"{"choices":"none","usage":7,"cost":[]}"#.to_owned(),
            r#"{"error":null,"choices":[]}"#.to_owned(),
        ],
        "text A",
    );
}

#[track_caller]
fn stops(reason: &str, expect: &str) {
    let end = format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#);
    let said = match decode(&[delta(r#"{"content":"Hi"}"#), end]) {
        Ok(answer) => format!("{:?}", answer.stop.unwrap()),
        Err(error) => format!("{error:?}"),
    };
    assert_eq!(said, expect, "{reason}");
}

#[test]
fn stop_reasons() {
    for reason in ["stop", "end_turn", "eos", "invented"] {
        stops(&format!("{reason:?}"), "End");
    }
    for reason in ["length", "max_tokens", "model_length", "model_context_window_exceeded"] {
        stops(&format!("{reason:?}"), "Length");
    }
    for reason in ["tool_calls", "function_call"] {
        stops(&format!("{reason:?}"), "ToolUse");
    }
    for reason in ["content_filter", "sensitive", "error", "insufficient_system_resource"] {
        stops(&format!("{reason:?}"), &format!("Refused({reason:?})"));
    }
    stops(r#"null,"native_finish_reason":"MAX_TOKENS""#, "Length");
    stops(r#""stop","native_finish_reason":"MAX_TOKENS""#, "End");
    stops(r#""""#, "Truncated");
    stops("null", "Truncated");
}

#[test]
fn calls_with_another_stop_reason_are_tool_use() {
    let call = calls(r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#);
    let answer = decode(&[call, STOP.to_owned()]).unwrap();
    assert_eq!(format!("{:?}", answer.stop), "Some(ToolUse)");
}

/// Checks `input output cache_read cache_write cost`.
#[track_caller]
fn counts(event: &str, expect: &str) {
    let answer = decode(&[STOP.to_owned(), event.to_owned()]).unwrap();
    let usage = answer.usage;
    let cost = answer.cost_usd.map_or("-".to_owned(), |cost| cost.to_string());
    let said = format!("{} {} {} {} {cost}", usage.input, usage.output, usage.cache_read, usage.cache_write);
    assert_eq!(said, expect, "{event}");
}

#[test]
fn usage_of_each_server() {
    counts(r#"{"choices":[],"usage":null}"#, "0 0 0 0 -");
    counts(
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        "6 5 4 0 -",
    );
    counts(
        r#"{"choices":[],"usage":{"prompt_tokens":10,"total_tokens":15,"num_cached_tokens":4}}"#,
        "6 5 4 0 -",
    );
    counts(
        r#"{"usage":{"prompt_tokens":10,"completion_tokens":5.0,"prompt_cache_hit_tokens":4}}"#,
        "6 5 4 0 -",
    );
    counts(
        r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":0.25,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":2}}}"#,
        "5 5 3 2 0.25",
    );
    counts(
        r#"{"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":1,"completion_tokens":2}}]}"#,
        "1 2 0 0 -",
    );
    counts(r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":1,"completion_tokens":2}}}"#, "1 2 0 0 -");
    counts(r#"{"choices":[],"usage":{"cost_in_usd_ticks":5000000000}}"#, "0 0 0 0 0.5");
    counts(r#"{"choices":[],"cost":{"usd":0.5}}"#, "0 0 0 0 0.5");
    counts(r#"{"choices":[],"cost":"0.5"}"#, "0 0 0 0 0.5");
    counts(
        r#"{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":"many","cost":-1}}"#,
        "0 0 0 0 -",
    );
}

#[track_caller]
fn fails(event: &str, status: Option<u16>) {
    match decode(&[delta(r#"{"content":"Hi"}"#), event.to_owned()]) {
        Err(AnswerError::Response(response)) => {
            assert_eq!(response.status, status, "{event}");
            assert!(response.body.contains("Too much"), "{event}: {}", response.body);
        }
        other => panic!("{event}: {other:?}"),
    }
}

#[test]
fn errors_within_an_answer() {
    fails(r#"{"error":{"message":"Too much","type":"server_error"}}"#, None);
    fails(r#"{"error":"Too much"}"#, None);
    fails(r#"{"error":{"message":"Too much","code":"rate_limit_exceeded"},"choices":[]}"#, None);
    fails(
        r#"{"error":{"code":502,"message":"Too much"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
        Some(502),
    );
    fails(
        r#"{"choices":[{"index":0,"delta":{},"error":{"code":"429","message":"Too much"},"finish_reason":"error"}]}"#,
        Some(429),
    );
    fails(r#"{"object":"error","message":"Too much","type":"BadRequestError","code":400}"#, None);
    let error = decode(&["{\"choices\":".to_owned()]).unwrap_err();
    assert!(matches!(error, AnswerError::Invalid(_)), "{error:?}");
}

#[test]
fn an_error_beside_content_is_not_one() {
    check(
        &[r#"{"error":{"message":"a warning"},"choices":[{"index":0,"delta":{"content":"Hi"}}]}"#.to_owned()],
        "text Hi",
    );
}

#[test]
fn calls_have_complete_events() {
    let mut answer = decode(&[
        calls(r#"{"index":0,"id":"a","function":{"arguments":"{"}}"#),
        calls(r#"{"index":0,"function":{"name":"f","arguments":"}"}}"#),
        STOP.to_owned(),
    ])
    .unwrap();
    let events: Vec<String> = std::iter::from_fn(|| answer.next_event())
        .map(|event| match event {
            ModelEvent::ToolCallStart { id, name } => format!("start {id} {name}"),
            ModelEvent::ToolCallArgs { id, delta } => format!("args {id} {delta}"),
            ModelEvent::ToolCallEnd { id } => format!("end {id}"),
            other @ (ModelEvent::Text(_)
            | ModelEvent::Thinking(_)
            | ModelEvent::Retry { .. }
            | ModelEvent::Fallback { .. }
            | ModelEvent::Answering(_)
            | ModelEvent::Done(_)
            | _) => format!("{other:?}"),
        })
        .collect();
    assert_eq!(events, ["start a f", "args a {", "args a }", "end a"]);
}
