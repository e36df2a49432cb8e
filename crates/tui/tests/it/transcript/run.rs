//! Tests of the transcript during a run.

use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent as E;
use haft_protocol::message::{AssistantBlock, StopCause};

use super::{Shown, answer, answers, block, call, called, delta, id, json, said, start, thinks};

#[test]
fn joins_streamed_pieces() {
    let mut shown = Shown::new(40, 10);
    shown.events(&[E::AssistantStart, delta("on"), delta("e *tw"), delta("o*")]);
    assert_eq!(shown.draw(), "one two");
    shown.event(&answer(&[block("one *two*")]));
    assert_eq!(shown.draw(), "one two");
    assert_eq!(shown.transcript.last_answer(), Some("one *two*"));
}

#[test]
fn final_message_fills_gaps() {
    let mut shown = Shown::new(40, 10);
    shown.events(&[E::AssistantStart, delta("on"), E::EventGap { lost: 3 }]);
    shown.event(&answer(&[AssistantBlock::Thinking { text: "hm".into() }, block("one two")]));
    assert_eq!(
        shown.draw(),
        "∴ thought\n\none two\n\n· 3 events were dropped because they\n  arrived too fast"
    );
}

#[test]
fn retry_restarts_answer() {
    let mut shown = Shown::new(60, 10);
    shown.events(&[said("hi"), E::AssistantStart, thinks("hm"), delta("hal")]);
    let message = "too many requests".to_owned();
    shown.event(&E::Retry { attempt: 2, delay_ms: 500, message, max_attempts: None, reason: None });
    shown.events(&[delta("whole"), answer(&[block("whole")])]);
    assert_eq!(shown.draw(), "› hi\n\n! attempt 2 in 0.5s: too many requests\n\nwhole");
}

#[test]
fn abort_removes_unfinished_parts() {
    let mut shown = Shown::new(60, 10);
    shown.events(&[E::AssistantStart, thinks("hm"), delta("so "), thinks("ah"), delta("far")]);
    shown.event(&E::ToolUseStart { id: id("9"), name: "bash".into() });
    shown.event(&answer(&[block("so far")]));
    shown.events(&[E::TurnEnd { stop: StopCause::Aborted, error: None }, E::Done]);
    assert_eq!(shown.draw(), "so far\n\n· stopped");
}

#[test]
fn calls_of_answer_appear_once() {
    let mut shown = Shown::new(60, 10);
    shown.events(&[E::AssistantStart, delta("look")]);
    shown.event(&E::ToolUseStart { id: id("1"), name: "ls".into() });
    assert_eq!(shown.draw(), "look\n\n○ ls");
    let made = ToolCall { id: id("1"), name: "ls".into(), args: json("{\"path\":\"src\"}") };
    shown.event(&answer(&[block("look"), AssistantBlock::ToolCall(made)]));
    shown.events(&called("ls", "{\"path\":\"src\"}", "a.rs"));
    assert_eq!(shown.draw(), "look\n\n● ls  src  3.2s\n  a.rs");
}

#[test]
fn only_running_calls_have_spinner() {
    let mut shown = Shown::new(60, 10);
    shown.events(&[call("bash", "{}"), start("bash", "{}")]);
    assert_eq!(shown.transcript.wakes_at(shown.now), None, "nothing was drawn");
    assert_eq!(shown.draw(), "⠋ bash");
    let wakes = shown.transcript.wakes_at(shown.now).unwrap();
    assert!(wakes > shown.now);
    shown.now = wakes;
    assert_eq!(shown.draw(), "⠙ bash");
    shown.pass(61_000);
    assert!(shown.draw().ends_with(" bash  1m 01s"));
    let before = shown.transcript.layout_count();
    shown.pass(80);
    shown.draw();
    assert_eq!(shown.transcript.layout_count(), before, "a spinner frame lays nothing out");
    shown.event(&E::Done);
    assert_eq!(shown.draw(), "○ bash");
    assert_eq!(shown.transcript.wakes_at(shown.now), None);
}

#[test]
fn invisible_calls_do_not_wake() {
    let mut shown = Shown::new(60, 5);
    shown.events(&answers(&"a\n\n".repeat(20)));
    shown.events(&[call("bash", "{}"), start("bash", "{}")]);
    shown.draw();
    assert!(shown.transcript.wakes_at(shown.now).is_some());
    shown.transcript.scroll(haft_tui::keys::Scroll::Top);
    shown.draw();
    assert_eq!(shown.transcript.wakes_at(shown.now), None);
}

#[test]
fn empty_transcript_is_empty() {
    let mut shown = Shown::new(20, 3);
    assert!(shown.transcript.is_empty());
    assert_eq!(shown.draw(), "");
    shown.event(&E::Done);
    assert!(shown.transcript.is_empty());
    assert_eq!(shown.transcript.last_answer(), None);
    shown.event(&said("x"));
    assert!(!shown.transcript.is_empty());
    shown.transcript.restore(&[]);
    assert!(shown.transcript.is_empty());
}

#[test]
fn repeated_id_in_later_step_is_new_call() {
    let mut shown = Shown::new(60, 10);
    shown.events(&called("ls", "{\"path\":\"a\"}", "1"));
    shown.events(&called("ls", "{\"path\":\"b\"}", "2"));
    shown.events(&[start("ls", "{\"path\":\"c\"}")]);
    assert_eq!(shown.draw(), "● ls  a  3.2s\n  1\n● ls  b  3.2s\n  2\n⠋ ls  c");
}
