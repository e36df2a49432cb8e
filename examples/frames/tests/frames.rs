//! Conversations with the extension, as lines on the wire.

use haft_example_frames::{answer, opening};
use haft_protocol::codec::{DecodedFrame, decode, encode};
use haft_protocol::ext::HostFrame;
use insta::assert_snapshot;

/// Sends lines of the host to the extension and records both sides.
fn conversation(host: &[&str]) -> String {
    let mut lines = Vec::new();
    for line in host {
        lines.push(format!("host      {line}\n"));
        match decode::<HostFrame>(line.as_bytes()) {
            Ok(DecodedFrame::Known(frame)) => lines.extend(answer(frame).map(|frame| said(&frame))),
            Ok(DecodedFrame::Unknown { kind, .. }) => lines.push(format!("          (ignores {kind:?})\n")),
            Err(error) => panic!("{error}: {line}"),
        }
    }
    lines.concat()
}

fn said(frame: &haft_protocol::ext::ExtensionFrame) -> String {
    format!("extension {}", encode(frame).expect("frames of the protocol have a JSON form"))
}

#[test]
fn extension_sends_hello_registrations_and_ready() {
    assert_snapshot!(opening().iter().map(said).collect::<String>(), @r#"
    extension {"type":"hello","name":"words","version":"1.0.0","capabilities":["tools"]}
    extension {"type":"register_tool","name":"count_words","description":"Counts the words of its arguments."}
    extension {"type":"subscribe","intercept":["tool_call"]}
    extension {"type":"ready"}
    "#);
}

#[test]
fn a_tool_call_is_answered() {
    assert_snapshot!(conversation(&[
        r#"{"type":"tool_call","id":"1","name":"count_words","args":{"text":"one two three"}}"#,
        r#"{"type":"shutdown"}"#,
    ]), @r#"
    host      {"type":"tool_call","id":"1","name":"count_words","args":{"text":"one two three"}}
    extension {"type":"tool_result","id":"1","content":[{"type":"text","text":"3 words"}]}
    host      {"type":"shutdown"}
    extension {"type":"shutdown_ack"}
    "#);
}

#[test]
fn a_dangerous_call_is_blocked_and_others_pass() {
    assert_snapshot!(conversation(&[
        r#"{"type":"event_intercept","id":"1","event":"tool_call","tool_id":"a","tool_name":"bash","tool_args":{"command":"rm -rf victim"}}"#,
        r#"{"type":"event_intercept","id":"2","event":"tool_call","tool_id":"b","tool_name":"read","tool_args":{"path":"a.txt"}}"#,
    ]), @r#"
    host      {"type":"event_intercept","id":"1","event":"tool_call","tool_id":"a","tool_name":"bash","tool_args":{"command":"rm -rf victim"}}
    extension {"type":"event_intercept_response","id":"1","block":true,"reason":"not with me"}
    host      {"type":"event_intercept","id":"2","event":"tool_call","tool_id":"b","tool_name":"read","tool_args":{"path":"a.txt"}}
    extension {"type":"event_intercept_response","id":"2"}
    "#);
}

#[test]
fn frames_of_a_newer_host_are_ignored() {
    assert_snapshot!(conversation(&[r#"{"type":"open_tab","id":"1"}"#]), @r#"
    host      {"type":"open_tab","id":"1"}
              (ignores "open_tab")
    "#);
}

#[test]
fn readme_names_the_versions_that_this_package_uses() {
    let (readme, workspace) = (include_str!("../README.md"), include_str!("../../../Cargo.toml"));
    let own = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));
    assert!(readme.contains(&format!("\nhaft-protocol = \"{own}\"\n")), "{readme}");
    let insta = workspace.lines().find(|line| line.starts_with("insta = ")).unwrap_or_default();
    let major = insta.split('"').nth(1).and_then(|version| version.split('.').next()).unwrap_or_default();
    assert!(readme.contains(&format!("\ninsta = \"{major}\"\n")), "{insta}");
}
