//! Group I: ids and which question an answer belongs to.

use serde_json::{Value, json};

use crate::fault::{At, Fault, Then};
use crate::good;
use crate::peer::Peer;

pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "answer-twice", at: At::Question, act: answer_twice },
    Fault { name: "answer-late", at: At::Question, act: answer_late },
    Fault { name: "hang-intercept", at: At::Gate, act: |_, _| Then::Instead },
    Fault { name: "hang-tool", at: At::Tool, act: |_, _| Then::Instead },
    Fault { name: "answer-others", at: At::Tool, act: answer_others },
    Fault { name: "leak", at: At::Tool, act: leak },
    Fault { name: "answer-in-reverse", at: At::Tool, act: answer_in_reverse },
];

fn answer_twice(peer: &mut Peer, frame: &Value) -> Then {
    good::answer(peer, frame);
    Then::GoOn
}

/// Answers when the test says that the deadline has passed.
fn answer_late(peer: &mut Peer, _: &Value) -> Then {
    peer.until_released();
    Then::GoOn
}

/// Answers with the ids in the file that `HAFT_LEAK` names, which are those of another extension's questions.
fn answer_others(peer: &mut Peer, _: &Value) -> Then {
    let leak = std::env::var_os("HAFT_LEAK").expect("HAFT_LEAK names a file");
    let ids = std::fs::read_to_string(leak).expect("the leaked ids can be read");
    for id in ids.lines() {
        peer.say(&json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "forged"}]}));
    }
    Then::GoOn
}

/// Writes the id of a call to the file that `HAFT_LEAK` names, and answers when the test says that others have used it.
fn leak(peer: &mut Peer, frame: &Value) -> Then {
    let leak = std::env::var_os("HAFT_LEAK").expect("HAFT_LEAK names a file");
    let id = frame["id"].as_str().expect("an id is a string");
    // Whoever looks finds all of it or nothing.
    let whole = std::path::PathBuf::from(&leak).with_extension("whole");
    std::fs::write(&whole, id).and_then(|()| std::fs::rename(&whole, leak)).expect("the id can be leaked");
    peer.until_released();
    peer.say(&json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "the truth"}]}));
    Then::Instead
}

/// Keeps the calls whose arguments say `"of": n` until it has n, then answers the last one first, each with its own
/// number.
fn answer_in_reverse(peer: &mut Peer, frame: &Value) -> Then {
    let Some(of) = frame["args"]["of"].as_u64() else { return Then::GoOn };
    peer.kept.push(frame.clone());
    if u64::try_from(peer.kept.len()).unwrap_or(of) < of {
        return Then::Instead;
    }
    for call in std::mem::take(&mut peer.kept).iter().rev() {
        let text = call["args"]["number"].to_string();
        peer.say(
            &json!({"type": "tool_result", "id": call["id"], "content": [{"type": "text", "text": text}]}),
        );
    }
    Then::Instead
}
