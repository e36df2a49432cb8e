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
    FaultSpec { name: "write-loop", at: FaultMoment::Acknowledged, act: append_entries },
    FaultSpec { name: "waits-for-itself", at: FaultMoment::Gate, act: wait_for_the_run },
    FaultSpec { name: UNREAD_MIRROR, at: FaultMoment::Ready, act: |peer, _| peer.hang() },
];

/// The fault of an extension with a mirror that it never reads.
pub(crate) const UNREAD_MIRROR: &str = "unread-mirror";

/// The number of entries of `write-loop`: more than the burst of their rate.
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

/// Limits the tools and lifts the limit again, in a second thread, so that the extension still reads.
fn set_tools_forever(_: &mut ExtensionPeer, _: &Value) -> AfterFault {
    std::thread::spawn(|| {
        let tools = [json!(["read"]), Value::Null].into_iter().cycle();
        for (number, tools) in tools.enumerate() {
            let args = json!({"tools": tools});
            let frame =
                json!({"type": "host_call", "id": number.to_string(), "call": "set_tools", "args": args});
            // A closed pipe means that the host is gone, and this process will end soon.
            if writeln!(std::io::stdout().lock(), "{frame}").is_err() {
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
