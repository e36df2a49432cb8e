//! Group K: calls to the host.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "same-call-id", at: FaultMoment::Acknowledged, act: reuse_call_id },
    FaultSpec { name: "cancel-unknown-calls", at: FaultMoment::Acknowledged, act: cancel_unknown_calls },
    FaultSpec { name: "many-questions", at: FaultMoment::Acknowledged, act: ask_many_questions },
    FaultSpec { name: "endless-question", at: FaultMoment::Gate, act: ask_for_the_gate },
    FaultSpec { name: "tools-loop", at: FaultMoment::Acknowledged, act: set_tools_forever },
    FaultSpec { name: REGISTER_LOOP, at: FaultMoment::Acknowledged, act: register_forever },
    FaultSpec { name: "panels-loop", at: FaultMoment::Acknowledged, act: open_panels },
    FaultSpec { name: "write-loop", at: FaultMoment::Acknowledged, act: append_entries },
    FaultSpec { name: "waits-for-itself", at: FaultMoment::Gate, act: wait_for_the_run },
    FaultSpec { name: UNREAD_MIRROR, at: FaultMoment::Ready, act: |peer, _| peer.hang() },
];

/// The fault of an extension with a mirror that it never reads.
pub(crate) const UNREAD_MIRROR: &str = "unread-mirror";

/// The fault of an extension that registers keys without end.
pub(crate) const REGISTER_LOOP: &str = "register-loop";

/// The number of entries of `write-loop` and of panels of `panels-loop`: more than the burst of their rate.
const ENTRIES: usize = 1_000;

fn call_host(peer: &mut ExtensionPeer, id: Option<&str>, call: &str, args: &Value) {
    let mut frame = json!({"type": "host_call", "call": call, "args": args});
    if let Some(id) = id {
        frame["id"] = json!(id);
    }
    peer.send_frame(&frame);
}

fn ask_person(peer: &mut ExtensionPeer, id: &str) {
    call_host(peer, Some(id), "confirm", &json!({"title": "Sure?"}));
}

fn reuse_call_id(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    ask_person(peer, "same");
    ask_person(peer, "same");
    AfterFault::Continue
}

fn cancel_unknown_calls(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    loop {
        peer.send_frame(&json!({"type": "host_call_cancel", "id": "nobody"}));
    }
}

/// Asks the person a thousand questions at once.
fn ask_many_questions(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for number in 0..1_000 {
        ask_person(peer, &number.to_string());
    }
    peer.mark("all asked");
    AfterFault::Continue
}

/// Asks the person about a call, and answers the host only with the person's answer.
fn ask_for_the_gate(peer: &mut ExtensionPeer, question: &Value) -> AfterFault {
    let args = json!({"title": "May it run?"});
    let frame =
        json!({"type": "host_call", "id": "ask", "call": "confirm", "args": args, "under": question["id"]});
    peer.send_frame(&frame);
    AfterFault::SkipAnswer
}

/// Waits until the run ends that waits for this answer.
fn wait_for_the_run(peer: &mut ExtensionPeer, question: &Value) -> AfterFault {
    let frame = json!({
        "type": "host_call", "id": "wait", "call": "wait_idle", "args": {}, "under": question["id"],
    });
    peer.send_frame(&frame);
    AfterFault::SkipAnswer
}

/// Limits the tools and lifts the limit again.
fn set_tools_forever(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    send_forever(|number| {
        let args = json!({"tools": if number % 2 == 0 { json!(["read"]) } else { Value::Null }});
        json!({"type": "host_call", "id": number.to_string(), "call": "set_tools", "args": args})
    })
}

/// Registers keys and removes them again.
fn register_forever(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    send_forever(|number| {
        let kind = if number % 2 == 0 { "register" } else { "unregister" };
        json!({"type": kind, "kind": "shortcut", "name": format!("f{}", 1 + number / 2 % 12)})
    })
}

/// Sends frames without end in a second thread, so that the extension still reads.
fn send_forever(frame: fn(u64) -> Value) -> AfterFault {
    std::thread::spawn(move || {
        // A closed pipe means that the host is gone, and this process will end soon.
        for number in 0.. {
            if writeln!(std::io::stdout().lock(), "{}", frame(number)).is_err() {
                break;
            }
        }
    });
    AfterFault::Continue
}

/// Appends entries, each with time to end before the next one, so that few calls are open.
fn append_entries(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for number in 0..ENTRIES {
        call_host(peer, None, "append_entry", &json!({"kind": "loop", "data": number}));
        // sleep: part of the fault
        std::thread::sleep(Duration::from_millis(1));
    }
    peer.mark("all written");
    AfterFault::Continue
}

/// Opens panels, each in place of the one before.
fn open_panels(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    for number in 0..ENTRIES {
        // With an id: how many of the calls run at once, and fail without one, depends on the machine.
        let id = format!("p{number}");
        call_host(peer, Some(&id), "open_panel", &json!({"id": id, "lines": ["look here"]}));
        // sleep: part of the fault
        std::thread::sleep(Duration::from_millis(1));
    }
    peer.mark("all opened");
    AfterFault::Continue
}
