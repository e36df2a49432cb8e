//! Group B: back-pressure and resources.

use std::process::{Command, exit};

use serde_json::{Value, json};

use crate::fault::{At, Fault, Then};
use crate::peer::Peer;

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "never-read-stdin", at: At::Ready, act: |peer, _| peer.hang() },
    Fault { name: "flood", at: At::Ready, act: flood },
    Fault { name: "die-on-big-line", at: At::BigLine, act: die_on_big_line },
    Fault { name: "fork-and-hold-stdout", at: At::Question, act: fork_and_hold_stdout },
    Fault { name: "linger", at: At::Shutdown, act: |peer, _| peer.hang() },
    Fault { name: "ignore-sigterm", at: At::Start, act: ignore_sigterm },
];

fn flood(peer: &mut Peer, _: &Value) -> Then {
    loop {
        peer.say(&json!({"type": "notify", "level": "info", "message": "flood"}));
    }
}

fn die_on_big_line(peer: &mut Peer, _: &Value) -> Then {
    peer.log("bufio.Scanner: token too long");
    exit(4)
}

fn fork_and_hold_stdout(_: &mut Peer, _: &Value) -> Then {
    Command::new("sh").args(["-c", "sleep 60 &"]).status().expect("sh runs");
    exit(5)
}

/// Becomes a shell that ignores the signal and then itself again: what is ignored stays ignored over an exec.
#[cfg(unix)]
fn ignore_sigterm(peer: &mut Peer, _: &Value) -> Then {
    use std::os::unix::process::CommandExt;

    let program = std::env::current_exe().expect("a program knows its own path");
    let script = "trap '' TERM; exec \"$0\" linger \"$1\"";
    let error = Command::new("sh").args(["-c", script]).arg(program).arg(&peer.name).exec();
    peer.log(&format!("sh cannot be started: {error}"));
    exit(1)
}

/// There is no such signal: not leaving is the same.
#[cfg(not(unix))]
fn ignore_sigterm(_: &mut Peer, _: &Value) -> Then {
    Then::GoOn
}
