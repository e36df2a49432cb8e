//! An extension that does one thing wrong: `misbehave FAULT [NAME]`.
//!
//! Everything else it does well: it registers the tool `evil_tool` and the command `/evil`, watches all events,
//! intercepts `tool_call`, refuses what contains `rm -rf`, and leaves when it is asked to. When its fault happens,
//! it writes the fault's name to the file that `HAFT_MARKER` names, so that a test knows that it happened.
//!
//! A fault is one line in the table of its group: its name, the moment, and what happens then. What is only a
//! matter of bytes needs no line at all: `misbehave inject` reads them from a file (see `inject.rs`). A process hook is
//! `misbehave hook FAULT POINT NAME` (see `hooks.rs`).

#![expect(clippy::disallowed_methods, reason = "starts shells, to leave processes behind")]

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

use fault::{At, Fault, Then};
use peer::Peer;

/// Every fault, by group.
const FAULTS: &[&[Fault]] = &[
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
        complain(&format!("there is no fault {fault:?}"));
        exit(2);
    };
    let mut peer = Peer::new(fault.name, &name);
    if reach(&mut peer, fault, At::Start, &Value::Null) == Then::GoOn {
        good::hello(&mut peer);
    }
    reach(&mut peer, fault, At::Greeted, &Value::Null);
    good::register(&mut peer);
    if reach(&mut peer, fault, At::Registered, &Value::Null) == Then::GoOn {
        good::ready(&mut peer);
    }
    reach(&mut peer, fault, At::Ready, &Value::Null);
    serve(&mut peer, fault);
}

/// Until the host closes this extension's input.
fn serve(peer: &mut Peer, fault: &Fault) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { exit(1) };
        peer.heard(&line);
        if line.len() > SCANNER {
            reach(peer, fault, At::BigLine, &Value::Null);
        }
        let Ok(frame) = serde_json::from_str::<Value>(&line) else { exit(1) };
        let at = match frame["type"].as_str() {
            Some("hello_ack") => At::Acknowledged,
            Some("tool_call") => At::Tool,
            Some("event_intercept") => At::Gate,
            Some("command_invoked") => At::Command,
            Some("event") => At::Event,
            Some("shutdown") => At::Shutdown,
            Some("ping") => {
                good::pong(peer, &frame);
                continue;
            }
            _ => continue,
        };
        if reach(peer, fault, at, &frame) == Then::GoOn {
            good::behave(peer, at, &frame);
        }
    }
}

/// A moment has come; if it is the fault's, it happens.
fn reach(peer: &mut Peer, fault: &Fault, at: At, frame: &Value) -> Then {
    let asked = fault.at == At::Question && matches!(at, At::Tool | At::Gate | At::Command);
    let named = fault.at == At::Inject && inject::is_due(at);
    if fault.at != at && !asked && !named {
        return Then::GoOn;
    }
    peer.mark(fault.name);
    (fault.act)(peer, frame)
}

#[expect(clippy::print_stderr, reason = "standard error is the log")]
fn complain(text: &str) {
    eprintln!("misbehave: {text}");
}
