//! Group T: extensions that decide about tool calls.

use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write;

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::good;
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[
    // Blocks calls that contain DENIED, and registers no tool.
    FaultSpec { name: GUARD, at: FaultMoment::Gate, act: guard },
    // The first letter of the name selects the role: `r` rewrites, `g` is a gate, any other letter does both.
    FaultSpec { name: CHAIN, at: FaultMoment::Gate, act: chain },
    // Does not answer about a call that is about to run.
    FaultSpec { name: HANG_APPROVE, at: FaultMoment::Gate, act: |_, _| AfterFault::SkipAnswer },
];

const GUARD: &str = "guard";
const CHAIN: &str = "chain";
const HANG_APPROVE: &str = "hang-approve";

/// Returns the registrations that replace the usual ones.
pub(crate) fn gate_registrations(peer: &ExtensionPeer) -> Option<Vec<Value>> {
    let intercept = match (peer.fault, peer.name.chars().next()) {
        // The name under which some models know `bash`.
        (GUARD, _) if peer.name == "shell-guard" => {
            json!({"event": "tool_call", "role": "gate", "tools": ["Shell"]})
        }
        (GUARD, _) => json!("tool_call"),
        (CHAIN, Some('r')) => json!({"event": "tool_call", "role": "rewrite"}),
        (CHAIN, Some('g')) => json!({"event": "tool_call", "role": "gate"}),
        (CHAIN, _) => json!("tool_call"),
        (HANG_APPROVE, _) => json!("approve"),
        _ => return None,
    };
    let subscribe = json!({"type": "subscribe", "intercept": [intercept]});
    let tool = (peer.fault == GUARD && peer.name == "evil").then(|| good::tool("evil_tool"));
    Some(tool.into_iter().chain([subscribe]).collect())
}

fn send_decision(peer: &mut ExtensionPeer, frame: &Value, mut answer: Value) -> AfterFault {
    answer["type"] = json!("event_intercept_response");
    answer["id"] = frame["id"].clone();
    peer.send_frame(&answer);
    AfterFault::SkipAnswer
}

fn guard(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let denied = frame["tool_args"].to_string().contains("DENIED");
    send_decision(peer, frame, json!({"block": denied, "reason": "refused: DENIED"}))
}

/// Decides by the call's `seed` and by the previous rewrites, in the same way each time. Records what it allows and
/// where it fails.
fn chain(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let args = &frame["tool_args"];
    let name = peer.name.clone();
    let trail = args["trail"].as_array().cloned().unwrap_or_default();
    let mut hasher = DefaultHasher::new();
    (args["seed"].as_u64(), &name, trail.len()).hash(&mut hasher);
    let (dice, gate, rewrites) = (hasher.finish() >> 7, name.starts_with('g'), !name.starts_with('g'));
    note(&format!("seen-{name}"), args);
    if !gate || args["calm"] == true {
        if rewrites && dice % 2 == 0 && trail.len() < 6 {
            let mut changed = args.clone();
            changed["trail"] = trail.into_iter().chain([json!(name)]).collect();
            return send_decision(peer, frame, json!({"modified_args": changed}));
        }
    } else if let Some(failure) = failing_answer(dice) {
        note("failures", args);
        return send_decision(peer, frame, failure);
    }
    if dice % 11 == 3 {
        return send_decision(peer, frame, json!({"block": true, "reason": "the dice"}));
    }
    note(&format!("allowed-{name}"), args);
    send_decision(peer, frame, json!({"block": false}))
}

/// Returns a line that is not an answer of a gate.
fn failing_answer(dice: u64) -> Option<Value> {
    match dice % 12 {
        0 => Some(json!({"block": "false"})),
        1 => Some(json!({"block": 0})),
        2 => Some(json!({"block": null})),
        4 => Some(json!({})),
        5 => Some(json!({"block": false, "error": "no disk"})),
        6 => Some(json!({"block": false, "modified_args": {"seed": 0}})),
        7 => Some(json!({"block": false, "modified_args": [1]})),
        8 => Some(json!({"block": false, "tool_name": "bash"})),
        _ => None,
    }
}

/// Adds a line to a file next to the transcripts.
fn note(file: &str, args: &Value) {
    let dir = std::env::var_os("HAFT_TRANSCRIPT").expect("HAFT_TRANSCRIPT names a directory");
    let path = std::path::Path::new(&dir).join(format!("{file}.jsonl"));
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(format!("{args}\n").as_bytes())).expect("a note can be written");
}
