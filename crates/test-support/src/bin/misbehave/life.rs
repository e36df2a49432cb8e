//! Group L: how extensions start, crash, leave, and are replaced.

use std::process::{Command, exit};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{At, Fault, Then};
use crate::good;
use crate::peer::Peer;

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "exit-after-hello", at: At::Greeted, act: |_, _| exit(3) },
    Fault { name: "exit-in-call", at: At::Question, act: exit_in_call },
    Fault { name: "abort-in-call", at: At::Question, act: |_, _| std::process::abort() },
    Fault { name: "segv-in-call", at: At::Question, act: segv_in_call },
    Fault { name: "crash-when-ready", at: At::Ready, act: |_, _| exit(3) },
    Fault { name: "slow-start", at: At::Start, act: slow_start },
    Fault { name: "leave-once", at: At::Acknowledged, act: leave_once },
    Fault { name: "answer-half", at: At::Tool, act: answer_half },
    Fault { name: "slow-tool", at: At::Tool, act: slow_tool },
    Fault { name: "held-tool", at: At::Tool, act: held_tool },
    // Registers its tool with another schema.
    Fault { name: "new-schema", at: At::Registered, act: |_, _| Then::GoOn },
];

/// The time of a slow start.
const SLOW: Duration = Duration::from_millis(60);

/// Questions that are open when half of them are answered.
const OPEN: usize = 8;

/// Signs of life of a slow tool.
const STEPS: u32 = 5;

fn exit_in_call(peer: &mut Peer, _: &Value) -> Then {
    peer.log("panic: boom");
    exit(3)
}

fn segv_in_call(peer: &mut Peer, _: &Value) -> Then {
    let pid = std::process::id().to_string();
    // The first one ends up in the handler that looks for stack overflows, which gives way to the next.
    for _ in 0..2 {
        Command::new("kill").args(["-SEGV", &pid]).status().expect("kill runs");
    }
    peer.hang()
}

/// Takes its time until hello, says when that begins and ends, and crashes when it is ready.
fn slow_start(peer: &mut Peer, _: &Value) -> Then {
    peer.mark("starts");
    // sleep: the fault itself
    sleep(SLOW);
    peer.mark("has started");
    good::hello(peer);
    good::ready(peer);
    exit(3)
}

/// Leaves as if it had nothing to do, once.
fn leave_once(peer: &mut Peer, _: &Value) -> Then {
    let marker = std::env::var_os("HAFT_MARKER").and_then(|path| std::fs::read_to_string(path).ok());
    if marker.is_some_and(|text| text.lines().any(|mark| mark == "left")) {
        return Then::GoOn;
    }
    peer.mark("left");
    exit(0)
}

/// Keeps calls that want it. When there are enough it answers half of them as soon as the test says so, and the others
/// never.
fn answer_half(peer: &mut Peer, call: &Value) -> Then {
    if call["args"]["wait"] != true {
        return Then::GoOn;
    }
    peer.kept.push(call.clone());
    peer.mark("waiting");
    if peer.kept.len() == OPEN {
        peer.until_released();
        let half: Vec<Value> = peer.kept.drain(..OPEN / 2).collect();
        half.iter().for_each(|call| good::answer(peer, call));
    }
    Then::Instead
}

/// Answers when the test says so.
fn held_tool(peer: &mut Peer, _: &Value) -> Then {
    peer.until_released();
    Then::GoOn
}

/// Says now and then that it is still at work.
fn slow_tool(peer: &mut Peer, _: &Value) -> Then {
    for _ in 0..STEPS {
        // sleep: the fault itself
        sleep(Duration::from_millis(2_500) / STEPS);
        peer.say(&json!({"type": "notify", "level": "info", "message": "still at work"}));
    }
    Then::GoOn
}
