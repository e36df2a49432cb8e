//! The oracle of lines and frames. An input is the byte stream of an extension or a host.

use haft_host::{FramedLine, LineFramer};
use haft_protocol::codec::{DecodedFrame, FrameSet, decode, encode};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{ExtensionFrame, HostFrame, Limits};
use haft_protocol::limits::{MAX_DEPTH, MAX_LINE};
use serde_json::Value;

use crate::{memory, pieces, strict};

/// A limit of the line length that short inputs reach.
const SHORT: usize = 48;

/// The bytes that may be allocated for each byte of a line, including frames and errors.
const BYTES_A_BYTE: usize = 256;

/// The bytes that may be allocated for any line, in addition.
const BYTES_A_LINE: usize = 64 * 1024;

/// Checks the splitting of a stream and the decoding of its lines.
///
/// * The pieces in which the stream arrives make no difference to its lines.
/// * A line is rejected with a named fault, or decoded to the value that a plain parser reads.
/// * Encoding a decoded frame again keeps its value.
/// * The length of a line bounds the memory.
///
/// # Panics
/// If haft's reader breaks one of these promises.
pub fn check(stream: &[u8]) {
    assert_eq!(lines(stream.chunks(1), SHORT), lines([stream], SHORT), "other lines for single bytes");
    for limit in [SHORT, MAX_LINE] {
        let whole = lines([stream], limit);
        assert_eq!(
            lines(pieces::uneven_pieces(stream), limit),
            whole,
            "other lines for uneven pieces, limit {limit}"
        );
        assert_eq!(whole, split(stream, limit), "other lines than `split`, limit {limit}");
    }
    for item in lines([stream], MAX_LINE) {
        if let FramedLine::Line(line) = item {
            check_line::<HostFrame>(&line);
            check_line::<ExtensionFrame>(&line);
        }
    }
}

/// Returns the items that haft's framer finds in a stream of these pieces.
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
    let decoded = memory::run_limited(limit, || decode::<F>(line));
    let text = std::str::from_utf8(line);
    // haft replaces halves of surrogate pairs in some fields and rejects them in others; the plain parser rejects all.
    if text.is_ok_and(|text| !text.to_ascii_lowercase().contains("\\ud")) {
        assert_agreement(&decoded, text.ok().and_then(|text| strict::read(text).ok()));
    }
    let Ok(DecodedFrame::Known(frame)) = decoded else { return };
    let Ok(again) = encode(&frame) else {
        let kind = frame.kind();
        let has_blocks = ["tool_result", "host_result"].contains(&kind);
        return assert!(has_blocks, "{kind}: only the unknown blocks of a result cannot be encoded");
    };
    let body = again.strip_suffix('\n').expect("a line ends with a newline");
    assert!(!body.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "more than one line: {again}");
    match decode::<F>(body.as_bytes()) {
        Ok(DecodedFrame::Known(same)) => assert_eq!(same, frame, "encoded as {again}"),
        other => panic!("{again} was read as {other:?}"),
    }
}

/// Checks haft's reading of a line against a plain parser that rejects duplicate keys.
fn assert_agreement<F: FrameSet>(decoded: &Result<DecodedFrame<F>, DecodeError>, plain: Option<Value>) {
    match (decoded, plain) {
        (Ok(DecodedFrame::Known(frame)), Some(value)) => {
            assert_eq!(value["type"], frame.kind(), "type");
            if let Ok(own) = serde_json::to_value(frame) {
                assert_contained(&own, &value, frame.kind());
            }
        }
        (Ok(DecodedFrame::Unknown { kind, id }), Some(value)) => {
            assert_eq!(value["type"].as_str().unwrap_or_default(), kind, "type");
            assert!(value.is_object() && !F::KINDS.contains(&kind.as_str()), "{kind} is known");
            assert!(id.as_ref().is_none_or(|id| value["id"] == id.as_str()), "id");
        }
        (Err(DecodeError::Malformed { id, .. }), Some(value)) => {
            assert!(value.is_object(), "malformed instead of not an object");
            assert!(id.as_ref().is_none_or(|id| value["id"] == id.as_str()), "id");
        }
        (Err(DecodeError::NotObject), Some(value)) => assert!(!value.is_object(), "the line is an object"),
        (Err(DecodeError::TooDeep { limit }), Some(value)) => {
            assert!(*limit == MAX_DEPTH && strict::nesting_depth(&value) > MAX_DEPTH, "not too deep");
        }
        (Err(DecodeError::TooManyNodes { .. }), Some(_)) => {}
        (Err(error), Some(value)) => {
            panic!("haft rejects the line ({error}), but a plain parser reads {value}")
        }
        (Err(_), None) => {}
        (Ok(_), None) => panic!("haft accepts the line, but a strict parser rejects it"),
    }
}

/// Checks that every value of the frame was in the line. Values that the frame omits are unknown fields or defaults.
fn assert_contained(own: &Value, sent: &Value, at: &str) {
    match (own, sent) {
        (Value::Object(own), Value::Object(sent)) => {
            for (name, value) in own {
                assert_contained(value, sent.get(name).unwrap_or(&Value::Null), &format!("{at}.{name}"));
            }
        }
        (Value::Array(own), Value::Array(sent)) => {
            assert_eq!(own.len(), sent.len(), "{at}");
            for (index, (own, sent)) in own.iter().zip(sent).enumerate() {
                assert_contained(own, sent, &format!("{at}[{index}]"));
            }
        }
        // An entry of `subscribe` without tools and role is written as the name alone.
        (Value::String(_), Value::Object(entry)) if at.starts_with("subscribe.") => {
            assert_contained(own, &sent["event"], at);
            let narrowed = |field: &str| entry.get(field).is_some_and(|value| !is_default(value, at));
            assert!(!narrowed("tools") && !narrowed("role"), "{at}: the tools or the role of {own} are lost");
        }
        (own, Value::Null) => assert!(is_default(own, at), "{at}: {own} was not sent"),
        // An unknown level is read as `info`.
        (own, _) if at == "notify.level" && own == "info" => {}
        // An unknown code is read as `failed`.
        (own, Value::String(_)) if at == "host_result.code" && own == "failed" => {}
        // zot's documentation says `end_turn`, its code `end`.
        (own, sent) if at == "event.stop" && own == "end" && sent == "end_turn" => {}
        (own, sent) => assert!(own == sent, "{at}: {own} was sent as {sent}"),
    }
}

/// True for the default value, which a field has if it is absent.
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
