//! Answers, event by event.

use std::fmt::Write;

use haft_core::model::ModelEvent;
use haft_protocol::message::AssistantBlock;

use crate::wire::responses::OpenAiResponses;
use crate::wire::{AnswerBuilder, AnswerError, WireFormat};

/// Decodes the events. Returns the blocks, the stop reason, the usage and the native form, one a line.
fn decode(events: &[&str]) -> Result<String, AnswerError> {
    let (mut decoder, mut answer) = (OpenAiResponses.decoder(), AnswerBuilder::default());
    for event in events {
        decoder.read_event(event, &mut answer)?;
    }
    decoder.finish(&mut answer)?;
    answer.end_calls();
    let mut streamed = (String::new(), String::new());
    while let Some(event) = answer.next_event() {
        if let ModelEvent::Text(text) = event {
            streamed.0.push_str(&text);
        } else if let ModelEvent::Thinking(text) = event {
            streamed.1.push_str(&text);
        }
    }
    let mut shown = String::new();
    let mut complete = (String::new(), String::new());
    for block in answer.take_blocks() {
        match block {
            AssistantBlock::Text { text } => {
                writeln!(shown, "text {text:?}").unwrap();
                complete.0.push_str(&text);
            }
            AssistantBlock::Thinking { text } => {
                writeln!(shown, "thinking {text:?}").unwrap();
                complete.1.push_str(&text);
            }
            AssistantBlock::ToolCall(call) => {
                writeln!(shown, "call {} {} {}", call.id, call.name, call.args).unwrap();
            }
        }
    }
    assert_eq!(streamed, complete, "the events have the text of the blocks");
    let usage = answer.usage;
    let stop = answer.stop.map(|stop| format!("{stop:?}")).unwrap_or_default();
    writeln!(shown, "{stop} {} {} {} {}", usage.input, usage.output, usage.cache_read, usage.cache_write)
        .unwrap();
    answer.cost_usd.iter().for_each(|cost| writeln!(shown, "cost {cost}").unwrap());
    answer.native.iter().for_each(|native| writeln!(shown, "native {native}").unwrap());
    Ok(shown)
}

#[track_caller]
fn check(events: &[&str], expect: &[&str]) {
    let found = decode(events).unwrap();
    assert_eq!(found.lines().collect::<Vec<_>>(), expect);
}

#[track_caller]
fn fails(events: &[&str]) -> String {
    format!("{:?}", decode(events).unwrap_err())
}

const CREATED: &str = r#"{"type":"response.created","response":{"id":"resp_1","output":[],"status":"in_progress","error":null,"usage":null}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"output":[]}}"#;
const MESSAGE: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}"#;
const CALL: &str = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"","status":"in_progress"}}"#;

#[test]
fn text_arrives_in_pieces() {
    check(
        &[
            CREATED,
            r#"{"type":"response.in_progress","response":{"id":"resp_1","status":"in_progress"}}"#,
            MESSAGE,
            r#"{"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}"#,
            r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Gr\u00fc","logprobs":[],"obfuscation":"xyz"}"#,
            r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"ße"}"#,
            r#"{"type":"response.output_text.annotation.added","item_id":"msg_1","output_index":0,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","url":"https://a"}}"#,
            r#"{"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"Grüße"}"#,
            r#"{"type":"response.content_part.done","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Grüße"}}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Grüße","annotations":[]}]}}"#,
            r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Grüße"}]}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":10},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":107}}}"#,
        ],
        &["text \"Grüße\"", "End 30 7 60 10"],
    );
}

#[test]
fn the_phase_of_a_message_is_kept() {
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"Looking."}]}}"#;
    check(
        &[MESSAGE, done, COMPLETED],
        &["text \"Looking.\"", "End 0 0 0 0", r#"native [{"text":{"id":"msg_1","phase":"commentary"}}]"#],
    );
}

