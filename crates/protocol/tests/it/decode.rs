//! Known, unknown and malformed lines, with their errors.

use haft_protocol::RawJson;
use haft_protocol::codec::{self, DecodedFrame, LineLimits, decode, decode_with_limit, encode, is_blank};
use haft_protocol::error::DecodeError;
use haft_protocol::ext::{EventFrame, ExtensionFrame, HostFrame, LifecycleEvent, Limits};
use haft_protocol::ids::ToolCallId;
use haft_protocol::limits::{MAX_DEPTH, MAX_LINE, MAX_NODES};

type Outcome = Result<DecodedFrame<ExtensionFrame>, DecodeError>;

/// Describes an outcome in one line: `known ready`, `unknown submit #7`, `frame_invalid hello #1:
/// name: …`.
fn describe(outcome: Outcome) -> String {
    let id = |id: Option<haft_protocol::ids::RequestId>| id.map_or(String::new(), |id| format!(" #{id}"));
    match outcome {
        Ok(DecodedFrame::Known(frame)) => format!("known {}", codec::FrameSet::kind(&frame)),
        Ok(DecodedFrame::Unknown { kind, id: request }) => format!("unknown {kind}{}", id(request)),
        Err(DecodeError::Malformed { kind, id: request, detail }) => {
            format!("frame_invalid {kind}{}: {detail}", id(request))
        }
        Err(error) => format!("{}: {error}", error.code()),
    }
}

#[track_caller]
fn check(line: impl AsRef<[u8]>, expect: &str) {
    let line = line.as_ref();
    assert_eq!(describe(decode(line)), expect, "{}", String::from_utf8_lossy(line));
}

