//! Old lines of other programs stay readable.

use haft_protocol::codec::{DecodedFrame, FrameSet, decode};
use haft_protocol::ext::{ExtensionFrame, HostFrame, LifecycleEvent};
use haft_protocol::message::StopCause;

const HOST: &str = include_str!("../../fixtures/compat/v1/host.jsonl");
const EXTENSION: &str = include_str!("../../fixtures/compat/v1/extension.jsonl");

#[track_caller]
fn check<F: FrameSet>(lines: &str) {
    assert!(lines.lines().count() > 10);
    for line in lines.lines() {
        match decode::<F>(line.as_bytes()) {
            Ok(DecodedFrame::Known(_)) => {}
            Ok(DecodedFrame::Unknown { kind, .. }) => panic!("unknown {kind:?}: {line}"),
            Err(error) => panic!("{error}: {line}"),
        }
    }
}

#[test]
fn lines_of_zot_as_a_host_are_read() {
    check::<HostFrame>(HOST);
}

#[test]
fn lines_of_zot_extensions_are_read() {
    check::<ExtensionFrame>(EXTENSION);
}

#[test]
fn reads_both_names_of_a_normal_end() {
    let end = |stop: &str| {
        let line = format!(r#"{{"type":"event","event":"turn_end","stop":"{stop}"}}"#);
        decode::<HostFrame>(line.as_bytes()).unwrap()
    };
    let expect = DecodedFrame::Known(HostFrame::from(LifecycleEvent::turn_end(StopCause::End, None)));
    assert_eq!(end("end_turn"), expect);
    assert_eq!(end("end"), expect);
}