#[test]
fn encrypted_thinking_is_kept_with_its_summary_and_the_item_behind_it() {
    let thinking = |kind: &str, part: u64, delta: &str| {
        format!(
            r#"{{"type":"response.{kind}","item_id":"rs_1","output_index":0,"summary_index":{part},"delta":{delta:?}}}"#
        )
    };
    let pieces = [
        thinking("reasoning_summary_text.delta", 0, "Let "),
        thinking("reasoning_summary_text.delta", 0, "me."),
        thinking("reasoning_summary_text.delta", 1, "See."),
        // Only one form of the same thinking is shown.
        thinking("reasoning_text.delta", 0, "I shall."),
    ];
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","status":null,"summary":[{"type":"summary_text","text":"Let me."},{"type":"summary_text","text":"See."}],"encrypted_content":"c2VjcmV0","format":"v1"}}"#;
    let mut events = vec![
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"early"}}"#,
        r#"{"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
    ];
    events.extend(pieces.iter().map(String::as_str));
    events.push(done);
    let mut alone = events.clone();
    events.extend([
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":""}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"{}","status":"completed"}}"#,
        COMPLETED,
    ]);
    let native = r#"native [{"summary":{"encrypted_content":"c2VjcmV0","format":"v1","id":"rs_1"}},{"call":{"id":"fc_1"}}]"#;
    check(&events, &["thinking \"Let me.\\n\\nSee.\"", "call call_1 weather {}", "ToolUse 0 0 0 0", native]);
    // Thinking with nothing behind it cannot be sent back.
    alone.push(COMPLETED);
    check(&alone, &["thinking \"Let me.\\n\\nSee.\"", "End 0 0 0 0", r#"native ["omitted"]"#]);
}

#[test]
fn thinking_without_a_summary_is_kept() {
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VjcmV0"}}"#;
    let message = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hi."}]}}"#;
    check(
        &[done, message, COMPLETED],
        &[
            "text \"Hi.\"",
            "End 0 0 0 0",
            r#"native [{"encrypted":{"encrypted_content":"c2VjcmV0","id":"rs_1"}},{"text":{"id":"msg_1"}}]"#,
        ],
    );
    // The last event may be the only one with the encrypted thinking.
    let early = done.replace(r#""c2VjcmV0""#, "null");
    let last = r#"{"type":"response.completed","response":{"output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"bGF0ZQ=="},{"type":"message","id":"msg_1"}]}}"#;
    check(
        &[&early, message, last],
        &[
            "text \"Hi.\"",
            "End 0 0 0 0",
            r#"native [{"encrypted":{"encrypted_content":"bGF0ZQ==","id":"rs_1"}},{"text":{"id":"msg_1"}}]"#,
        ],
    );
    check(&[&early, message, COMPLETED], &["text \"Hi.\"", "End 0 0 0 0"]);
}

#[test]
fn thinking_of_open_models_is_kept() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"content":[]}}"#;
    let delta = r#"{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":"Hm."}"#;
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}],"encrypted_content":""}}"#;
    let call = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":{"city":"x"}}}"#;
    for events in [&[added, delta, done, call, COMPLETED][..], &[done, call, COMPLETED]] {
        check(
            events,
            &[
                "thinking \"Hm.\"",
                r#"call call_1 weather {"city":"x"}"#,
                "ToolUse 0 0 0 0",
                r#"native [{"thinking":{"id":"rs_1"}},{"call":{"id":"fc_1"}}]"#,
            ],
        );
    }
}

#[test]
fn a_summary_without_encrypted_thinking_is_not_sent_back() {
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}]}}"#;
    let message = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hi."}]}}"#;
    check(
        &[done, message, COMPLETED],
        &["thinking \"Hm.\"", "text \"Hi.\"", "End 0 0 0 0", r#"native ["omitted",{"text":{"id":"msg_1"}}]"#],
    );
}

