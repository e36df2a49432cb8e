//! Group P: hello, framing, frames.

use std::process::exit;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{At, Fault, Then};
use crate::peer::{Peer, count};

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "silent", at: At::Start, act: |peer, _| peer.hang() },
    Fault { name: "late-hello", at: At::Start, act: late_hello },
    Fault { name: "garbage", at: At::Start, act: garbage },
    Fault { name: "exit-before-hello", at: At::Start, act: exit_before_hello },
    Fault { name: "signal-before-hello", at: At::Start, act: |_, _| std::process::abort() },
    Fault { name: "endless-line", at: At::Command, act: endless_line },
    Fault { name: "huge-line", at: At::Question, act: huge_line },
    Fault { name: "slow-line", at: At::Ready, act: slow_line },
    Fault { name: "half-line", at: At::Question, act: half_line },
    Fault { name: "print-to-stdout", at: At::Question, act: print_to_stdout },
    Fault { name: "many-unknown-types", at: At::Acknowledged, act: many_unknown_types },
    Fault { name: "thousand-in-one-write", at: At::Tool, act: thousand_in_one_write },
    Fault { name: "wrong-kind", at: At::Question, act: wrong_kind },
    Fault { name: "bad-types", at: At::Question, act: bad_types },
];

/// Says hello when the test says that the deadline has passed.
fn late_hello(peer: &mut Peer, _: &Value) -> Then {
    peer.until_released();
    Then::GoOn
}

fn garbage(peer: &mut Peer, _: &Value) -> Then {
    peer.raw(b"Welcome to misbehave 1.0!\n  loading modules...\n");
    Then::GoOn
}

/// With the status `HAFT_COUNT`.
fn exit_before_hello(peer: &mut Peer, _: &Value) -> Then {
    peer.log("usage: misbehave <fault>");
    exit(i32::try_from(count(2)).unwrap_or(2))
}

/// `HAFT_COUNT` MiB without a newline; the host must have ended us long before.
fn endless_line(peer: &mut Peer, _: &Value) -> Then {
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..count(64) {
        peer.raw(&piece);
    }
    peer.mark("endless-line was read to the end");
    peer.hang()
}

fn huge_line(peer: &mut Peer, _: &Value) -> Then {
    let text = "x".repeat(9 * 1024 * 1024);
    peer.say(&json!({"type": "notify", "message": text}));
    Then::GoOn
}

/// A byte every 20 ms, and never a newline. It goes on reading.
fn slow_line(_: &mut Peer, _: &Value) -> Then {
    std::thread::spawn(|| {
        let mut peer = Peer::new("slow-line", "slow");
        loop {
            peer.raw(b"x");
            // sleep: the fault itself
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    Then::GoOn
}

fn half_line(peer: &mut Peer, _: &Value) -> Then {
    peer.raw(b"{\"type\":\"tool_result\",\"id\":\"ha");
    exit(0)
}

fn print_to_stdout(peer: &mut Peer, _: &Value) -> Then {
    peer.raw(b"debug: got a question\n");
    Then::GoOn
}

fn many_unknown_types(peer: &mut Peer, _: &Value) -> Then {
    for number in 0..count(1_000) {
        peer.say(&json!({"type": format!("later_{number}")}));
    }
    Then::GoOn
}

/// A thousand frames in one write, the answer last.
fn thousand_in_one_write(peer: &mut Peer, frame: &Value) -> Then {
    let clear = json!({"type": "clear_notes"});
    let answer = json!({"type": "tool_result", "id": frame["id"],
        "content": [{"type": "text", "text": "the thousandth"}]});
    let mut bytes = format!("{clear}\n").repeat(999).into_bytes();
    bytes.extend_from_slice(format!("{answer}\n").as_bytes());
    peer.raw(&bytes);
    Then::Instead
}

fn wrong_kind(peer: &mut Peer, frame: &Value) -> Then {
    let wrong = if frame["type"] == "tool_call" { "command_response" } else { "tool_result" };
    peer.say(&json!({"type": wrong, "id": frame["id"]}));
    Then::Instead
}

fn bad_types(peer: &mut Peer, frame: &Value) -> Then {
    let id = &frame["id"];
    let answer = match frame["type"].as_str() {
        Some("tool_call") => json!({"type": "tool_result", "id": id, "content": "a string"}),
        Some("command_invoked") => json!({"type": "command_response", "id": id, "action": 7}),
        _ => json!({"type": "event_intercept_response", "id": id, "block": "false"}),
    };
    peer.say(&answer);
    Then::Instead
}
