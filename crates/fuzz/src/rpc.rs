//! Lines of RPC clients, and haft's answers to invalid lines.

use haft_protocol::rpc::{
    BOUNDS, CommandKind, ErrorCode, RpcRequest, RpcResponse, UnreadableRequest, read_request,
};
use serde_json::Value;

use crate::{memory, strict};

/// Limit on the memory allocated for each byte of a line, including the answer. Fields are parsed more than once.
const BYTES_A_BYTE: usize = 256;

/// Limit on the memory allocated for a line of any length.
const BYTES_A_LINE: usize = 64 * 1024;

/// Limit on the length of a diagnostic about a line, in bytes, not counting its id.
const LONGEST_TEXT: usize = 4 * 1024;

/// Checks one line.
///
/// A line is a request or is rejected with a named error, in agreement with a strict parser. A request must survive
/// encoding. The answer to an invalid line is one line. The size of the input bounds the memory.
pub fn check(line: &[u8]) {
    let read = memory::with_limit(BYTES_A_LINE + BYTES_A_BYTE * line.len(), || read_request(line, BOUNDS));
    let text = std::str::from_utf8(line).ok();
    // Some parsers repair unpaired surrogates, others reject them; the strict parser rejects them all.
    let plain = text.filter(|text| !text.to_ascii_lowercase().contains("\\ud")).map(strict::read);
    match read {
        Ok(request) => check_request(&request, plain),
        Err(unread) => check_unread(unread, plain),
    }
}

fn check_request(request: &Request, plain: Option<Result<Value, serde_json::Error>>) {
    let again = request.encode().expect("a request encodes as JSON");
    let body = one_line(&again);
    assert_eq!(
        read_request(body.as_bytes(), BOUNDS).as_ref(),
        Ok(request),
        "after a round trip through {again}"
    );
    match plain {
        Some(Ok(value)) => {
            assert_eq!(value["type"], request.command.kind().name(), "type");
            assert_eq!(text(&value, "id"), request.id.as_deref(), "id");
            assert_eq!(text(&value, "session"), request.session.as_deref(), "session");
            let own: Value = serde_json::from_str(body).expect("an encoded request is JSON");
            check_contained(&own, &value);
        }
        Some(Err(error)) => panic!("read as a request, but the strict parser rejects the line: {error}"),
        None => {}
    }
}

fn check_unread(unread: UnreadableRequest, plain: Option<Result<Value, serde_json::Error>>) {
    let UnreadableRequest { id, command, failure } = unread.clone();
    let known = CommandKind::from_name(&command).is_some();
    assert_eq!(known, failure.code == ErrorCode::BadRequest, "{command:?} {failure}");
    assert!(failure.error.len() < LONGEST_TEXT && command.chars().count() <= 128, "{failure}");
    if let Some(Ok(value)) = plain {
        assert!(id.is_none() || text(&value, "id") == id.as_deref(), "id");
        let malformed = matches!(failure.code, ErrorCode::Malformed);
        let named = value.is_object() && value["id"].as_str().is_some() && value["type"].as_str().is_some();
        let deep = strict::depth(&value) > BOUNDS.depth;
        assert!(!(malformed && named) || deep, "rejected ({failure}), but the strict parser reads {value}");
    }
    let reply = unread.into_response();
    let line = reply.encode().expect("a reply encodes as JSON");
    let same: Response = serde_json::from_str(one_line(&line)).expect("an encoded reply can be read");
    assert_eq!(same, reply);
}

/// Returns the line without its newline, which must be the only one.
fn one_line(line: &str) -> &str {
    let body = line.strip_suffix('\n').expect("a line ends with a newline");
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    assert!(!body.contains(ends), "more than one line: {line}");
    body
}

/// Returns a text field if it is not empty.
fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value[field].as_str().filter(|text| !text.is_empty())
}

/// Checks that the line held everything that was read.
fn check_contained(own: &Value, sent: &Value) {
    match (own, sent) {
        (Value::Object(own), Value::Object(sent)) => {
            for (name, value) in own {
                check_contained(value, sent.get(name).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(own), Value::Array(sent)) => {
            assert_eq!(own.len(), sent.len());
            own.iter().zip(sent).for_each(|(own, sent)| check_contained(own, sent));
        }
        (own, sent) => assert_eq!(own, sent),
    }
}
