//! Group H: process hooks in PicoClaw's dialect: `misbehave hook FAULT POINT NAME`.
//!
//! The point is the method at which the fault happens, such as `hook.before_tool`; `started` is before anything is
//! read, and `greeted` after `hook.hello` was answered. All other calls are answered correctly.

use std::io::BufRead;
use std::process::{Command, exit};

use serde_json::{Value, json};

use crate::fault::AfterFault;
use crate::peer::{ExtensionPeer, count};

/// The first argument for a process hook.
pub(crate) const HOOK: &str = "hook";

/// A fault of a process hook.
struct HookFault {
    name: &'static str,
    /// Runs whenever the point comes, after the marker was written. There is no call at `started` and `greeted`.
    act: fn(&mut ExtensionPeer, &Value) -> AfterFault,
}

const FAULTS: &[HookFault] = &[
    HookFault { name: "good", act: |_, _| AfterFault::Continue },
    HookFault { name: "hang", act: |_, _| AfterFault::SkipAnswer },
    HookFault { name: "never-read", act: |peer, _| peer.hang() },
    HookFault { name: "exit", act: exit_after_panic },
    HookFault { name: "abort", act: |_, _| std::process::abort() },
    HookFault { name: "stop", act: stop_process },
    HookFault { name: "fork-and-exit", act: fork_and_exit },
    HookFault { name: "say-garbage", act: |peer, _| send_text(peer, "allow!") },
    HookFault { name: "half-a-line", act: half_a_line },
    HookFault { name: "garbage", act: |peer, call| send_result(peer, call, json!("garbage")) },
    HookFault { name: "nothing", act: |peer, call| send_result(peer, call, Value::Null) },
    HookFault {
        name: "wrong-types",
        act: |peer, call| send_result(peer, call, json!({"action": 7, "approved": "yes"})),
    },
    HookFault {
        name: "unknown-action",
        act: |peer, call| send_result(peer, call, json!({"action": "warp", "approved": 1})),
    },
    HookFault {
        name: "typo",
        act: |peer, call| send_result(peer, call, json!({"acton": "deny_tool", "reason": "not here"})),
    },
    HookFault {
        name: "only-reason",
        act: |peer, call| send_result(peer, call, json!({"reason": "not here"})),
    },
    HookFault {
        name: "contradiction",
        act: |peer, call| send_result(peer, call, json!({"action": "continue", "decision": "deny"})),
    },
    HookFault { name: "error", act: error },
    HookFault { name: "key-twice", act: key_twice },
    HookFault {
        name: "deny",
        act: |peer, call| send_result(peer, call, json!({"action": "deny_tool", "approved": false})),
    },
    HookFault { name: "respond", act: respond },
    HookFault {
        name: "abort-turn",
        act: |peer, call| send_result(peer, call, json!({"action": "abort_turn", "reason": "enough"})),
    },
    HookFault {
        name: "hard-abort",
        act: |peer, call| send_result(peer, call, json!({"action": "hard_abort", "reason": "enough"})),
    },
    HookFault { name: "long-reply", act: long_reply },
    HookFault { name: "noise", act: noise },
    HookFault { name: "long-noise", act: long_noise },
    HookFault { name: "stray", act: stray },
    HookFault { name: "answer-twice", act: answer_twice },
    HookFault { name: "late", act: late },
    HookFault { name: "unasked-aborts", act: unasked_aborts },
];

/// More bytes than a reply may have.
const TOO_LONG: usize = 9 * 1024 * 1024;

/// The length of a long line of noise.
const LONG_LINE: usize = 63 * 1024;

/// Runs this hook until its input ends.
pub(crate) fn run(fault: &str, point: &str, name: &str) {
    let Some(fault) = FAULTS.iter().find(|known| known.name == fault) else {
        crate::complain(&format!("unknown hook fault {fault:?}"));
        exit(2);
    };
    let mut peer = ExtensionPeer::new(fault.name, name);
    trigger_fault(&mut peer, fault, point, "started", &Value::Null);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { exit(1) };
        peer.note_received(&line);
        let Ok(call) = serde_json::from_str::<Value>(&line) else { exit(1) };
        let method = call["method"].as_str().unwrap_or_default().to_owned();
        if trigger_fault(&mut peer, fault, point, &method, &call) == AfterFault::Continue
            && !call["id"].is_null()
        {
            answer_well(&mut peer, &method, &call);
        }
        if method == "hook.hello" {
            trigger_fault(&mut peer, fault, point, "greeted", &Value::Null);
        }
    }
}

