//! Group I: ids and which question an answer belongs to.

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::good;
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "answer-twice", at: FaultMoment::Question, act: answer_twice },
    FaultSpec { name: "answer-late", at: FaultMoment::Question, act: answer_late },
    FaultSpec { name: "hang-intercept", at: FaultMoment::Gate, act: |_, _| AfterFault::Instead },
    FaultSpec { name: "hang-tool", at: FaultMoment::Tool, act: |_, _| AfterFault::Instead },
    FaultSpec { name: "answer-others", at: FaultMoment::Tool, act: answer_others },
    FaultSpec { name: "leak", at: FaultMoment::Tool, act: leak },
    FaultSpec { name: "answer-in-reverse", at: FaultMoment::Tool, act: answer_in_reverse },
];

fn answer_twice(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    good::answer(peer, frame);
    AfterFault::GoOn
}

/// Answers when the test says that the deadline has passed.
fn answer_late(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.wait_until_released();
    AfterFault::GoOn
}

/// Answers with the ids in the file that `HAFT_LEAK` names, which are those of another extension's questions.
fn answer_others(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let leak = std::env::var_os("HAFT_LEAK").expect("HAFT_LEAK names a file");
    let ids = std::fs::read_to_string(leak).expect("the leaked ids can be read");
    for id in ids.lines() {
        peer.send_frame(
            &json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "forged"}]}),
        );
    }
    AfterFault::GoOn
}

/// Writes the id of a call to the file that `HAFT_LEAK` names, and answers when the test says that others have used it.
fn leak(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let leak = std::env::var_os("HAFT_LEAK").expect("HAFT_LEAK names a file");
    let id = frame["id"].as_str().expect("an id is a string");
    // Whoever looks finds all of it or nothing.
    let whole = std::path::PathBuf::from(&leak).with_extension("whole");
    std::fs::write(&whole, id).and_then(|()| std::fs::rename(&whole, leak)).expect("the id can be leaked");
    peer.wait_until_released();
    peer.send_frame(
        &json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "the truth"}]}),
    );
    AfterFault::Instead
}

/// Keeps the calls whose arguments say `"of": n` until it has n, then answers the last one first, each with its own
/// number.
fn answer_in_reverse(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let Some(of) = frame["args"]["of"].as_u64() else { return AfterFault::GoOn };
    peer.kept.push(frame.clone());
    if u64::try_from(peer.kept.len()).unwrap_or(of) < of {
        return AfterFault::Instead;
    }
    for call in std::mem::take(&mut peer.kept).iter().rev() {
        let text = call["args"]["number"].to_string();
        peer.send_frame(
            &json!({"type": "tool_result", "id": call["id"], "content": [{"type": "text", "text": text}]}),
        );
    }
    AfterFault::Instead
}
