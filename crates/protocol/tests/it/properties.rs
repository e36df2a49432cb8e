//! Properties of every frame and of every sequence of bytes.

use std::fmt::Debug;

use haft_protocol::RawJson;
use haft_protocol::codec::{DecodedFrame, FrameSet, decode_with_limit, encode};
use haft_protocol::ext::{ExtensionFrame, HostFrame};
use haft_protocol::limits::MAX_RESULT_LINE;
use proptest::prelude::*;
use serde_json::Value;

use crate::strategies;

fn round_trip<F: FrameSet + PartialEq + Debug>(frame: F) -> Result<(), TestCaseError> {
    let line = encode(&frame).unwrap();
    let (body, end) = line.split_at(line.len() - 1);
    prop_assert_eq!(end, "\n");
    prop_assert!(!body.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']), "{}", body);
    let prefix = format!(r#"{{"type":"{}""#, frame.kind());
    prop_assert!(body.starts_with(&prefix), "{}", body);
    // Shell extensions find the id by its position.
    let fields: serde_json::Map<String, Value> = serde_json::from_str(body).unwrap();
    let place = fields.keys().position(|name| name == "id");
    prop_assert!(place.is_none_or(|place| place == 1), "{}", body);
    prop_assert_eq!(decode_with_limit(body.as_bytes(), MAX_RESULT_LINE).unwrap(), DecodedFrame::Known(frame));
    Ok(())
}

/// Formats JSON with the white space of a careless writer. Inside strings a newline is always
/// escaped.
fn spaced(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap().replace('\n', " \t\r\n")
}

proptest! {
    // Tests write no files; a failing case is printed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn host_frames_round_trip(frame in strategies::host_frame()) {
        round_trip(frame)?;
    }

    #[test]
    fn extension_frames_round_trip(frame in strategies::extension_frame()) {
        round_trip(frame)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        drop(decode_with_limit::<HostFrame>(&bytes, 256));
        drop(decode_with_limit::<ExtensionFrame>(&bytes, 512));
    }

    #[test]
    fn almost_json_never_panics(text in r#"\{"type":"(event|tool_result|hello)"(,"[a-z]{1,4}":[\[\]{}"\\ud0-9,:e-]{0,12}){0,4}\}"#) {
        drop(decode_with_limit::<HostFrame>(text.as_bytes(), MAX_RESULT_LINE));
        drop(decode_with_limit::<ExtensionFrame>(text.as_bytes(), MAX_RESULT_LINE));
    }

    #[test]
    fn compact_json_keeps_its_value(value in strategies::value()) {
        let json = RawJson::parse(&spaced(&value)).unwrap();
        let compact = RawJson::from_value(&value).unwrap();
        prop_assert_eq!(&json, &compact);
        // Both through the same reader, which may round the last digit of a float.
        prop_assert_eq!(json.read::<Value>().unwrap(), serde_json::from_str::<Value>(&value.to_string()).unwrap());
    }
}
