//! Group L: how extensions start, crash, exit and are replaced.

use std::process::{Command, exit};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::good;
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "exit-after-hello", at: FaultMoment::Greeted, act: |_, _| exit(3) },
    FaultSpec { name: "exit-in-call", at: FaultMoment::Question, act: exit_in_call },
    FaultSpec { name: "abort-in-call", at: FaultMoment::Question, act: |_, _| std::process::abort() },
    FaultSpec { name: "segv-in-call", at: FaultMoment::Question, act: segv_in_call },
    FaultSpec { name: "crash-when-ready", at: FaultMoment::Ready, act: |_, _| exit(3) },
    FaultSpec { name: "slow-start", at: FaultMoment::Start, act: slow_start },
    FaultSpec { name: "leave-once", at: FaultMoment::Acknowledged, act: leave_once },
    FaultSpec { name: "answer-half", at: FaultMoment::Tool, act: answer_half },
    FaultSpec { name: "slow-tool", at: FaultMoment::Tool, act: slow_tool },
    FaultSpec { name: "held-tool", at: FaultMoment::Tool, act: held_tool },
    // Registers its tool with a different schema.
    FaultSpec { name: "new-schema", at: FaultMoment::Registered, act: |_, _| AfterFault::Continue },
];

/// The duration of a slow start.
const SLOW: Duration = Duration::from_millis(60);

/// The number of open questions at which half of them are answered.
const OPEN: usize = 8;

/// The number of notifications of a slow tool.
const STEPS: u32 = 5;

fn exit_in_call(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.log("panic: boom");
    exit(3)
}

fn segv_in_call(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let pid = std::process::id().to_string();
    // Rust's handler for stack overflows catches the first signal; the next one kills the process.
    for _ in 0..2 {
        Command::new("kill").args(["-SEGV", &pid]).status().expect("kill runs");
    }
    peer.hang()
}

/// Delays `hello`, marks the begin and the end of the delay, and crashes when it is ready.
fn slow_start(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.mark("starts");
    // sleep: part of the fault
    sleep(SLOW);
    peer.mark("has started");
    good::hello(peer);
    good::ready(peer);
    exit(3)
}

/// Exits successfully, once.
fn leave_once(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let marker = std::env::var_os("HAFT_MARKER").and_then(|path| std::fs::read_to_string(path).ok());
    if marker.is_some_and(|text| text.lines().any(|mark| mark == "left")) {
        return AfterFault::Continue;
    }
    peer.mark("left");
    exit(0)
}

/// Collects calls with `wait` set. When there are enough, it answers half of them when the test asks for it, and the
/// other half never.
fn answer_half(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    if call["args"]["wait"] != true {
        return AfterFault::Continue;
    }
    peer.kept.push(call.clone());
    peer.mark("waiting");
    if peer.kept.len() == OPEN {
        peer.wait_until_released();
        let half: Vec<Value> = peer.kept.drain(..OPEN / 2).collect();
        half.iter().for_each(|call| good::answer(peer, call));
    }
    AfterFault::SkipAnswer
}

/// Answers when the test asks for it.
fn held_tool(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.wait_until_released();
    AfterFault::Continue
}

/// Reports from time to time that it is still working.
fn slow_tool(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for _ in 0..STEPS {
        // sleep: part of the fault
        sleep(Duration::from_millis(2_500) / STEPS);
        peer.send_frame(&json!({"type": "notify", "level": "info", "message": "still at work"}));
    }
    AfterFault::Continue
}
