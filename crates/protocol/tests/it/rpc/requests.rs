//! Invalid requests with their replies, and unusual lines that are valid.

use haft_protocol::codec::LineLimits;
use haft_protocol::rpc::{BOUNDS, Command, MAX_LINE, PingCommand, RpcRequest, SetTools, read_request};
use insta::assert_snapshot;

/// Returns the reply to an invalid line.
#[track_caller]
fn reply(line: impl AsRef<[u8]>) -> String {
    let unread = read_request(line.as_ref(), BOUNDS).unwrap_err();
    unread.into_response().encode().unwrap()
}

#[test]
fn unreadable_line_is_malformed() {
    let lines: Vec<&[u8]> = vec![
        b"{",
        b"hello",
        b"[]",
        br#"["7","ping"]"#,
        b"\xff",
        br#"{"id":7,"type":"ping"}"#,
        br#"{"id":{"a":1},"type":"ping"}"#,
        br#"{"id":"7","type":5}"#,
        br#"{"id":"7","type":"ping","type":"abort"}"#,
        br#"{"id":"7","type":"ping","x":1e400}"#,
    ];
    assert_snapshot!(lines.into_iter().map(reply).collect::<String>(), @r#"
    {"type":"response","command":"","success":false,"error":"malformed json: EOF while parsing an object","code":"malformed"}
    {"type":"response","command":"","success":false,"error":"malformed json: expected value","code":"malformed"}
    {"type":"response","command":"","success":false,"error":"malformed json: not an object","code":"malformed"}
    {"type":"response","command":"","success":false,"error":"malformed json: not an object","code":"malformed"}
    {"type":"response","command":"","success":false,"error":"malformed json: line is not UTF-8","code":"malformed"}
    {"type":"response","command":"","success":false,"error":"malformed json: id: invalid type: integer `7`, expected a string","code":"malformed"}
    {"type":"response","command":"","success":false,"error":"malformed json: id: invalid type: map, expected a string","code":"malformed"}
    {"type":"response","id":"7","command":"","success":false,"error":"malformed json: type: invalid type: integer `5`, expected a string","code":"malformed"}
    {"type":"response","id":"7","command":"","success":false,"error":"malformed json: key \"type\" occurs twice in one object","code":"malformed"}
    {"type":"response","id":"7","command":"","success":false,"error":"malformed json: number out of range","code":"malformed"}
    "#);
}

#[test]
fn unknown_command_is_repeated_in_the_reply() {
    let lines = [r#"{"id":"7","type":"dance"}"#, r#"{"id":"7"}"#, r#"{"type":null}"#, r#"{"type":"Ping"}"#];
    assert_snapshot!(lines.into_iter().map(reply).collect::<String>(), @r#"
    {"type":"response","id":"7","command":"dance","success":false,"error":"unknown command \"dance\"; use one of hello, prompt, abort, steer, follow_up, interrupt, take_queued, compact, wait_idle, get_state, get_messages, clear, set_model, get_models, set_thinking, get_tools, set_tools, new_session, switch_session, close_session, list_sessions, fork, tree, move_to, set_name, append_entry, send_message, set_label, set_tags, find_sessions, list_commands, run_command, complete_command, run_shortcut, list_extensions, reload_ext, list_jobs, stop_job, panel_key, panel_resize, panel_close, ui_response, ping, shutdown","code":"unknown_command"}
    {"type":"response","id":"7","command":"","success":false,"error":"unknown command \"\"; use one of hello, prompt, abort, steer, follow_up, interrupt, take_queued, compact, wait_idle, get_state, get_messages, clear, set_model, get_models, set_thinking, get_tools, set_tools, new_session, switch_session, close_session, list_sessions, fork, tree, move_to, set_name, append_entry, send_message, set_label, set_tags, find_sessions, list_commands, run_command, complete_command, run_shortcut, list_extensions, reload_ext, list_jobs, stop_job, panel_key, panel_resize, panel_close, ui_response, ping, shutdown","code":"unknown_command"}
    {"type":"response","command":"","success":false,"error":"unknown command \"\"; use one of hello, prompt, abort, steer, follow_up, interrupt, take_queued, compact, wait_idle, get_state, get_messages, clear, set_model, get_models, set_thinking, get_tools, set_tools, new_session, switch_session, close_session, list_sessions, fork, tree, move_to, set_name, append_entry, send_message, set_label, set_tags, find_sessions, list_commands, run_command, complete_command, run_shortcut, list_extensions, reload_ext, list_jobs, stop_job, panel_key, panel_resize, panel_close, ui_response, ping, shutdown","code":"unknown_command"}
    {"type":"response","command":"Ping","success":false,"error":"unknown command \"Ping\"; use one of hello, prompt, abort, steer, follow_up, interrupt, take_queued, compact, wait_idle, get_state, get_messages, clear, set_model, get_models, set_thinking, get_tools, set_tools, new_session, switch_session, close_session, list_sessions, fork, tree, move_to, set_name, append_entry, send_message, set_label, set_tags, find_sessions, list_commands, run_command, complete_command, run_shortcut, list_extensions, reload_ext, list_jobs, stop_job, panel_key, panel_resize, panel_close, ui_response, ping, shutdown","code":"unknown_command"}
    "#);
    let long = reply(format!(r#"{{"type":"{}"}}"#, "x".repeat(5000)));
    assert!(long.len() < 1500, "{long}");
}

#[test]
fn wrong_field_is_named_with_the_expected_type() {
    let lines = [
        r#"{"id":"7","type":"prompt"}"#,
        r#"{"id":"7","type":"prompt","message":5}"#,
        r#"{"id":"7","type":"prompt","message":"x","images":[{"mime_type":"image/png"}]}"#,
        r#"{"id":"7","type":"set_model","model":"a\u0000b"}"#,
        r#"{"id":"7","type":"set_thinking","level":"lots"}"#,
        r#"{"id":"7","type":"set_tools","tools":"read"}"#,
        r#"{"id":"7","type":"switch_session"}"#,
        r#"{"id":"7","type":"get_state","session":5}"#,
        r#"{"id":"7","type":"ui_response","request":"ui-1"}"#,
        r#"{"id":"7","type":"ui_response","request":"ui-1","value":"a","confirmed":true}"#,
        r#"{"id":"7","type":"hello","client":[]}"#,
        r#"{"id":"7","type":"set_model","model":"a\ud800"}"#,
        r#"{"id":"a\ud800","type":"ping"}"#,
    ];
    assert_snapshot!(lines.into_iter().map(reply).collect::<String>(), @r#"
    {"type":"response","id":"7","command":"prompt","success":false,"error":"prompt: missing field `message`; expected {\"type\":\"prompt\",\"message\":\"…\",\"images\":[{\"mime_type\":\"image/png\",\"data\":\"…\"}]}","code":"bad_request"}
    {"type":"response","id":"7","command":"prompt","success":false,"error":"prompt: message: invalid type: integer `5`, expected a string; expected {\"type\":\"prompt\",\"message\":\"…\",\"images\":[{\"mime_type\":\"image/png\",\"data\":\"…\"}]}","code":"bad_request"}
    {"type":"response","id":"7","command":"prompt","success":false,"error":"prompt: images[0]: missing field `data`; expected {\"type\":\"prompt\",\"message\":\"…\",\"images\":[{\"mime_type\":\"image/png\",\"data\":\"…\"}]}","code":"bad_request"}
    {"type":"response","id":"7","command":"set_model","success":false,"error":"set_model: model: control character U+0000; expected {\"type\":\"set_model\",\"model\":\"PROVIDER/MODEL\"}","code":"bad_request"}
    {"type":"response","id":"7","command":"set_thinking","success":false,"error":"set_thinking: level: unknown variant `lots`, expected one of `default`, `off`, `minimal`, `low`, `medium`, `high`, `xhigh`; expected {\"type\":\"set_thinking\",\"level\":\"default|off|minimal|low|medium|high|xhigh\"}","code":"bad_request"}
    {"type":"response","id":"7","command":"set_tools","success":false,"error":"set_tools: tools: invalid type: string \"read\", expected a sequence; expected {\"type\":\"set_tools\",\"tools\":[\"…\"]}","code":"bad_request"}
    {"type":"response","id":"7","command":"switch_session","success":false,"error":"switch_session: missing field `session`; expected {\"type\":\"switch_session\",\"session\":\"…\"}","code":"bad_request"}
    {"type":"response","id":"7","command":"get_state","success":false,"error":"get_state: session: invalid type: integer `5`, expected a string","code":"bad_request"}
    {"type":"response","id":"7","command":"ui_response","success":false,"error":"ui_response: exactly one of confirmed, value and cancelled is needed; expected {\"type\":\"ui_response\",\"request\":\"…\",\"value\":\"…\"}","code":"bad_request"}
    {"type":"response","id":"7","command":"ui_response","success":false,"error":"ui_response: exactly one of confirmed, value and cancelled is needed; expected {\"type\":\"ui_response\",\"request\":\"…\",\"value\":\"…\"}","code":"bad_request"}
    {"type":"response","id":"7","command":"hello","success":false,"error":"hello: client: invalid length 0, expected an object; expected {\"type\":\"hello\",\"token\":\"…\",\"client\":{\"name\":\"…\",\"version\":\"…\"},\"ui\":true,\"approve\":[\"…\"]}","code":"bad_request"}
    {"type":"response","id":"7","command":"set_model","success":false,"error":"set_model: model: holds half of a surrogate pair; expected {\"type\":\"set_model\",\"model\":\"PROVIDER/MODEL\"}","code":"bad_request"}
    {"type":"response","command":"ping","success":false,"error":"ping: id: holds half of a surrogate pair; expected {\"type\":\"ping\"}","code":"bad_request"}
    "#);
}

#[test]
fn line_above_the_limit_is_rejected() {
    let line = |bytes: usize| {
        let frame = r#"{"type":"prompt","message":""}"#;
        format!(r#"{{"type":"prompt","message":"{}"}}"#, "x".repeat(bytes - frame.len()))
    };
    assert!(read_request(line(MAX_LINE).as_bytes(), BOUNDS).is_ok());
    assert_snapshot!(reply(line(MAX_LINE + 1)), @r#"{"type":"response","command":"","success":false,"error":"malformed json: line longer than 16777216 bytes","code":"line_too_long"}"#);
    let bounds = LineLimits { line: 100, ..BOUNDS };
    assert!(read_request(line(100).as_bytes(), bounds).is_ok());
    assert!(read_request(line(101).as_bytes(), bounds).is_err());
    let deep = format!(r#"{{"id":"7","type":"ping","x":{}{}}}"#, "[".repeat(64), "]".repeat(64));
    assert_snapshot!(reply(deep), @r#"{"type":"response","id":"7","command":"","success":false,"error":"malformed json: nested deeper than 64 levels","code":"malformed"}"#);
}

#[track_caller]
fn reads(line: &str, expect: RpcRequest) {
    assert_eq!(read_request(line.as_bytes(), BOUNDS), Ok(expect), "{line}");
}

#[test]
fn null_is_absent_and_unknown_fields_are_ignored() {
    let ping = RpcRequest::new(PingCommand {});
    reads("{\"type\":\"ping\"}\r", ping.clone());
    reads(r#" {"new":{"a":[1]},"type":"ping","session":null,"id":null} "#, ping.clone());
    reads(r#"{"type":"\u0070ing","id":""}"#, ping);
    reads(r#"{"type":"set_tools"}"#, RpcRequest::new(SetTools { tools: None }));
    reads(r#"{"type":"set_tools","tools":null}"#, RpcRequest::new(SetTools { tools: None }));
    let prompt = |line: &str| {
        let request = read_request(line.as_bytes(), BOUNDS).unwrap();
        let Command::Prompt(prompt) = request.command else { panic!("{request:?}") };
        prompt.message
    };
    assert_eq!(prompt(r#"{"type":"prompt","message":"a\ud800b","images":null}"#), "a\u{fffd}b");
    assert_eq!(prompt(r#"{"message":"\ud83d\ude00","type":"prompt"}"#), "\u{1f600}");
}