fn trigger_fault(
    peer: &mut ExtensionPeer,
    fault: &HookFault,
    point: &str,
    at: &str,
    call: &Value,
) -> AfterFault {
    if point != at {
        return AfterFault::Continue;
    }
    peer.mark(fault.name);
    (fault.act)(peer, call)
}

fn answer_well(peer: &mut ExtensionPeer, method: &str, call: &Value) {
    let result = match method {
        "hook.hello" => json!({"ok": true}),
        "hook.approve_tool" => json!({"approved": true}),
        _ => json!({"action": "continue"}),
    };
    send_result(peer, call, result);
}

#[expect(clippy::needless_pass_by_value, reason = "keeps the table short")]
fn send_result(peer: &mut ExtensionPeer, call: &Value, result: Value) -> AfterFault {
    reply(peer, &call["id"], &result)
}

fn reply(peer: &mut ExtensionPeer, id: &Value, result: &Value) -> AfterFault {
    peer.send_frame(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    AfterFault::SkipAnswer
}

fn send_text(peer: &mut ExtensionPeer, text: &str) -> AfterFault {
    peer.send_bytes(format!("{text}\n").as_bytes());
    AfterFault::SkipAnswer
}

fn exit_after_panic(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.log("panic: boom");
    exit(3)
}

/// Stops itself with a signal, as a debugger would.
fn stop_process(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let pid = std::process::id().to_string();
    Command::new("kill").args(["-STOP", &pid]).status().expect("kill runs");
    peer.hang()
}

/// Starts a process that keeps all of the hook's pipes open.
fn fork_and_exit(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    Command::new("sh").args(["-c", "sleep 3600 &"]).status().expect("sh runs");
    exit(5)
}

fn half_a_line(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    peer.send_bytes(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"act", call["id"]).as_bytes());
    exit(6)
}

fn error(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    let error = json!({"code": -32000, "message": "no disk"});
    peer.send_frame(
        &json!({"jsonrpc": "2.0", "id": call["id"], "result": {"approved": true}, "error": error}),
    );
    AfterFault::SkipAnswer
}

/// Answers with a duplicate key, which JSON readers interpret differently.
fn key_twice(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    let result = r#"{"action":"deny_tool","action":"continue","approved":false,"approved":true}"#;
    send_text(peer, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", call["id"]))
}

fn respond(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    let result = json!({"for_llm": "from the hook", "is_error": false, "silent": true});
    send_result(peer, call, json!({"action": "respond", "result": result}))
}

fn long_reply(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    send_result(peer, call, json!({"action": "continue", "approved": true, "reason": "x".repeat(TOO_LONG)}))
}

/// Writes `HAFT_COUNT` lines of library output before its answer.
fn noise(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let lines =
        "DEBUG: what a library prints while it thinks about an answer, and nobody wants to read\n".repeat(50);
    for _ in 0..count(40_000) / 50 {
        peer.send_bytes(lines.as_bytes());
    }
    AfterFault::Continue
}

/// Writes `HAFT_COUNT` long lines before its answer.
fn long_noise(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let line = "x".repeat(LONG_LINE) + "\n";
    for _ in 0..count(64) {
        peer.send_bytes(line.as_bytes());
    }
    AfterFault::Continue
}

/// Writes answers to unknown questions, to answered questions, and twice to one question, before its answer.
fn stray(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    let id = call["id"].as_u64().unwrap_or_default();
    for other in [id + 1_000, id + 1_001, 1, id.saturating_sub(1)] {
        reply(peer, &json!(other), &json!({"action": "hard_abort", "approved": true}));
    }
    for text in ["\"7\"", "-1", "7.0", "0", "18446744073709551616"] {
        send_text(
            peer,
            &format!("{{\"jsonrpc\":\"2.0\",\"id\":{text},\"result\":{{\"action\":\"hard_abort\"}}}}"),
        );
    }
    AfterFault::Continue
}

/// Answers with a denial and then with an approval.
fn answer_twice(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    send_result(peer, call, json!({"action": "deny_tool", "approved": false, "reason": "the first"}));
    send_result(peer, call, json!({"action": "continue", "approved": true}))
}

/// Answers when the test reports that the deadline has passed.
fn late(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.wait_until_released();
    AfterFault::Continue
}

/// Writes `HAFT_COUNT` unrequested aborts of the turn before its answer.
fn unasked_aborts(peer: &mut ExtensionPeer, call: &Value) -> AfterFault {
    let id = call["id"].as_u64().unwrap_or_default();
    for number in 0..count(1_000) {
        let action = if number % 2 == 0 { "abort_turn" } else { "hard_abort" };
        reply(peer, &json!(id + 10 + number), &json!({"action": action, "reason": "unasked"}));
    }
    peer.mark("all sent");
    AfterFault::Continue
}