#[test]
fn a_refusal_is_text() {
    let events = [
        MESSAGE,
        r#"{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"I can't "}"#,
        r#"{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"help."}"#,
        r#"{"type":"response.refusal.done","item_id":"msg_1","output_index":0,"content_index":0,"refusal":"I can't help."}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","content":[{"type":"refusal","refusal":"I can't help."}]}}"#,
        COMPLETED,
    ];
    let expect = ["text \"I can't help.\"", "End 0 0 0 0", r#"native [{"refusal":{"id":"msg_1"}}]"#];
    check(&events, &expect);
    check(&[events[0], events[4], events[5]], &expect);
}

#[test]
fn parallel_calls_keep_their_arguments_apart() {
    let added = |index: u64| {
        format!(
            r#"{{"type":"response.output_item.added","output_index":{index},"item":{{"type":"function_call","id":"fc_{index}","call_id":"call_{index}","name":"weather","arguments":""}}}}"#
        )
    };
    let delta = |index: u64, delta: &str| {
        format!(
            r#"{{"type":"response.function_call_arguments.delta","item_id":"fc_{index}","output_index":{index},"delta":{delta:?}}}"#
        )
    };
    let done = |index: u64| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":{index},"item":{{"type":"function_call","id":"fc_{index}","call_id":"call_{index}","name":"weather","arguments":"{{\"n\":{index}}}","status":"completed"}}}}"#
        )
    };
    let events = [
        added(0),
        added(1),
        delta(0, "{\"n\""),
        delta(1, "{\"n\":1"),
        delta(0, ":0}"),
        delta(1, "}"),
        r#"{"type":"response.function_call_arguments.done","item_id":"fc_0","output_index":0,"arguments":"{\"n\":0}"}"#.into(),
        done(0),
        done(1),
        COMPLETED.into(),
    ];
    let expect = [r#"call call_0 weather {"n":0}"#, r#"call call_1 weather {"n":1}"#, "ToolUse 0 0 0 0"];
    check(&events.each_ref().map(String::as_str), &expect);
    // Without indexes, the ids name the items.
    let without = events.map(|event| event.replace(r#""output_index":"#, r#""unknown":"#));
    check(&without.each_ref().map(String::as_str), &expect);
}

#[test]
fn servers_leave_out_steps_indexes_and_ids() {
    let call =
        r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":"{\"a\":1}"}"#;
    let done = format!(r#"{{"type":"response.output_item.done","item":{call}}}"#);
    let whole = format!(r#"{{"type":"response.completed","response":{{"output":[{call}]}}}}"#);
    let expect = [r#"call call_1 weather {"a":1}"#, "ToolUse 0 0 0 0"];
    // Only complete items, once or twice.
    check(&[&done, COMPLETED, "[DONE]"], &expect);
    check(&[&done, &whole], &expect);
    check(&[&done, &done, &whole], &expect);
    // Only the last event, with or without its type.
    check(&[&whole], &expect);
    let untyped = format!(r#"{{"object":"response","status":"completed","output":[{call}]}}"#);
    check(&[&untyped], &expect);
    // An announcement without a name.
    let nameless = CALL.replace(r#""name":"weather","#, "");
    let delta = r#"{"type":"response.function_call_arguments.delta","output_index":"0","delta":"{\"a\":1}"}"#;
    check(&[&nameless, delta, &done, COMPLETED], &expect);
    check(&[CALL, delta, COMPLETED], &expect);
    // Pieces with neither index nor id.
    let bare = r#"{"type":"response.function_call_arguments.delta","delta":"{\"a\":1}"}"#;
    check(&[CALL, bare, &done, COMPLETED], &expect);
    // Ids that change from event to event.
    let renamed = done.replace("fc_1", "other").replace(r#"done","item"#, r#"done","output_index":0,"item"#);
    check(&[CALL, delta, &renamed, COMPLETED], &expect);
    check(&[CALL, delta, &renamed, &whole.replace("fc_1", "third")], &expect);
    // A call that nobody can answer.
    check(&[&done.replace("weather", ""), COMPLETED], &["End 0 0 0 0"]);
    // Text without an announcement.
    let text = r#"{"type":"response.output_text.delta","delta":"Hi."}"#;
    check(&[text, text, COMPLETED], &["text \"Hi.Hi.\"", "End 0 0 0 0"]);
    let message = r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"Hi.Hi."}]}}"#;
    check(&[text, text, message, COMPLETED], &["text \"Hi.Hi.\"", "End 0 0 0 0"]);
}

#[test]
fn a_missing_call_id_is_generated() {
    let shown = decode(&[&CALL.replace(r#""call_id":"call_1","#, ""), COMPLETED]).unwrap();
    let id = shown.strip_prefix("call call_").and_then(|rest| rest.split_once(" weather {}")).unwrap().0;
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{shown}");
}

#[test]
fn other_items_are_kept_unless_they_wait_for_a_result() {
    let item = |kind: &str| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":0,"item":{{"type":"{kind}","id":"x_1","status":"completed","action":{{"query":"a"}}}}}}"#
        )
    };
    let thinking = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"a"}}"#;
    let message = r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hi."}]}}"#;
    let kept = r#"native [{"other":{"type":"web_search_call","id":"x_1","status":"completed","action":{"query":"a"}}},{"text":{"id":"msg_1"}}]"#;
    check(&[&item("web_search_call"), message, COMPLETED], &["text \"Hi.\"", "End 0 0 0 0", kept]);
    // The thinking before an item that is not sent back is not sent back either.
    let dropped = item("computer_call").replace(r#""output_index":0"#, r#""output_index":3"#);
    check(&[thinking, &dropped, message, COMPLETED], &["text \"Hi.\"", "End 0 0 0 0"]);
}

#[test]
fn an_incomplete_answer_has_no_incomplete_items_in_its_native_form() {
    let thinking = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"a"}}"#;
    let call = CALL.replace(r#""output_index":0"#, r#""output_index":1"#);
    let delta = r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"a\":"}"#;
    let end = r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":5,"output_tokens":3}}}"#;
    check(&[thinking, &call, delta, end], &[r#"call call_1 weather "{\"a\":""#, "Length 5 3 0 0"]);
    // An unknown reason is no failure.
    check(&[&end.replace("max_output_tokens", "sleepy")], &["Length 5 3 0 0"]);
    let filtered = fails(&[&end.replace("max_output_tokens", "content_filter")]);
    assert_eq!(filtered, r#"Refused("content_filter")"#);
}

#[test]
fn white_space_is_not_sent_back() {
    let thinking = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"a"}}"#;
    let blank = r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"\n"}]}}"#;
    let call = r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"weather","arguments":""}}"#;
    check(
        &[thinking, blank, call, COMPLETED],
        &[
            "text \"\\n\"",
            "call call_1 weather {}",
            "ToolUse 0 0 0 0",
            r#"native ["omitted",{"call":{"id":"fc_1"}}]"#,
        ],
    );
}

