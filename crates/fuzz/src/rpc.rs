//! The oracle of the requests of RPC clients. An input is one line of a client.

use haft_protocol::rpc::{
    BOUNDS, CommandKind, ErrorCode, RpcRequest, RpcResponse, UnreadableRequest, read_request,
};
use serde_json::Value;

use crate::{memory, strict};

/// The bytes that may be allocated for each byte of a line, including the answer. The reader parses some fields more
/// than once.
const BYTES_A_BYTE: usize = 256;

/// The bytes that may be allocated for any line, in addition.
const BYTES_A_LINE: usize = 64 * 1024;

/// The maximum length of a message about a line, without the id.
const LONGEST_TEXT: usize = 4 * 1024;

/// Checks the reading of one line.
///
/// * A line is a request, or is rejected with a named fault. A plain parser agrees.
/// * Encoding a request again keeps its value.
/// * The answer to an unreadable line is one line.
/// * The length of the line bounds the memory.
///
/// # Panics
/// If haft's reader breaks one of these promises.
pub fn check(line: &[u8]) {
    let read = memory::run_limited(BYTES_A_LINE + BYTES_A_BYTE * line.len(), || read_request(line, BOUNDS));
    let text = std::str::from_utf8(line).ok();
    // haft replaces halves of surrogate pairs in some fields and rejects them in others; the plain parser rejects all.
    let plain = text.filter(|text| !text.to_ascii_lowercase().contains("\\ud")).map(strict::read);
    match read {
        Ok(request) => check_request(&request, plain),
        Err(unread) => check_unread(unread, plain),
    }
}

fn check_request(request: &RpcRequest, plain: Option<Result<Value, serde_json::Error>>) {
    let again = request.encode().expect("every request can be encoded");
    let body = one_line(&again);
    assert_eq!(read_request(body.as_bytes(), BOUNDS).as_ref(), Ok(request), "encoded as {again}");
    match plain {
        Some(Ok(value)) => {
            assert_eq!(value["type"], request.command.kind().name(), "type");
            assert_eq!(text(&value, "id"), request.id.as_deref(), "id");
            assert_eq!(text(&value, "session"), request.session.as_deref(), "session");
            let own: Value = serde_json::from_str(body).expect("an encoded request is JSON");
            assert_contained(&own, &value);
        }
        Some(Err(error)) => panic!("haft reads a request, but a strict parser rejects the line: {error}"),
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
        let deep = strict::nesting_depth(&value) > BOUNDS.depth;
        assert!(
            !(malformed && named) || deep,
            "haft rejects the line ({failure}), but a plain parser reads {value}"
        );
    }
    let reply = unread.into_response();
    let line = reply.encode().expect("every reply can be encoded");
    let same: RpcResponse = serde_json::from_str(one_line(&line)).expect("every encoded reply can be read");
    assert_eq!(same, reply);
}

/// Returns the line without its newline. Checks that it contains no other line break.
fn one_line(line: &str) -> &str {
    let body = line.strip_suffix('\n').expect("a line ends with a newline");
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    assert!(!body.contains(ends), "more than one line: {line}");
    body
}

/// Returns a text field; `None` if it is absent or empty.
fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value[field].as_str().filter(|text| !text.is_empty())
}

/// Checks that every value that haft read was in the line.
fn assert_contained(own: &Value, sent: &Value) {
    match (own, sent) {
        (Value::Object(own), Value::Object(sent)) => {
            for (name, value) in own {
                assert_contained(value, sent.get(name).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(own), Value::Array(sent)) => {
            assert_eq!(own.len(), sent.len());
            own.iter().zip(sent).for_each(|(own, sent)| assert_contained(own, sent));
        }
        (own, sent) => assert_eq!(own, sent),
    }
}
