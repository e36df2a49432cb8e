//! Group B: back-pressure and resources.

use std::process::{Command, exit};

use serde_json::Value;

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::peer::{ExtensionPeer, count};

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "never-read-stdin", at: FaultMoment::Ready, act: |peer, _| peer.hang() },
    FaultSpec { name: "die-on-big-line", at: FaultMoment::BigLine, act: die_on_big_line },
    FaultSpec { name: "fork-and-hold-stdout", at: FaultMoment::Question, act: fork_and_hold_stdout },
    FaultSpec { name: "linger", at: FaultMoment::Shutdown, act: |peer, _| peer.hang() },
    FaultSpec { name: "ignore-sigterm", at: FaultMoment::Start, act: ignore_sigterm },
    FaultSpec { name: "daemonize", at: FaultMoment::Registered, act: daemonize },
    FaultSpec { name: "fork-many", at: FaultMoment::Registered, act: fork_many },
    FaultSpec { name: "stopped", at: FaultMoment::Acknowledged, act: stopped },
    FaultSpec { name: "allocate", at: FaultMoment::Registered, act: allocate },
    FaultSpec { name: "open-files", at: FaultMoment::Registered, act: open_files },
];

fn die_on_big_line(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.log("bufio.Scanner: token too long");
    exit(4)
}

fn fork_and_hold_stdout(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    Command::new("sh").args(["-c", "sleep 3600 &"]).status().expect("sh runs");
    exit(5)
}

/// Becomes a shell that ignores the signal and then itself again: an ignored signal stays ignored across an exec.
#[cfg(unix)]
fn ignore_sigterm(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    use std::os::unix::process::CommandExt;

    let program = std::env::current_exe().expect("a program knows its own path");
    let script = "trap '' TERM; exec \"$0\" linger \"$1\"";
    let error = Command::new("sh").args(["-c", script]).arg(program).arg(&peer.name).exec();
    peer.log(&format!("sh cannot be started: {error}"));
    exit(1)
}

/// Without this signal, it is enough not to exit.
#[cfg(not(unix))]
fn ignore_sigterm(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    AfterFault::Continue
}

/// Starts a grandchild in a separate session that ignores the signals.
fn daemonize(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    spawn_detached(&format!("trap '' TERM HUP; while :; do {NAP}; done"));
    AfterFault::Continue
}

/// Starts `HAFT_COUNT` such processes.
fn fork_many(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for _ in 0..count(30) {
        spawn_detached(&format!("exec {NAP}"));
    }
    AfterFault::Continue
}

/// A time longer than any row.
const NAP: &str = "sleep 600";

fn spawn_detached(script: &str) {
    let outer = "setsid sh -c \"$0\" </dev/null >/dev/null 2>&1 &";
    let status = Command::new("sh").args(["-c", outer, script]).status().expect("sh runs");
    assert!(status.success(), "sh cannot detach");
}

/// Stops itself with a signal, as a debugger or a terminal would.
fn stopped(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let pid = std::process::id().to_string();
    Command::new("kill").args(["-STOP", &pid]).status().expect("kill runs");
    AfterFault::Continue
}

/// Allocates `HAFT_COUNT` MiB and writes to every page.
fn allocate(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let bytes = usize::try_from(count(64)).unwrap_or(64) * 1024 * 1024;
    let held = vec![1_u8; bytes];
    std::mem::forget(held);
    peer.mark("all allocated");
    AfterFault::Continue
}

/// Opens files up to the limit and marks the number.
fn open_files(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
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
    AfterFault::Continue
}
