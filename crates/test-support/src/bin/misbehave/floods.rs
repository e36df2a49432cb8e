//! Group B, continued: far too much of everything.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::good;
use crate::peer::{ExtensionPeer, count};

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "flood", at: FaultMoment::Ready, act: flood },
    FaultSpec { name: "flood-junk", at: FaultMoment::Ready, act: flood_junk },
    FaultSpec { name: "flood-stderr", at: FaultMoment::Ready, act: flood_stderr },
    FaultSpec { name: "busy", at: FaultMoment::Ready, act: busy },
    FaultSpec { name: "many-tools", at: FaultMoment::Registered, act: many_tools },
    FaultSpec { name: "churn", at: FaultMoment::Acknowledged, act: churn },
    FaultSpec { name: "spam-notes", at: FaultMoment::Acknowledged, act: spam_notes },
    FaultSpec { name: "flood-progress", at: FaultMoment::Tool, act: flood_progress },
    FaultSpec { name: BUS_LOOP, at: FaultMoment::Event, act: answer_message },
    FaultSpec { name: "message-loop", at: FaultMoment::Event, act: send_message },
    FaultSpec { name: "spam-panel", at: FaultMoment::Command, act: spam_panel },
];

/// The fault of extensions that answer each other on the bus.
pub(crate) const BUS_LOOP: &str = "bus-loop";

/// Answers each message on the channel `echo` with the same one. Only `evil` begins, after each turn, and it sends a
/// second message beside each, so that it reaches the limit of messages first.
fn answer_message(peer: &mut ExtensionPeer, event: &Value) -> AfterFault {
    let is_evil = peer.name == "evil";
    let is_echo = event["channel"] == "echo";
    if is_echo || (is_evil && event["event"] != "bus") {
        let channels: &[&str] = if is_evil { &["aside", "echo"] } else { &["echo"] };
        for channel in channels {
            let args = json!({"channel": channel, "data": event["data"]});
            peer.send_frame(&json!({"type": "host_call", "call": "emit", "args": args}));
        }
    }
    AfterFault::SkipAnswer
}

/// Sends a message that starts a run, after each turn.
fn send_message(peer: &mut ExtensionPeer, event: &Value) -> AfterFault {
    if event["event"] == "turn_end" {
        let args =
            json!({"kind": "again", "content": "go on", "display": true, "when": "follow_up", "turn": true});
        peer.send_frame(&json!({"type": "host_call", "call": "send_message", "args": args}));
    }
    AfterFault::SkipAnswer
}

fn flood(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    loop {
        peer.send_frame(&json!({"type": "notify", "level": "info", "message": "flood"}));
    }
}

/// Shows progress of a call without end, each time with another text.
fn flood_progress(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    let mut number = 0_u64;
    loop {
        number += 1;
        let content = [json!({"type": "text", "text": format!("step {number}")})];
        peer.send_frame(&json!({"type": "progress", "id": call["id"], "content": content}));
    }
}

fn flood_junk(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    loop {
        peer.send_bytes(b"what a debugger prints\n");
    }
}

/// Writes `HAFT_COUNT` MiB of lines.
fn flood_stderr(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let lines = "a line of a log that says nothing at all\n".repeat(25_000);
    for _ in 0..count(64) {
        // The host may discard this output, so errors are ignored.
        _ = std::io::stderr().write_all(lines.as_bytes());
    }
    peer.mark("all written");
    // The log reports the number of dropped lines with the next line that it accepts, in a later second.
    std::thread::spawn(|| {
        loop {
            _ = std::io::stderr().write_all(b"the end of it\n");
            // sleep: part of the fault, a line from time to time
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    AfterFault::Continue
}

/// Computes in a second thread, while the extension works as usual.
fn busy(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    std::thread::spawn(|| {
        let mut number = 0_u64;
        loop {
            number = std::hint::black_box(number.wrapping_mul(31).wrapping_add(7));
        }
    });
    AfterFault::Continue
}

/// Registers `HAFT_COUNT` tools in addition to its own.
fn many_tools(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for number in 0..count(1_000) {
        peer.send_frame(&good::tool(&format!("many_{number}")));
    }
    AfterFault::Continue
}

/// Registers its tool repeatedly, each time with a different description.
fn churn(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for number in 0..count(10_000) {
        let mut tool = good::tool("evil_tool");
        tool["description"] = format!("version {number}").into();
        peer.send_frame(&tool);
    }
    AfterFault::Continue
}

fn spam_notes(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for number in 0..count(1_000) {
        peer.send_frame(&json!({"type": "notify", "level": "info", "message": format!("note {number}")}));
    }
    peer.mark("all sent");
    AfterFault::Continue
}

/// Opens a panel and draws it a thousand times within a second.
fn spam_panel(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    peer.send_frame(&json!({"type": "command_response", "id": frame["id"], "action": "open_panel",
        "open_panel": {"id": "p", "title": "evil", "lines": ["the first"]}}));
    for number in 0..count(1_000) {
        peer.send_frame(&json!({"type": "panel_render", "panel_id": "p", "lines": [format!("{number}")]}));
        // sleep: part of the fault
        std::thread::sleep(Duration::from_millis(1));
    }
    peer.send_frame(&json!({"type": "panel_render", "panel_id": "p", "lines": ["the last"]}));
    peer.mark("all sent");
    AfterFault::SkipAnswer
}
