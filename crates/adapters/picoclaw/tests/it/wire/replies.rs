//! Lines of hooks: replies, unrelated lines, and the calls that wrong lines fail.

use haft_adapter_picoclaw::wire::{BOUNDS, HookReply, UnreadableLine, read_reply};
use haft_protocol::codec::{LineLimits, PlainSpan};

fn read(line: &str) -> Result<HookReply, UnreadableLine> {
    read_reply(line.as_bytes(), BOUNDS, PlainSpan::default())
}

/// Checks the id with the result or the error.
#[track_caller]
fn check(line: &str, id: u64, expect: Result<&str, &str>) {
    let reply = read(line).unwrap_or_else(|unread| panic!("{unread}: {line}"));
    let outcome = reply.outcome.map(|result| result.to_string()).map_err(|error| error.to_string());
    assert_eq!((reply.id, outcome.as_deref().map_err(String::as_str)), (id, expect), "{line}");
}

/// Checks the failed call, the code and the detail.
#[track_caller]
fn check_unread(line: &str, expect: (Option<u64>, &str, &str)) {
    let unread = read(line).expect_err(line);
    assert_eq!((unread.id, unread.code, unread.detail.as_str()), expect, "{line}");
}

#[test]
fn reads_results() {
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"a": 1 }}"#, 1, Ok(r#"{"a":1}"#));
    check(r#" {"id":18446744073709551615,"result":"x"} "#, u64::MAX, Ok(r#""x""#));
    check(r#"{"Id":2,"RESULT":{"Action":1}}"#, 2, Ok(r#"{"Action":1}"#));
    check(r#"{"id":1,"result":{},"error":null}"#, 1, Ok("{}"));
}

#[test]
fn missing_result_is_an_empty_object() {
    check(r#"{"id":1}"#, 1, Ok("{}"));
    check(r#"{"id":1,"result":null}"#, 1, Ok("{}"));
}

#[test]
fn repeated_call_with_result_is_a_reply() {
    check(r#"{"id":1,"method":"hook.before_tool","params":{},"result":{"a":1}}"#, 1, Ok(r#"{"a":1}"#));
    check(r#"{"id":1,"method":"hook.before_tool","result":null}"#, 1, Ok("{}"));
}

#[test]
fn error_takes_precedence_over_result() {
    check(r#"{"id":1,"result":{},"error":{"code":-32000,"message":"no disk"}}"#, 1, Err("no disk"));
    check(r#"{"id":1,"error":{"Message":" "}}"#, 1, Err("error 0 without a message"));
    check(r#"{"id":1,"error":{"code":7,"message":"a","data":[1]}}"#, 1, Err("a"));
}

#[test]
fn unrelated_lines_have_no_call() {
    let no_id = (None, "frame_invalid", "no id");
    let bad_id = (None, "frame_invalid", "the id is not a whole number above 0");
    check_unread("starting …", (None, "frame_not_json", "not JSON: expected value"));
    check_unread("", (None, "frame_not_json", "not JSON: EOF while parsing a value"));
    check_unread("[1]", (None, "frame_not_object", "a frame is a JSON object"));
    check_unread("7", (None, "frame_not_object", "a frame is a JSON object"));
    check_unread("{}", no_id);
    check_unread(r#"{"id":null,"result":{}}"#, no_id);
    for id in ["0", "-1", "7.0", "1e0", r#""7""#, "[]", "18446744073709551616"] {
        check_unread(&format!(r#"{{"id":{id},"result":{{}}}}"#), bad_id);
    }
    check_unread(
        r#"{"id":1,"method":"host.ask","params":{}}"#,
        (None, "frame_invalid", "a call: a hook only replies"),
    );
    check_unread(r#"{"method":"host.tell"}"#, no_id);
}

#[test]
fn unreadable_reply_fails_its_call() {
    check_unread(
        r#"{"id":3,"result":{"a":1,"a":2}}"#,
        (Some(3), "frame_duplicate_key", "key \"a\" occurs twice in one object"),
    );
    check_unread(r#"{"id":3,"result":1e400}"#, (Some(3), "frame_invalid", "number out of range"));
    let deep = format!(r#"{{"id":3,"result":{}{}}}"#, "[".repeat(64), "]".repeat(64));
    check_unread(&deep, (Some(3), "frame_too_deep", "nested deeper than 64 levels"));
    let deeper = format!(r#"{{"id":3,"result":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    check_unread(&deeper, (Some(3), "frame_too_deep", "nested deeper than 64 levels"));
    check_unread(
        r#"{"id":3,"error":"no disk"}"#,
        (
            Some(3),
            "frame_invalid",
            r#"error: invalid type: string "no disk", expected an object; expected {"code":-32000,"message":"…"}"#,
        ),
    );
    check_unread(
        r#"{"id":3,"result":{},"Result":{}}"#,
        (Some(3), "frame_duplicate_key", "\"result\" occurs twice, once as \"Result\""),
    );
    // A duplicate id counts as no id.
    check_unread(
        r#"{"id":3,"id":4}"#,
        (None, "frame_duplicate_key", "key \"id\" occurs twice in one object"),
    );
    check_unread(r#"{"id":3,"ID":4}"#, (None, "frame_duplicate_key", "\"id\" occurs twice, once as \"ID\""));
}

#[test]
fn only_text_is_repaired() {
    let mended = read(r#"{"id":1,"result":{"result":{"for_llm":"\ud800"}}}"#).unwrap();
    assert!(mended.repaired);
    assert_eq!(mended.outcome.unwrap().as_str(), r#"{"result":{"for_llm":"\ufffd"}}"#);
    assert!(!read(r#"{"id":1,"result":{"for_llm":"\ud83d\ude00"}}"#).unwrap().repaired);
    for result in [
        r#"{"call":{"arguments":{"content":"\ud800"}}}"#,
        r#"{"call":{"tool":"\ud800"}}"#,
        r#"{"request":{"tools":[{"function":{"parameters":{"description":"\ud800"}}}]}}"#,
        r#"{"content\ud800":1}"#,
    ] {
        let detail = "a name or an argument holds half of a surrogate pair";
        check_unread(&format!(r#"{{"id":1,"result":{result}}}"#), (Some(1), "frame_invalid", detail));
    }
}

#[test]
fn line_length_limit_is_exact() {
    let line = format!(r#"{{"id":1,"result":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    assert!(read(&line).is_ok(), "longer than PicoClaw takes");
    let unread =
        read_reply(line.as_bytes(), LineLimits { line: 1024, ..BOUNDS }, PlainSpan::default()).unwrap_err();
    assert_eq!((unread.id, unread.code), (None, "frame_too_long"));
    assert_eq!(
        read_reply(b"{\"id\":1,\"result\":\"\xff\"}", BOUNDS, PlainSpan::default()).unwrap_err().code,
        "frame_not_utf8"
    );
}

#[test]
fn reply_round_trips() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true}}"#,
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no disk"}}"#,
    ] {
        assert_eq!(read(line).unwrap().encode().unwrap(), format!("{line}\n"));
    }
}