#[test]
fn the_provider_may_report_the_cost() {
    let end = |cost: &str| {
        format!(
            r#"{{"type":"response.completed","response":{{"status":"completed","usage":{{"input_tokens":2,"output_tokens":1,{cost}}}}}}}"#
        )
    };
    check(&[&end(r#""cost":0.25"#)], &["End 2 1 0 0", "cost 0.25"]);
    check(&[&end(r#""cost_in_usd_ticks":5000000000"#)], &["End 2 1 0 0", "cost 0.5"]);
    check(&[&end(r#""cost":"unusual""#)], &["End 0 0 0 0"]);
}

#[test]
fn errors_within_an_answer_fail_it() {
    let error = r#"{"type":"error","code":"rate_limit_exceeded","message":"Slow down.","param":null,"sequence_number":1}"#;
    let nested = r#"{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Too long."}}"#;
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oops."}}}"#;
    let untyped = r#"{"error":{"message":"No credit.","code":"insufficient_quota"}}"#;
    let ended = r#"{"type":"response.completed","response":{"status":"failed","error":{"code":"server_error","message":"Oops."}}}"#;
    for event in [error, nested, failed, untyped, ended] {
        let AnswerError::Response(response) = decode(&[CREATED, event]).unwrap_err() else {
            panic!("{event} is an error of the server")
        };
        assert_eq!((response.status, response.body.as_str()), (None, event));
    }
    assert_eq!(
        fails(&[r#"{"type":"response.failed","response":{"error":null}}"#]),
        r#"Refused("the answer failed")"#
    );
    let cancelled = r#"{"type":"response.completed","response":{"status":"cancelled"}}"#;
    assert_eq!(fails(&[cancelled]), r#"Refused("the answer cancelled")"#);
}

#[test]
fn an_answer_without_its_last_event_is_truncated() {
    for events in [&[CREATED, MESSAGE][..], &[CREATED, "[DONE]"], &[]] {
        assert_eq!(fails(events), "Truncated");
    }
    assert!(fails(&["{"]).starts_with("Invalid"));
}

#[test]
fn unknown_events_and_unusual_fields_are_no_failure() {
    let text = r#"{"type":"response.output_text.delta","output_index":null,"item_id":7,"content_index":"x","delta":"Hi."}"#;
    check(
        &[
            r#"{"type":"response.future.delta","delta":{"a":1},"item":5,"response":[],"status":3}"#,
            r#"{"type":"response.output_item.added","output_index":0,"item":"x"}"#,
            r#"{"type":"response.output_text.delta","delta":{"text":"?"}}"#,
            r#"{"unknown":1}"#,
            text,
            r#"{"type":"response.completed","response":{"status":"future","usage":7,"output":{},"incomplete_details":"x"}}"#,
        ],
        &["text \"Hi.\"", "End 0 0 0 0"],
    );
}