#[test]
fn reads_known_frames() {
    check(r#"{"type":"ready"}"#, "known ready");
    check("{\"type\":\"ready\"}\r", "known ready");
    check("  \t{ \"type\" : \"ready\" }  ", "known ready");
    check(r#"{"since":"2031","type":"ready"}"#, "known ready");
    check("{\"type\":\"notify\",\"message\":\"a\u{2028}b\u{85}c\"}", "known notify");
    check(r#"{"type":"notify","level":"loud","message":"an unknown level is info"}"#, "known notify");
    check(r#"{"type":"notify","level":null,"message":""}"#, "known notify");
    check(r#"{"type":"tool_result","id":"1","content":[{"type":"video","text":5}]}"#, "known tool_result");
}

#[test]
fn unknown_frames_keep_their_id() {
    check(r#"{"type":"draw_panel","panel":{"id":"p"}}"#, "unknown draw_panel");
    check(r#"{"type":"widget","id":"7","name":"x"}"#, "unknown widget #7");
    check(r#"{"type":"widget","id":7}"#, "unknown widget");
    check(r#"{"Type":"ready"}"#, "unknown ");
    check("{}", "unknown ");
    check(r#"{"type":null}"#, "unknown ");
    // Frames of the other direction are unknown as well.
    check(r#"{"type":"hello_ack"}"#, "unknown hello_ack");
}

#[test]
fn malformed_frames_keep_their_id_and_name_the_field() {
    check(r#"{"type":"tool_result","content":[]}"#, "frame_invalid tool_result: missing field `id`");
    check(
        r#"{"type":"tool_result","id":7}"#,
        "frame_invalid tool_result: id: invalid type: integer `7`, expected a string",
    );
    check(
        r#"{"type":"tool_result","id":"1","content":"x"}"#,
        "frame_invalid tool_result #1: content: invalid type: string \"x\", expected a sequence",
    );
    check(
        r#"{"type":"tool_result","id":"1","content":[{"type":"text","text":"a"},{"type":"text"}]}"#,
        "frame_invalid tool_result #1: content[1]: missing field `text`",
    );
    check(
        r#"{"type":"tool_result","id":"1","content":[["text","a"]]}"#,
        "frame_invalid tool_result #1: content[0]: expected a block: a JSON object",
    );
    check(
        r#"{"type":"command_response","id":"1","open_panel":{"id":"p","lines":[1]}}"#,
        "frame_invalid command_response #1: open_panel.lines[0]: invalid type: integer `1`, expected a string",
    );
    check(r#"{"type":5,"id":"1"}"#, "frame_invalid  #1: type: invalid type: integer `5`, expected a string");
    check(
        "{\"type\":\"hello\",\"name\":\"a\\u0000b\"}",
        "frame_invalid hello: name: control character U+0000",
    );
    check(
        r#"{"type":"panel_close","panel_id":"\u001b[2J"}"#,
        "frame_invalid panel_close: panel_id: control character U+001B",
    );
}

#[test]
fn block_that_is_not_boolean_is_never_read_as_allow() {
    for block in ["\"false\"", "\"true\"", "0", "1", "null", "[]", "{}", "\"\"", "0.0", "\"Allow\""] {
        let line = format!(r#"{{"type":"event_intercept_response","id":"1","block":{block}}}"#);
        let outcome = describe(decode(line.as_bytes()));
        assert!(outcome.starts_with("frame_invalid event_intercept_response #1: block: "), "{outcome}");
    }
}

#[test]
fn values_other_than_objects_are_rejected() {
    for line in [r#"["hello","x","1"]"#, "\"hello\"", "5", "null", "true", "[]"] {
        check(line, "frame_not_object: a frame is a JSON object");
    }
}

#[track_caller]
fn check_code(line: impl AsRef<[u8]>, expect: &str) {
    let line = line.as_ref();
    match decode::<ExtensionFrame>(line) {
        Err(error) => assert_eq!(error.code(), expect, "{}", String::from_utf8_lossy(line)),
        Ok(frame) => panic!("{frame:?}: {}", String::from_utf8_lossy(line)),
    }
}

#[test]
fn invalid_json_is_rejected() {
    check_code("", "frame_not_json");
    check_code("hello", "frame_not_json");
    check_code(r#"{"type":"ready""#, "frame_not_json");
    check_code(r#"{"type":"ready"} {"type":"ready"}"#, "frame_not_json");
    check_code(r#"{'type':'ready'}"#, "frame_not_json");
    check_code(r#"{"type":"ready","x":NaN}"#, "frame_not_json");
    check_code(r#"{"type":"ready","x":Infinity}"#, "frame_not_json");
    check_code("\0{\"type\":\"ready\"}", "frame_not_json");
    check_code("{\"type\":\"ready\"}\0\0", "frame_not_json");
    check_code("{\"type\":\"re\0ady\"}", "frame_not_json");
    check_code("\u{feff}{\"type\":\"ready\"}", "frame_not_json");
    check_code("\u{a0}{\"type\":\"ready\"}", "frame_not_json");
    check_code("{\"type\":\"ready\"}\u{2028}", "frame_not_json");
    check_code(b"{\"type\":\"\xff\"}", "frame_not_utf8");
    check_code(b"{\"type\":\"\xc0\xaf\"}", "frame_not_utf8");
    check_code(b"\xff\xfe{\0}\0", "frame_not_utf8");
    check_code(b"{\0\"\0t\0}\0", "frame_not_json");
}

#[test]
fn blank_lines_are_recognized() {
    assert!(is_blank(b"") && is_blank(b" \t\r"));
    assert!(!is_blank(b"x") && !is_blank(b"\0") && !is_blank("\u{a0}".as_bytes()));
}

#[test]
fn ambiguous_frames_are_rejected() {
    check_code(r#"{"type":"ready","type":"hello"}"#, "frame_duplicate_key");
    check_code(r#"{"type":"ready","t\u0079pe":"hello"}"#, "frame_duplicate_key");
    check_code(
        r#"{"type":"event_intercept_response","id":"1","modified_args":{"command":"ls","command":"rm"}}"#,
        "frame_duplicate_key",
    );
}

#[test]
fn keeps_exact_numbers_and_rejects_those_out_of_range() {
    let tool =
        |number: &str| format!(r#"{{"type":"tool_call","id":"1","name":"t","args":{{"n":{number}}}}}"#);
    for number in
        ["9007199254740993", "18446744073709551616", "-0", "0.1e-7", "123456789012345678901234567890"]
    {
        let Ok(DecodedFrame::Known(HostFrame::ToolCall(call))) = decode(tool(number).as_bytes()) else {
            panic!("{number}")
        };
        assert_eq!(call.args.as_str(), format!(r#"{{"n":{number}}}"#));
    }
    let Err(DecodeError::Malformed { kind, id, detail }) = decode::<HostFrame>(tool("1e400").as_bytes())
    else {
        panic!("1e400 was read")
    };
    assert_eq!((kind.as_str(), id.unwrap().as_str()), ("tool_call", "1"));
    assert_eq!(detail, "number out of range");
    for step in ["4294967296", "-1", "1.5", "1e3"] {
        let line = format!(r#"{{"type":"event","event":"turn_start","step":{step}}}"#);
        assert_eq!(decode::<HostFrame>(line.as_bytes()).unwrap_err().code(), "frame_invalid", "{step}");
    }
}

#[test]
fn lone_surrogates_are_replaced_in_text_and_rejected_in_names() {
    let line = br#"{"type":"notify","message":"caf\udce9 \ud83d\ude00"}"#;
    let Ok(DecodedFrame::Known(ExtensionFrame::Notify(note))) = decode(line) else {
        panic!("text was refused")
    };
    assert_eq!(note.message, "caf\u{fffd} \u{1f600}");
    check(r#"{"type":"hello","name":"\ud800"}"#, "frame_invalid hello: name: holds half of a surrogate pair");
    check(
        r#"{"type":"tool_result","id":"\ud800"}"#,
        "frame_invalid tool_result: id: holds half of a surrogate pair",
    );
    check(
        r#"{"type":"event_intercept_response","id":"1","modified_args":{"command":"\ud800"}}"#,
        "frame_invalid event_intercept_response #1: modified_args: holds half of a surrogate pair",
    );
}

#[test]
fn length_is_limited() {
    let line = |length: usize| {
        let frame = r#"{"type":"notify","message":""}"#;
        frame.replace("\"\"", &format!("\"{}\"", "x".repeat(length - frame.len())))
    };
    check(line(MAX_LINE), "known notify");
    check(line(MAX_LINE + 1), "frame_too_long: line longer than 1048576 bytes");
    assert_eq!(
        describe(decode_with_limit(line(101).as_bytes(), 100)),
        "frame_too_long: line longer than 100 bytes"
    );
    assert_eq!(describe(decode_with_limit(line(100).as_bytes(), 100)), "known notify");
}

#[test]
fn depth_is_limited() {
    // The frame itself is the first level.
    let line = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"type":"register_tool","name":"t","schema":{open}{close}}}"#)
    };
    check(line(MAX_DEPTH), "known register_tool");
    check(line(MAX_DEPTH + 1), "frame_too_deep: nested deeper than 64 levels");
    let small = std::thread::Builder::new().stack_size(256 * 1024);
    small
        .spawn(move || check(line(100_000), "frame_too_deep: nested deeper than 64 levels"))
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn values_are_limited() {
    // The frame, three keys, two strings and the array also count.
    let line = |values: usize| {
        let zeros = vec!["0"; values - 7].join(",");
        format!(r#"{{"type":"register_tool","name":"t","schema":[{zeros}]}}"#)
    };
    check(line(MAX_NODES), "known register_tool");
    check(line(MAX_NODES + 1), "frame_too_deep: more than 200000 values");
}

/// A model may write any arguments; the event for observers must be a frame that every reader
/// accepts.
#[test]
fn tool_call_event_is_valid_for_any_arguments() {
    for (args, told) in
        [(r#"{"a":1}"#, Some(r#"{"a":1}"#)), ("\"half {\"", None), ("[1]", None), ("null", None)]
    {
        let event =
            LifecycleEvent::tool_call(ToolCallId::new("t1"), "read".into(), RawJson::parse(args).unwrap());
        let line = encode(&HostFrame::from(event)).unwrap();
        let decoded = decode(line.as_bytes());
        let Ok(DecodedFrame::Known(HostFrame::Event(EventFrame::Lifecycle(event)))) = decoded else {
            panic!("refused: {line}");
        };
        assert_eq!(event.tool_args.as_ref().map(RawJson::as_str), told);
    }
}

#[test]
fn other_protocol_version_is_reported() {
    for (version, other) in [("1", None), ("null", None), ("0", Some("0")), ("999", Some("999"))]
        .into_iter()
        .chain([("\"1\"", Some("\"1\"")), ("1.5", Some("1.5")), ("1.0", Some("1.0")), ("[1]", Some("[1]"))])
    {
        let line = format!(r#"{{"type":"hello","name":"x","protocol_version":{version}}}"#);
        let Ok(DecodedFrame::Known(ExtensionFrame::Hello(hello))) = decode(line.as_bytes()) else {
            panic!("{line}");
        };
        assert_eq!(hello.other_version(), other);
    }
}

#[test]
fn absent_limits_have_their_defaults() {
    let line = r#"{"type":"hello_ack","protocol_version":1,"zot_version":"","provider":"","model":"","cwd":"",
        "limits":{"max_line":7,"max_result_line":8,"max_depth":9,"max_tools":10,"since_later":true}}"#;
    let Ok(DecodedFrame::Known(HostFrame::HelloAck(ack))) = decode(line.replace('\n', "").as_bytes()) else {
        panic!("{line}");
    };
    let old = Limits { max_line: 7, max_result_line: 8, max_depth: 9, max_tools: 10, ..Limits::default() };
    assert_eq!(ack.limits, Some(Box::new(old)));
}

#[test]
fn repaired_text_is_reported() {
    for (text, mended) in [("caf\\udce9", true), ("\\ud83d\\ude00", false), ("\\u0000", false), ("x", false)]
    {
        let line = format!(r#"{{"type":"notify","message":"{text}"}}"#);
        let reading = codec::read::<ExtensionFrame>(line.as_bytes(), LineLimits::default()).unwrap();
        assert_eq!(reading.repaired, mended, "{text}");
    }
}

#[test]
fn custom_limits_are_exact() {
    let line = br#"{"type":"register_tool","name":"t","schema":[[0]]}"#;
    let exact = LineLimits { line: line.len(), depth: 3, nodes: 9 };
    let code =
        |bounds| codec::read::<ExtensionFrame>(line, bounds).map_or_else(|error| error.code(), |_| "ok");
    assert_eq!(code(exact), "ok");
    assert_eq!(code(LineLimits { line: exact.line - 1, ..exact }), "frame_too_long");
    assert_eq!(code(LineLimits { depth: exact.depth - 1, ..exact }), "frame_too_deep");
    assert_eq!(code(LineLimits { nodes: exact.nodes - 1, ..exact }), "frame_too_deep");
}
