//! The path from bytes to lines to frames: the first code that handles untrusted input.

use haft_host::{FramedLine, LineFramer};
use haft_protocol::codec::{Decoded, FrameSet, decode, encode};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{ExtensionFrame, HostFrame, Limits};
use haft_protocol::limits::{MAX_DEPTH, MAX_LINE};
use serde_json::Value;

use crate::{memory, pieces, strict};

/// A line limit that inputs of a few hundred bytes reach.
const SHORT: usize = 48;

/// Limit on the memory allocated for each byte of a line, including frames and errors.
const BYTES_A_BYTE: usize = 256;

/// Limit on the memory allocated for a line of any length.
const BYTES_A_LINE: usize = 64 * 1024;

/// Checks one stream.
///
/// A stream must yield the same lines, however it is cut into pieces. Each line is either rejected with a named error
/// or has one meaning for every JSON reader. A decoded frame must survive encoding. The size of the input bounds the
/// memory.
pub fn check(stream: &[u8]) {
    assert_eq!(lines(stream.chunks(1), SHORT), lines([stream], SHORT), "byte by byte");
    for limit in [SHORT, MAX_LINE] {
        let whole = lines([stream], limit);
        assert_eq!(lines(pieces::cut_unevenly(stream), limit), whole, "in uneven pieces, {limit} at most");
        assert_eq!(whole, split(stream, limit), "as split by hand, {limit} at most");
    }
    for item in lines([stream], MAX_LINE) {
        if let FramedLine::Line(line) = item {
            check_line::<HostFrame>(&line);
            check_line::<ExtensionFrame>(&line);
        }
    }
}

/// Returns all items of a stream that arrives in these pieces.
fn lines<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Vec<FramedLine> {
    let mut framer = LineFramer::default();
    let mut found = Vec::new();
    for piece in pieces {
        framer.space().extend_from_slice(piece);
        found.extend(std::iter::from_fn(|| framer.next(limit)));
    }
    found.extend(framer.finish(limit));
    found
}

/// Returns the items that [`lines`] should find, computed without buffers.
fn split(stream: &[u8], limit: usize) -> Vec<FramedLine> {
    let lines = stream.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| line.len() > limit || !line.trim_ascii().is_empty());
    lines
        .map(
            |line| {
                if line.len() > limit { FramedLine::TooLong } else { FramedLine::Line(line.to_vec().into()) }
            },
        )
        .collect()
}

fn check_line<F: FrameSet + PartialEq + std::fmt::Debug>(line: &[u8]) {
    let limit = BYTES_A_LINE + BYTES_A_BYTE * line.len();
    let decoded = memory::with_limit(limit, || decode::<F>(line));
    let text = std::str::from_utf8(line);
    // Some parsers repair unpaired surrogates, others reject them; the strict parser rejects them all.
    if text.is_ok_and(|text| !text.to_ascii_lowercase().contains("\\ud")) {
        check_agreement(&decoded, text.ok().and_then(|text| strict::read(text).ok()));
    }
    let Ok(DecodedFrame::Known(frame)) = decoded else { return };
    let Ok(again) = encode(&frame) else {
        let kind = frame.kind();
        let has_blocks = ["tool_result", "host_result"].contains(&kind);
        return assert!(has_blocks, "{kind}: only results may hold blocks of a kind that haft never writes");
    };
    let body = again.strip_suffix('\n').expect("a line ends with a newline");
    assert!(!body.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "more than one line: {again}");
    match decode::<F>(body.as_bytes()) {
        Ok(Decoded::Known(same)) => assert_eq!(same, frame, "after a round trip through {again}"),
        other => panic!("{again} was decoded as {other:?}"),
    }
}

/// Compares haft's decoding of a line with a strict parser that rejects duplicate keys.
fn check_agreement<F: FrameSet>(decoded: &Result<Decoded<F>, DecodeError>, plain: Option<Value>) {
    match (decoded, plain) {
        (Ok(DecodedFrame::Known(frame)), Some(value)) => {
            assert_eq!(value["type"], frame.kind(), "type");
            if let Ok(own) = serde_json::to_value(frame) {
                check_contained(&own, &value, frame.kind());
            }
        }
        (Ok(DecodedFrame::Unknown { kind, id }), Some(value)) => {
            assert_eq!(value["type"].as_str().unwrap_or_default(), kind, "type");
            assert!(
                value.is_object() && !F::KINDS.contains(&kind.as_str()),
                "the known kind {kind} was not decoded"
            );
            assert!(id.as_ref().is_none_or(|id| value["id"] == id.as_str()), "id");
        }
        (Err(DecodeError::Malformed { id, .. }), Some(value)) => {
            assert!(value.is_object(), "a malformed frame must be an object");
            assert!(id.as_ref().is_none_or(|id| value["id"] == id.as_str()), "id");
        }
        (Err(DecodeError::NotObject), Some(value)) => {
            assert!(!value.is_object(), "an object was rejected as not an object")
        }
        (Err(DecodeError::TooDeep { limit }), Some(value)) => {
            assert!(
                *limit == MAX_DEPTH && strict::depth(&value) > MAX_DEPTH,
                "rejected as too deep, but within the limit"
            );
        }
        (Err(DecodeError::TooManyNodes { .. }), Some(_)) => {}
        (Err(error), Some(value)) => panic!("rejected ({error}), but the strict parser reads {value}"),
        (Err(_), None) => {}
        (Ok(_), None) => panic!("accepted, but the strict parser rejects the line"),
    }
}

/// Checks that the line held everything in the frame. Fields that the frame omits were unknown or equal to the default.
fn check_contained(own: &Value, sent: &Value, at: &str) {
    match (own, sent) {
        (Value::Object(own), Value::Object(sent)) => {
            for (name, value) in own {
                check_contained(value, sent.get(name).unwrap_or(&Value::Null), &format!("{at}.{name}"));
            }
        }
        (Value::Array(own), Value::Array(sent)) => {
            assert_eq!(own.len(), sent.len(), "{at}");
            for (index, (own, sent)) in own.iter().zip(sent).enumerate() {
                check_contained(own, sent, &format!("{at}[{index}]"));
            }
        }
        // A `subscribe` entry without restrictions is written as the name alone.
        (Value::String(_), Value::Object(entry)) if at.starts_with("subscribe.") => {
            check_contained(own, &sent["event"], at);
            let narrowed = |field: &str| entry.get(field).is_some_and(|value| !is_default(value, at));
            assert!(!narrowed("tools") && !narrowed("role"), "{at}: restricts more than {own}");
        }
        (own, Value::Null) => assert!(is_default(own, at), "{at}: {own} appeared without input"),
        // An unknown level is read as a quiet note. zot's documents and code use different words for it.
        (own, _) if at == "notify.level" && own == "info" => {}
        // The code of a later protocol is read as a failure; the text gives the reason.
        (own, Value::String(_)) if at == "host_result.code" && own == "failed" => {}
        (own, sent) if at == "event.stop" && own == "end" && sent == "end_turn" => {}
        (own, sent) => assert!(own == sent, "{at}: {own} was sent as {sent}"),
    }
}

/// True if the value equals that of an absent field.
fn is_default(value: &Value, at: &str) -> bool {
    if let Some(limit) = at.strip_prefix("hello_ack.limits.") {
        return serde_json::to_value(Limits::default()).is_ok_and(|limits| limits[limit] == *value);
    }
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::String(text) => text.is_empty() || at == "notify.level",
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
