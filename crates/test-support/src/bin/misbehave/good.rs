//! Good behaviour, and the two extensions that have no other: `good`, and the `canary` of the fault matrix.

use std::process::exit;

use serde_json::{Value, json};

use crate::content;
use crate::fault::{At, Fault, Then};
use crate::gates;
use crate::peer::Peer;

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "good", at: At::Never, act: |_, _| Then::GoOn },
    // Its tool says how many events it has seen; it intercepts nothing.
    Fault { name: "canary", at: At::Never, act: |_, _| Then::GoOn },
];

/// The events for a canary are steps from this number on.
const CANARY_STEPS: u64 = 1_000_000;

const EVENTS: &[&str] = &["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"];

pub(crate) fn hello(peer: &mut Peer) {
    let name = peer.name.clone();
    peer.say(&json!({"type": "hello", "name": name, "version": "1.0.0", "capabilities": ["ping"]}));
}

pub(crate) fn register(peer: &mut Peer) {
    if peer.fault == "canary" {
        peer.say(&tool("canary_tool"));
        return peer.say(&json!({"type": "subscribe", "events": EVENTS}));
    }
    // For rows with many of us, who would all want the same names.
    if std::env::var_os("HAFT_BARE").is_some() {
        return;
    }
    if peer.fault == "leak" {
        return peer.say(&tool("victim_tool"));
    }
    if let Some(frames) = gates::register(peer) {
        return frames.iter().for_each(|frame| peer.say(frame));
    }
    if peer.fault == content::ADVISOR {
        content::advise(peer);
    }
    let mut own = tool("evil_tool");
    if peer.fault == "new-schema" {
        own["schema"]["properties"] = json!({"new": {"type": "boolean"}});
    }
    peer.say(&own);
    peer.say(&json!({"type": "register_command", "name": "evil"}));
    peer.say(&json!({"type": "subscribe", "intercept": ["tool_call"], "events": EVENTS}));
}

/// A registration of a tool that takes any arguments.
pub(crate) fn tool(name: &str) -> Value {
    json!({"type": "register_tool", "name": name, "description": "for tests", "schema": {"type": "object"}})
}

pub(crate) fn ready(peer: &mut Peer) {
    peer.say(&json!({"type": "ready"}));
}

/// Behaves as a good extension when this frame comes.
pub(crate) fn behave(peer: &mut Peer, at: At, frame: &Value) {
    match at {
        At::Tool | At::Gate | At::Command => answer(peer, frame),
        At::Event if peer.fault == "canary" => {
            // Beside those of runs, which somebody else counts.
            let own = frame["step"].as_u64().is_some_and(|step| step >= CANARY_STEPS);
            peer.events += u64::from(own);
        }
        At::Event => peer.mark(&format!("event {}", frame["event"].as_str().unwrap_or_default())),
        At::Shutdown => {
            peer.say(&json!({"type": "shutdown_ack"}));
            if peer.fault == "canary" {
                peer.bequeath();
            } else {
                peer.mark("shutdown");
            }
            exit(0);
        }
        At::Start
        | At::Greeted
        | At::Registered
        | At::Ready
        | At::Acknowledged
        | At::Question
        | At::BigLine
        | At::Inject
        | At::Never => {}
    }
}

/// Answers whether anybody is there.
pub(crate) fn pong(peer: &mut Peer, ping: &Value) {
    peer.say(&json!({"type": "pong", "id": ping["id"]}));
}

/// Answers a question as it should be.
pub(crate) fn answer(peer: &mut Peer, frame: &Value) {
    let id = &frame["id"];
    let frame = match frame["type"].as_str() {
        Some("tool_call") => {
            let text =
                if peer.fault == "canary" { peer.events_in_all().to_string() } else { "ok".to_owned() };
            json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": text}]})
        }
        Some("command_invoked") => {
            json!({"type": "command_response", "id": id, "action": "display", "display": "evil"})
        }
        _ if frame["tool_args"].to_string().contains("rm -rf") => {
            json!({"type": "event_intercept_response", "id": id, "block": true, "reason": "refused: rm -rf"})
        }
        _ => json!({"type": "event_intercept_response", "id": id}),
    };
    peer.say(&frame);
}
