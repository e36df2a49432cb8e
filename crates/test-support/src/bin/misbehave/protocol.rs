//! Group P: the handshake, framing and frames.

use std::process::exit;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::peer::{ExtensionPeer, count};

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "silent", at: FaultMoment::Start, act: |peer, _| peer.hang() },
    FaultSpec { name: "late-hello", at: FaultMoment::Start, act: late_hello },
    FaultSpec { name: "garbage", at: FaultMoment::Start, act: garbage },
    FaultSpec { name: "exit-before-hello", at: FaultMoment::Start, act: exit_before_hello },
    FaultSpec { name: "signal-before-hello", at: FaultMoment::Start, act: |_, _| std::process::abort() },
    FaultSpec { name: "endless-line", at: FaultMoment::Command, act: endless_line },
    FaultSpec { name: "huge-line", at: FaultMoment::Question, act: huge_line },
    FaultSpec { name: "slow-line", at: FaultMoment::Ready, act: slow_line },
    FaultSpec { name: "half-line", at: FaultMoment::Question, act: half_line },
    FaultSpec { name: "print-to-stdout", at: FaultMoment::Question, act: print_to_stdout },
    FaultSpec { name: "many-unknown-types", at: FaultMoment::Acknowledged, act: many_unknown_types },
    FaultSpec { name: "thousand-in-one-write", at: FaultMoment::Tool, act: thousand_in_one_write },
    FaultSpec { name: "wrong-kind", at: FaultMoment::Question, act: wrong_kind },
    FaultSpec { name: "bad-types", at: FaultMoment::Question, act: bad_types },
];

/// Sends `hello` when the test reports that the deadline has passed.
fn late_hello(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.wait_until_released();
    AfterFault::Continue
}

fn garbage(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.send_bytes(b"Welcome to misbehave 1.0!\n  loading modules...\n");
    AfterFault::Continue
}

/// Exits with the status `HAFT_COUNT`.
fn exit_before_hello(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.log("usage: misbehave <fault>");
    exit(i32::try_from(count(2)).unwrap_or(2))
}

/// Writes `HAFT_COUNT` MiB without a newline; the host must end this process long before.
fn endless_line(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..count(64) {
        peer.send_bytes(&piece);
    }
    peer.mark("endless-line was read to the end");
    peer.hang()
}

fn huge_line(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let text = "x".repeat(9 * 1024 * 1024);
    peer.send_frame(&json!({"type": "notify", "message": text}));
    AfterFault::Continue
}

/// Writes a byte every 20 ms and never a newline, and continues reading.
fn slow_line(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    std::thread::spawn(|| {
        let mut peer = ExtensionPeer::new("slow-line", "slow");
        loop {
            peer.send_bytes(b"x");
            // sleep: part of the fault
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    AfterFault::Continue
}

fn half_line(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.send_bytes(b"{\"type\":\"tool_result\",\"id\":\"ha");
    exit(0)
}

fn print_to_stdout(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.send_bytes(b"debug: got a question\n");
    AfterFault::Continue
}

fn many_unknown_types(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for number in 0..count(1_000) {
        peer.send_frame(&json!({"type": format!("later_{number}")}));
    }
    AfterFault::Continue
}

/// Writes a thousand frames at once, with the answer last.
fn thousand_in_one_write(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let clear = json!({"type": "clear_notes"});
    let answer = json!({"type": "tool_result", "id": frame["id"],
        "content": [{"type": "text", "text": "the thousandth"}]});
    let mut bytes = format!("{clear}\n").repeat(999).into_bytes();
    bytes.extend_from_slice(format!("{answer}\n").as_bytes());
    peer.send_bytes(&bytes);
    AfterFault::SkipAnswer
}

fn wrong_kind(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let wrong = if frame["type"] == "tool_call" { "command_response" } else { "tool_result" };
    peer.send_frame(&json!({"type": wrong, "id": frame["id"]}));
    AfterFault::SkipAnswer
}

fn bad_types(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let id = &frame["id"];
    let answer = match frame["type"].as_str() {
        Some("tool_call") => json!({"type": "tool_result", "id": id, "content": "a string"}),
        Some("command_invoked") => json!({"type": "command_response", "id": id, "action": 7}),
        _ => json!({"type": "event_intercept_response", "id": id, "block": "false"}),
    };
    peer.send_frame(&answer);
    AfterFault::SkipAnswer
}
