//! Group B, too: far too much of everything.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{At, Fault, Then};
use crate::good;
use crate::peer::{Peer, count};

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "flood", at: At::Ready, act: flood },
    Fault { name: "flood-junk", at: At::Ready, act: flood_junk },
    Fault { name: "flood-stderr", at: At::Ready, act: flood_stderr },
    Fault { name: "busy", at: At::Ready, act: busy },
    Fault { name: "many-tools", at: At::Registered, act: many_tools },
    Fault { name: "churn", at: At::Acknowledged, act: churn },
    Fault { name: "spam-notes", at: At::Acknowledged, act: spam_notes },
    Fault { name: "spam-panel", at: At::Command, act: spam_panel },
];

fn flood(peer: &mut Peer, _: &Value) -> Then {
    loop {
        peer.say(&json!({"type": "notify", "level": "info", "message": "flood"}));
    }
}

fn flood_junk(peer: &mut Peer, _: &Value) -> Then {
    loop {
        peer.raw(b"what a debugger prints\n");
    }
}

/// `HAFT_COUNT` MiB of lines.
fn flood_stderr(peer: &mut Peer, _: &Value) -> Then {
    let lines = "a line of a log that says nothing at all\n".repeat(25_000);
    for _ in 0..count(64) {
        // Whoever does not read this wants it lost.
        _ = std::io::stderr().write_all(lines.as_bytes());
    }
    peer.mark("all is written");
    // The log says what is missing when it goes on, in another second.
    std::thread::spawn(|| {
        loop {
            _ = std::io::stderr().write_all(b"the end of it\n");
            // sleep: the fault itself, a line now and then
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    Then::GoOn
}

/// Computes beside everything else.
fn busy(_: &mut Peer, _: &Value) -> Then {
    std::thread::spawn(|| {
        let mut number = 0_u64;
        loop {
            number = std::hint::black_box(number.wrapping_mul(31).wrapping_add(7));
        }
    });
    Then::GoOn
}

/// `HAFT_COUNT` tools beside its own.
fn many_tools(peer: &mut Peer, _: &Value) -> Then {
    for number in 0..count(1_000) {
        peer.say(&good::tool(&format!("many_{number}")));
    }
    Then::GoOn
}

/// Its tool again and again, each time with another description.
fn churn(peer: &mut Peer, _: &Value) -> Then {
    for number in 0..count(10_000) {
        let mut tool = good::tool("evil_tool");
        tool["description"] = format!("version {number}").into();
        peer.say(&tool);
    }
    Then::GoOn
}

fn spam_notes(peer: &mut Peer, _: &Value) -> Then {
    for number in 0..count(1_000) {
        peer.say(&json!({"type": "notify", "level": "info", "message": format!("note {number}")}));
    }
    peer.mark("all is said");
    Then::GoOn
}

/// Opens a panel and draws it a thousand times within a second.
fn spam_panel(peer: &mut Peer, frame: &Value) -> Then {
    peer.say(&json!({"type": "command_response", "id": frame["id"], "action": "open_panel",
        "open_panel": {"id": "p", "title": "evil", "lines": ["the first"]}}));
    for number in 0..count(1_000) {
        peer.say(&json!({"type": "panel_render", "panel_id": "p", "lines": [format!("{number}")]}));
        // sleep: the fault itself
        std::thread::sleep(Duration::from_millis(1));
    }
    peer.say(&json!({"type": "panel_render", "panel_id": "p", "lines": ["the last"]}));
    peer.mark("all is said");
    Then::Instead
}
