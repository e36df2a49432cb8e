//! Extensions for the measured goals: slow or unresponsive in one way, and otherwise normal.

use std::io::{BufRead, Write};
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::good;
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "deaf", at: FaultMoment::Start, act: deaf },
    FaultSpec { name: "heir", at: FaultMoment::Registered, act: heir },
    FaultSpec { name: "chatty", at: FaultMoment::Registered, act: chatty },
    FaultSpec { name: "dead-observer", at: FaultMoment::Greeted, act: dead_observer },
    FaultSpec { name: "slow-observer", at: FaultMoment::Greeted, act: slow_observer },
    FaultSpec { name: "long-lines", at: FaultMoment::Ready, act: long_lines },
    FaultSpec { name: "endless-stderr", at: FaultMoment::Ready, act: endless_stderr },
];

/// The length of one overlong line in bytes.
const LONG: usize = 4 * 1024 * 1024;

/// The number of lines of a verbose start, 64 bytes each.
const LINES: usize = 256;

/// Neither reads nor ends on a signal: becomes a shell that ignores signals, then runs itself again.
#[cfg(unix)]
fn deaf(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    use std::os::unix::process::CommandExt;

    let program = std::env::current_exe().expect("a program knows its own path");
    let script = "trap '' TERM HUP INT; exec \"$0\" never-read-stdin \"$1\"";
    let error = Command::new("sh").args(["-c", script]).arg(program).arg(&peer.name).exec();
    peer.log(&format!("sh cannot be started: {error}"));
    exit(1)
}

/// Without these signals, it is enough not to read.
#[cfg(not(unix))]
fn deaf(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    good::hello(peer);
    good::ready(peer);
    peer.hang()
}

/// Starts a process in its own process group that ignores the signals.
fn heir(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let script = "trap '' TERM HUP; while :; do sleep 600; done";
    let mut child = Command::new("sh");
    child.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // This process must survive the extension.
    drop(child.spawn().expect("sh runs"));
    AfterFault::Continue
}

/// Writes 16 KiB to the log, for logs that must be rotated.
fn chatty(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let line = "a line of a log that says nothing, which is sixty-four bytes in\n";
    // The host may discard this output, so errors are ignored.
    _ = std::io::stderr().write_all(line.repeat(LINES).as_bytes());
    AfterFault::Continue
}

/// Subscribes to events and never reads one.
fn dead_observer(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    subscribe_to_events(peer);
    peer.hang()
}

/// Subscribes to events and reads one every 50 ms.
fn slow_observer(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    subscribe_to_events(peer);
    for line in std::io::stdin().lock().lines() {
        if line.is_err() {
            break;
        }
        // sleep: part of the fault
        std::thread::sleep(Duration::from_millis(50));
    }
    exit(0)
}

fn subscribe_to_events(peer: &mut ExtensionPeer) {
    let events = ["turn_start", "tool_call", "assistant_message", "turn_end"];
    peer.send_frame(&json!({"type": "subscribe", "events": events}));
    good::ready(peer);
}

/// Writes lines that are longer than the limit, without end.
fn long_lines(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let line = [vec![b'x'; LONG], b"\n".to_vec()].concat();
    loop {
        peer.send_bytes(&line);
    }
}

fn endless_stderr(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let lines = "a line of a log that says nothing at all\n".repeat(1_000);
    loop {
        // The host may discard this output, so errors are ignored.
        _ = std::io::stderr().write_all(lines.as_bytes());
    }
}
