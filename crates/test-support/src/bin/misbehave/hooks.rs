//! Group H: process hooks, in PicoClaw's dialect: `misbehave hook FAULT POINT NAME`.
//!
//! The point is the method at which the fault happens, such as `hook.before_tool`; `started` before anything is read, and
//! `greeted` after hello was answered. Everything else it answers well.

use std::io::BufRead;
use std::process::{Command, exit};

use serde_json::{Value, json};

use crate::fault::Then;
use crate::peer::{Peer, count};

/// The first argument of a process hook.
pub(crate) const HOOK: &str = "hook";

/// The fault of a hook.
struct Fault {
    name: &'static str,
    /// Happens whenever the point comes, after the marker was written. There is no call at `started` and `greeted`.
    act: fn(&mut Peer, &Value) -> Then,
}

const FAULTS: &[Fault] = &[
    Fault { name: "good", act: |_, _| Then::GoOn },
    Fault { name: "hang", act: |_, _| Then::Instead },
    Fault { name: "never-read", act: |peer, _| peer.hang() },
    Fault { name: "exit", act: exits },
    Fault { name: "abort", act: |_, _| std::process::abort() },
    Fault { name: "stop", act: stops },
    Fault { name: "fork-and-exit", act: fork_and_exit },
    Fault { name: "say-garbage", act: |peer, _| says(peer, "allow!") },
    Fault { name: "half-a-line", act: half_a_line },
    Fault { name: "garbage", act: |peer, call| replies(peer, call, json!("garbage")) },
    Fault { name: "nothing", act: |peer, call| replies(peer, call, Value::Null) },
    Fault {
        name: "wrong-types",
        act: |peer, call| replies(peer, call, json!({"action": 7, "approved": "yes"})),
    },
    Fault {
        name: "unknown-action",
        act: |peer, call| replies(peer, call, json!({"action": "warp", "approved": 1})),
    },
    Fault { name: "error", act: error },
    Fault { name: "key-twice", act: key_twice },
    Fault {
        name: "deny",
        act: |peer, call| replies(peer, call, json!({"action": "deny_tool", "approved": false})),
    },
    Fault { name: "respond", act: respond },
    Fault {
        name: "abort-turn",
        act: |peer, call| replies(peer, call, json!({"action": "abort_turn", "reason": "enough"})),
    },
    Fault {
        name: "hard-abort",
        act: |peer, call| replies(peer, call, json!({"action": "hard_abort", "reason": "enough"})),
    },
    Fault { name: "long-reply", act: long_reply },
    Fault { name: "noise", act: noise },
    Fault { name: "long-noise", act: long_noise },
    Fault { name: "stray", act: stray },
    Fault { name: "answer-twice", act: answer_twice },
    Fault { name: "late", act: late },
    Fault { name: "unasked-aborts", act: unasked_aborts },
];

/// More than a reply may be.
const TOO_LONG: usize = 9 * 1024 * 1024;

/// One line of noise that is long.
const LONG_LINE: usize = 63 * 1024;

/// Runs such a hook until its input ends.
pub(crate) fn run(fault: &str, point: &str, name: &str) {
    let Some(fault) = FAULTS.iter().find(|known| known.name == fault) else {
        crate::complain(&format!("no hook has the fault {fault:?}"));
        exit(2);
    };
    let mut peer = Peer::new(fault.name, name);
    reach(&mut peer, fault, point, "started", &Value::Null);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { exit(1) };
        peer.heard(&line);
        let Ok(call) = serde_json::from_str::<Value>(&line) else { exit(1) };
        let method = call["method"].as_str().unwrap_or_default().to_owned();
        if reach(&mut peer, fault, point, &method, &call) == Then::GoOn && !call["id"].is_null() {
            behave(&mut peer, &method, &call);
        }
        if method == "hook.hello" {
            reach(&mut peer, fault, point, "greeted", &Value::Null);
        }
    }
}

fn reach(peer: &mut Peer, fault: &Fault, point: &str, at: &str, call: &Value) -> Then {
    if point != at {
        return Then::GoOn;
    }
    peer.mark(fault.name);
    (fault.act)(peer, call)
}

fn behave(peer: &mut Peer, method: &str, call: &Value) {
    let result = match method {
        "hook.hello" => json!({"ok": true}),
        "hook.approve_tool" => json!({"approved": true}),
        _ => json!({"action": "continue"}),
    };
    replies(peer, call, result);
}

