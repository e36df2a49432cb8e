//! Lines of programs that drive haft, and what those are answered that cannot be read.

use haft_protocol::rpc::{
    BOUNDS, CommandKind, ErrorCode, RpcRequest, RpcResponse, UnreadableRequest, read_request,
};
use serde_json::Value;

use crate::{memory, strict};

/// The memory that reading one byte of a line may allocate in all, the answer included. Fields are opened more than
/// once.
const BYTES_A_BYTE: usize = 256;

/// The memory that reading a line may allocate however short it is.
const BYTES_A_LINE: usize = 64 * 1024;

/// The longest thing that is said about a line, its id left out.
const LONGEST_TEXT: usize = 4 * 1024;

/// A line is a request or refused by name, as a plain parser sees it; what is read says the same when it is written; what is
/// not read has an answer that is one line; memory is bounded by what was sent.
pub fn check(line: &[u8]) {
    let read = memory::run_limited(BYTES_A_LINE + BYTES_A_BYTE * line.len(), || read_request(line, BOUNDS));
    let text = std::str::from_utf8(line).ok();
    // Halves of surrogate pairs are mended in some places and refused in others; the plain parser refuses all.
    let plain = text.filter(|text| !text.to_ascii_lowercase().contains("\\ud")).map(strict::read);
    match read {
        Ok(request) => check_request(&request, plain),
        Err(unread) => check_unread(unread, plain),
    }
}

fn check_request(request: &RpcRequest, plain: Option<Result<Value, serde_json::Error>>) {
    let again = request.encode().expect("a request has a form in JSON");
    let body = one_line(&again);
    assert_eq!(read_request(body.as_bytes(), BOUNDS).as_ref(), Ok(request), "through {again}");
    match plain {
        Some(Ok(value)) => {
            assert_eq!(value["type"], request.command.kind().name(), "type");
            assert_eq!(text(&value, "id"), request.id.as_deref(), "id");
            assert_eq!(text(&value, "session"), request.session.as_deref(), "session");
            let own: Value = serde_json::from_str(body).expect("it is JSON");
            assert_contained(&own, &value);
        }
        Some(Err(error)) => panic!("a request, and a strict parser refuses it: {error}"),
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
        assert!(!(malformed && named) || deep, "refused ({failure}), and everybody reads {value}");
    }
    let reply = unread.into_response();
    let line = reply.encode().expect("a reply has a form in JSON");
    let same: RpcResponse = serde_json::from_str(one_line(&line)).expect("a reply is read again");
    assert_eq!(same, reply);
}

/// The line without its end, which is the only one in it.
fn one_line(line: &str) -> &str {
    let body = line.strip_suffix('\n').expect("a line ends with a newline");
    let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    assert!(!body.contains(ends), "one line: {line}");
    body
}

/// A field that says something.
fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value[field].as_str().filter(|text| !text.is_empty())
}

/// Everything that was read was in the line.
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
