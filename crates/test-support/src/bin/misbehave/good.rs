//! Correct behavior, and the two extensions without a fault: `good`, and the `canary` of the fault matrix.

use std::process::exit;

use serde_json::{Value, json};

use crate::calls::{REGISTER_LOOP, UNREAD_MIRROR};
use crate::content;
use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::floods::BUS_LOOP;
use crate::gates;
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "good", at: FaultMoment::Never, act: |_, _| AfterFault::Continue },
    // Its tool returns the number of events that it has received; it intercepts nothing.
    FaultSpec { name: "canary", at: FaultMoment::Never, act: |_, _| AfterFault::Continue },
];

/// The events for a canary have steps from this number on.
const CANARY_STEPS: u64 = 1_000_000;

const EVENTS: &[&str] = &["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"];

pub(crate) fn hello(peer: &mut ExtensionPeer) {
    let name = peer.name.clone();
    let bus = (peer.fault == BUS_LOOP).then_some("bus");
    let mirror = (peer.fault == UNREAD_MIRROR).then_some("mirror");
    let calls = (peer.fault == REGISTER_LOOP).then_some("calls");
    let own = bus.into_iter().chain(mirror).chain(calls);
    let capabilities: Vec<_> = ["ping", "tools_2", "progress"].into_iter().chain(own).collect();
    let mut hello = json!({"type": "hello", "name": name, "version": "1.0.0", "capabilities": capabilities});
    if mirror.is_some() {
        hello["mirror"] = json!(["entries", "busy"]);
    }
    peer.send_frame(&hello);
}

pub(crate) fn send_registrations(peer: &mut ExtensionPeer) {
    if peer.fault == "canary" {
        peer.send_frame(&tool("canary_tool"));
        return peer.send_frame(&json!({"type": "subscribe", "events": EVENTS}));
    }
    if peer.fault == BUS_LOOP {
        return peer.send_frame(&json!({"type": "subscribe", "events": ["bus", "turn_end"]}));
    }
    // For rows with many extensions, whose names would collide.
    if std::env::var_os("HAFT_BARE").is_some() {
        return;
    }
    if peer.fault == "leak" {
        return peer.send_frame(&tool("victim_tool"));
    }
    if let Some(frames) = gates::gate_registrations(peer) {
        return frames.iter().for_each(|frame| peer.send_frame(frame));
    }
    if peer.fault == content::ADVISOR {
        content::register_advice(peer);
    }
    let mut own = tool("evil_tool");
    if peer.fault == "new-schema" {
        own["schema"]["properties"] = json!({"new": {"type": "boolean"}});
    }
    peer.send_frame(&own);
    peer.send_frame(&json!({"type": "register_command", "name": "evil"}));
    peer.send_frame(&json!({"type": "subscribe", "intercept": ["tool_call"], "events": EVENTS}));
}

/// Returns the registration of a tool that accepts any arguments.
pub(crate) fn tool(name: &str) -> Value {
    json!({"type": "register_tool", "name": name, "description": "for tests", "schema": {"type": "object"}})
}

pub(crate) fn ready(peer: &mut ExtensionPeer) {
    peer.send_frame(&json!({"type": "ready"}));
}

/// Handles this frame as a correct extension.
pub(crate) fn behave_well(peer: &mut ExtensionPeer, at: FaultMoment, frame: &Value) {
    match at {
        FaultMoment::Tool | FaultMoment::Gate | FaultMoment::Command => answer(peer, frame),
        FaultMoment::Event if peer.fault == "canary" => {
            // The events of runs have smaller steps and are counted by the test.
            let own = frame["step"].as_u64().is_some_and(|step| step >= CANARY_STEPS);
            peer.events += u64::from(own);
        }
        FaultMoment::Event => peer.mark(&format!("event {}", frame["event"].as_str().unwrap_or_default())),
        FaultMoment::Shutdown => {
            peer.send_frame(&json!({"type": "shutdown_ack"}));
            if peer.fault == "canary" {
                peer.save_event_count();
            } else {
                peer.mark("shutdown");
            }
            exit(0);
        }
        FaultMoment::Start
        | FaultMoment::Greeted
        | FaultMoment::Registered
        | FaultMoment::Ready
        | FaultMoment::Acknowledged
        | FaultMoment::Question
        | FaultMoment::BigLine
        | FaultMoment::Inject
        | FaultMoment::Never => {}
    }
}

/// Answers a ping.
pub(crate) fn send_pong(peer: &mut ExtensionPeer, ping: &Value) {
    peer.send_frame(&json!({"type": "pong", "id": ping["id"]}));
}

/// Answers a question correctly.
pub(crate) fn answer(peer: &mut ExtensionPeer, frame: &Value) {
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
    peer.send_frame(&frame);
}