#[expect(clippy::needless_pass_by_value, reason = "reads better in the table")]
fn replies(peer: &mut Peer, call: &Value, result: Value) -> Then {
    reply(peer, &call["id"], &result)
}

fn reply(peer: &mut Peer, id: &Value, result: &Value) -> Then {
    peer.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    Then::Instead
}

fn says(peer: &mut Peer, text: &str) -> Then {
    peer.raw(format!("{text}\n").as_bytes());
    Then::Instead
}

fn exits(peer: &mut Peer, _: &Value) -> Then {
    peer.log("panic: boom");
    exit(3)
}

/// Stops itself, as a debugger would.
fn stops(peer: &mut Peer, _: &Value) -> Then {
    let pid = std::process::id().to_string();
    Command::new("kill").args(["-STOP", &pid]).status().expect("kill runs");
    peer.hang()
}

/// Leaves a process that holds all of its pipes open.
fn fork_and_exit(_: &mut Peer, _: &Value) -> Then {
    Command::new("sh").args(["-c", "sleep 3600 &"]).status().expect("sh runs");
    exit(5)
}

fn half_a_line(peer: &mut Peer, call: &Value) -> Then {
    peer.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"act", call["id"]).as_bytes());
    exit(6)
}

fn error(peer: &mut Peer, call: &Value) -> Then {
    let error = json!({"code": -32000, "message": "no disk"});
    peer.say(&json!({"jsonrpc": "2.0", "id": call["id"], "result": {"approved": true}, "error": error}));
    Then::Instead
}

/// Two readers see two answers.
fn key_twice(peer: &mut Peer, call: &Value) -> Then {
    let result = r#"{"action":"deny_tool","action":"continue","approved":false,"approved":true}"#;
    says(peer, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", call["id"]))
}

fn respond(peer: &mut Peer, call: &Value) -> Then {
    let result = json!({"for_llm": "from the hook", "is_error": false, "silent": true});
    replies(peer, call, json!({"action": "respond", "result": result}))
}

fn long_reply(peer: &mut Peer, call: &Value) -> Then {
    replies(peer, call, json!({"action": "continue", "approved": true, "reason": "x".repeat(TOO_LONG)}))
}

/// `HAFT_COUNT` lines that a library prints, and then its answer.
fn noise(peer: &mut Peer, _: &Value) -> Then {
    let lines =
        "DEBUG: what a library prints while it thinks about an answer, and nobody wants to read\n".repeat(50);
    for _ in 0..count(40_000) / 50 {
        peer.raw(lines.as_bytes());
    }
    Then::GoOn
}

/// `HAFT_COUNT` long lines, and then its answer.
fn long_noise(peer: &mut Peer, _: &Value) -> Then {
    let line = "x".repeat(LONG_LINE) + "\n";
    for _ in 0..count(64) {
        peer.raw(line.as_bytes());
    }
    Then::GoOn
}

/// Answers what nobody asked, what was answered, and the same again, before its answer.
fn stray(peer: &mut Peer, call: &Value) -> Then {
    let id = call["id"].as_u64().unwrap_or_default();
    for other in [id + 1_000, id + 1_001, 1, id.saturating_sub(1)] {
        reply(peer, &json!(other), &json!({"action": "hard_abort", "approved": true}));
    }
    for text in ["\"7\"", "-1", "7.0", "0", "18446744073709551616"] {
        says(
            peer,
            &format!("{{\"jsonrpc\":\"2.0\",\"id\":{text},\"result\":{{\"action\":\"hard_abort\"}}}}"),
        );
    }
    Then::GoOn
}

/// Denies, and then does not.
fn answer_twice(peer: &mut Peer, call: &Value) -> Then {
    replies(peer, call, json!({"action": "deny_tool", "approved": false, "reason": "the first"}));
    replies(peer, call, json!({"action": "continue", "approved": true}))
}

/// Answers when the test says that the deadline has passed.
fn late(peer: &mut Peer, _: &Value) -> Then {
    peer.until_released();
    Then::GoOn
}

/// `HAFT_COUNT` ends of turns that nobody asked about, and then its answer.
fn unasked_aborts(peer: &mut Peer, call: &Value) -> Then {
    let id = call["id"].as_u64().unwrap_or_default();
    for number in 0..count(1_000) {
        let action = if number % 2 == 0 { "abort_turn" } else { "hard_abort" };
        reply(peer, &json!(id + 10 + number), &json!({"action": action, "reason": "unasked"}));
    }
    peer.mark("all is said");
    Then::GoOn
}
