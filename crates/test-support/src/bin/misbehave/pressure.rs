//! Group B: back-pressure and resources.

use std::process::{Command, exit};

use serde_json::Value;

use crate::fault::{At, Fault, Then};
use crate::peer::{Peer, count};

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "never-read-stdin", at: At::Ready, act: |peer, _| peer.hang() },
    Fault { name: "die-on-big-line", at: At::BigLine, act: die_on_big_line },
    Fault { name: "fork-and-hold-stdout", at: At::Question, act: fork_and_hold_stdout },
    Fault { name: "linger", at: At::Shutdown, act: |peer, _| peer.hang() },
    Fault { name: "ignore-sigterm", at: At::Start, act: ignore_sigterm },
    Fault { name: "daemonise", at: At::Registered, act: daemonise },
    Fault { name: "fork-many", at: At::Registered, act: fork_many },
    Fault { name: "stopped", at: At::Acknowledged, act: stopped },
    Fault { name: "allocate", at: At::Registered, act: allocate },
    Fault { name: "open-files", at: At::Registered, act: open_files },
];

fn die_on_big_line(peer: &mut Peer, _: &Value) -> Then {
    peer.log("bufio.Scanner: token too long");
    exit(4)
}

fn fork_and_hold_stdout(_: &mut Peer, _: &Value) -> Then {
    Command::new("sh").args(["-c", "sleep 3600 &"]).status().expect("sh runs");
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

/// Leaves a process in a session of its own that ignores the signal, twice removed.
fn daemonise(_: &mut Peer, _: &Value) -> Then {
    detach(&format!("trap '' TERM HUP; while :; do {NAP}; done"));
    Then::GoOn
}

/// The same `HAFT_COUNT` times.
fn fork_many(_: &mut Peer, _: &Value) -> Then {
    for _ in 0..count(30) {
        detach(&format!("exec {NAP}"));
    }
    Then::GoOn
}

/// Longer than any row.
const NAP: &str = "sleep 600";

fn detach(script: &str) {
    let outer = "setsid sh -c \"$0\" </dev/null >/dev/null 2>&1 &";
    let status = Command::new("sh").args(["-c", outer, script]).status().expect("sh runs");
    assert!(status.success(), "sh cannot detach");
}

/// Stops itself, as a debugger or a terminal would.
fn stopped(_: &mut Peer, _: &Value) -> Then {
    let pid = std::process::id().to_string();
    Command::new("kill").args(["-STOP", &pid]).status().expect("kill runs");
    Then::GoOn
}

/// Takes `HAFT_COUNT` MiB and touches all of it.
fn allocate(peer: &mut Peer, _: &Value) -> Then {
    let bytes = usize::try_from(count(64)).unwrap_or(64) * 1024 * 1024;
    let held = vec![1_u8; bytes];
    std::mem::forget(held);
    peer.mark("all is taken");
    Then::GoOn
}

/// Opens files until it is not let any more, and says how many.
fn open_files(peer: &mut Peer, _: &Value) -> Then {
    let mut held = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        held.push(file);
        if held.len() >= 1_000_000 {
            break;
        }
    }
    let opened = held.len();
    drop(held);
    peer.mark(&format!("opened {opened}"));
    Then::GoOn
}
