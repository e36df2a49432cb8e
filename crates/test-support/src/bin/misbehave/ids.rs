//! Group I: ids, and the question that an answer belongs to.

use serde_json::{Value, json};

use crate::fault::{AfterFault, FaultMoment, FaultSpec};
use crate::good;
use crate::peer::ExtensionPeer;

pub(crate) const FAULTS: &[FaultSpec] = &[
    FaultSpec { name: "answer-twice", at: FaultMoment::Question, act: answer_twice },
    FaultSpec { name: "answer-late", at: FaultMoment::Question, act: answer_late },
    FaultSpec { name: "hang-intercept", at: FaultMoment::Gate, act: |_, _| AfterFault::SkipAnswer },
    FaultSpec { name: "hang-tool", at: FaultMoment::Tool, act: |_, _| AfterFault::SkipAnswer },
    FaultSpec { name: "answer-others", at: FaultMoment::Tool, act: answer_others },
    FaultSpec { name: "leak", at: FaultMoment::Tool, act: leak },
    FaultSpec { name: "answer-in-reverse", at: FaultMoment::Tool, act: answer_in_reverse },
];

fn answer_twice(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    good::answer(peer, frame);
    AfterFault::Continue
}

/// Answers when the test reports that the deadline has passed.
fn answer_late(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    peer.wait_until_released();
    AfterFault::Continue
}

/// Answers with the ids in the file that `HAFT_LEAK` names, which belong to another extension's questions.
fn answer_others(peer: &mut ExtensionPeer, _: &Value) -> AfterFault {
    let leak = std::env::var_os("HAFT_LEAK").expect("HAFT_LEAK names a file");
    let ids = std::fs::read_to_string(leak).expect("the leaked ids can be read");
    for id in ids.lines() {
        peer.send_frame(
            &json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "forged"}]}),
        );
    }
    AfterFault::Continue
}

/// Writes the id of a call to the file that `HAFT_LEAK` names, and answers when the test reports that other extensions
/// have used the id.
fn leak(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let leak = std::env::var_os("HAFT_LEAK").expect("HAFT_LEAK names a file");
    let id = frame["id"].as_str().expect("an id is a string");
    // Renaming lets readers find either the complete file or no file.
    let whole = std::path::PathBuf::from(&leak).with_extension("whole");
    std::fs::write(&whole, id).and_then(|()| std::fs::rename(&whole, leak)).expect("the id can be leaked");
    peer.wait_until_released();
    peer.send_frame(
        &json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "the truth"}]}),
    );
    AfterFault::SkipAnswer
}

/// Collects calls with `"of": n` in their arguments until there are n, then answers them in reverse order, each with
/// its number.
fn answer_in_reverse(peer: &mut ExtensionPeer, frame: &Value) -> AfterFault {
    let Some(of) = frame["args"]["of"].as_u64() else { return AfterFault::Continue };
    peer.kept.push(frame.clone());
    if u64::try_from(peer.kept.len()).unwrap_or(of) < of {
        return AfterFault::SkipAnswer;
    }
    for call in std::mem::take(&mut peer.kept).iter().rev() {
        let text = call["args"]["number"].to_string();
        peer.send_frame(
            &json!({"type": "tool_result", "id": call["id"], "content": [{"type": "text", "text": text}]}),
        );
    }
    AfterFault::SkipAnswer
}
