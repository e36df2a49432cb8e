//! An extension with one fault: `misbehave FAULT [NAME]`.
//!
//! Everything else is correct: it registers the tool `evil_tool` and the command `/evil`, subscribes to all events,
//! intercepts `tool_call`, blocks calls that contain `rm -rf`, and exits when asked to. When its fault happens, it
//! writes the fault's name to the file that `HAFT_MARKER` names, so that a test can wait for the fault.
//!
//! A fault is one line in the table of its group: its name, its moment and its action. Faults that consist of bytes
//! alone need no line: `misbehave inject` reads them from a file (see `inject.rs`). A process hook is `misbehave hook
//! FAULT POINT NAME` (see `hooks.rs`).

#![expect(clippy::disallowed_methods, reason = "starts shells that outlive the extension")]

mod calls;
mod content;
mod fault;
mod floods;
mod gates;
mod goals;
mod good;
mod hooks;
mod ids;
mod inject;
mod life;
mod peer;
mod pressure;
mod protocol;

use std::io::BufRead;
use std::process::exit;

use serde_json::Value;

use fault::{AfterFault, FaultMoment, FaultSpec};
use peer::ExtensionPeer;

/// Every fault, by group.
const FAULTS: &[&[FaultSpec]] = &[
    good::FAULTS,
    inject::FAULTS,
    protocol::FAULTS,
    ids::FAULTS,
    floods::FAULTS,
    pressure::FAULTS,
    life::FAULTS,
    goals::FAULTS,
    content::FAULTS,
    gates::FAULTS,
    calls::FAULTS,
];

/// The size of a scanner's fixed buffer.
const SCANNER: usize = 4 * 1024 * 1024;

fn main() {
    let mut args = std::env::args().skip(1);
    let fault = args.next().unwrap_or_else(|| "good".to_owned());
    let name = args.next().unwrap_or_else(|| "misbehave".to_owned());
    if fault == hooks::HOOK {
        let (point, own) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
        return hooks::run(&name, &point, &own);
    }
    let Some(fault) = FAULTS.iter().copied().flatten().find(|known| known.name == fault) else {
        complain(&format!("unknown fault {fault:?}"));
        exit(2);
    };
    let mut peer = ExtensionPeer::new(fault.name, &name);
    if trigger_fault(&mut peer, fault, FaultMoment::Start, &Value::Null) == AfterFault::Continue {
        good::hello(&mut peer);
    }
    trigger_fault(&mut peer, fault, FaultMoment::Greeted, &Value::Null);
    good::send_registrations(&mut peer);
    if trigger_fault(&mut peer, fault, FaultMoment::Registered, &Value::Null) == AfterFault::Continue {
        good::ready(&mut peer);
    }
    trigger_fault(&mut peer, fault, FaultMoment::Ready, &Value::Null);
    serve(&mut peer, fault);
}

/// Serves until the host closes this extension's input.
fn serve(peer: &mut ExtensionPeer, fault: &FaultSpec) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { exit(1) };
        peer.note_received(&line);
        if line.len() > SCANNER {
            trigger_fault(peer, fault, FaultMoment::BigLine, &Value::Null);
        }
        let Ok(frame) = serde_json::from_str::<Value>(&line) else { exit(1) };
        let at = match frame["type"].as_str() {
            Some("hello_ack") => FaultMoment::Acknowledged,
            Some("tool_call") => FaultMoment::Tool,
            Some("event_intercept") => FaultMoment::Gate,
            Some("command_invoked") => FaultMoment::Command,
            Some("event") => FaultMoment::Event,
            Some("shutdown") => FaultMoment::Shutdown,
            Some("ping") => {
                good::send_pong(peer, &frame);
                continue;
            }
            _ => continue,
        };
        if trigger_fault(peer, fault, at, &frame) == AfterFault::Continue {
            good::behave_well(peer, at, &frame);
        }
    }
}

/// Runs the fault if its moment has come.
fn trigger_fault(peer: &mut ExtensionPeer, fault: &FaultSpec, at: FaultMoment, frame: &Value) -> AfterFault {
    let asked = fault.at == FaultMoment::Question
        && matches!(at, FaultMoment::Tool | FaultMoment::Gate | FaultMoment::Command);
    let named = fault.at == FaultMoment::Inject && inject::is_due(at);
    if fault.at != at && !asked && !named {
        return AfterFault::Continue;
    }
    peer.mark(fault.name);
    (fault.act)(peer, frame)
}

#[expect(clippy::print_stderr, reason = "standard error is the log")]
fn complain(text: &str) {
    eprintln!("misbehave: {text}");
}
