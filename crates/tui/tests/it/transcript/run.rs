//! What becomes of what is shown while a run goes on.

use haft_protocol::content::ToolCall;
use haft_protocol::event::AgentEvent as E;
use haft_protocol::message::{AssistantBlock, StopCause};

use super::{Shown, answer, answers, block, call, called, delta, id, json, said, start, thinks};

#[test]
fn pieces_become_one_text() {
    let mut shown = Shown::new(40, 10);
    shown.events(&[E::AssistantStart, delta("on"), delta("e *tw"), delta("o*")]);
    assert_eq!(shown.draw(), "one two");
    shown.event(&answer(&[block("one *two*")]));
    assert_eq!(shown.draw(), "one two");
    assert_eq!(shown.transcript.last_answer(), Some("one *two*"));
}

#[test]
fn what_was_left_out_comes_with_the_message() {
    let mut shown = Shown::new(40, 10);
    shown.events(&[E::AssistantStart, delta("on"), E::EventGap { lost: 3 }]);
    shown.event(&answer(&[AssistantBlock::Thinking { text: "hm".into() }, block("one two")]));
    assert_eq!(
        shown.draw(),
        "∴ thought\n\none two\n\n· 3 events were left out, because they\n  came too fast"
    );
}

#[test]
fn another_attempt_begins_anew() {
    let mut shown = Shown::new(60, 10);
    shown.events(&[said("hi"), E::AssistantStart, thinks("hm"), delta("hal")]);
    let message = "too many requests".to_owned();
    shown.event(&E::Retry { attempt: 2, delay_ms: 500, message, max_attempts: None, reason: None });
    shown.events(&[delta("whole"), answer(&[block("whole")])]);
    assert_eq!(shown.draw(), "› hi\n\n! attempt 2 in 0.5s: too many requests\n\nwhole");
}

#[test]
fn what_was_not_finished_when_it_was_stopped_is_gone() {
    let mut shown = Shown::new(60, 10);
    shown.events(&[E::AssistantStart, thinks("hm"), delta("so "), thinks("ah"), delta("far")]);
    shown.event(&E::ToolUseStart { id: id("9"), name: "bash".into() });
    shown.event(&answer(&[block("so far")]));
    shown.events(&[E::TurnEnd { stop: StopCause::Aborted, error: None }, E::Done]);
    assert_eq!(shown.draw(), "so far\n\n· stopped");
}

#[test]
fn calls_of_an_answer_stand_once() {
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
fn what_runs_turns_and_what_is_over_does_not() {
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
    assert_eq!(shown.transcript.layout_count(), before, "a turn lays nothing out");
    shown.event(&E::Done);
    assert_eq!(shown.draw(), "○ bash");
    assert_eq!(shown.transcript.wakes_at(shown.now), None);
}

#[test]
fn nothing_wakes_for_what_is_out_of_view() {
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
fn an_empty_transcript_is_empty() {
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
fn the_same_id_in_another_step_is_another_call() {
    let mut shown = Shown::new(60, 10);
    shown.events(&called("ls", "{\"path\":\"a\"}", "1"));
    shown.events(&called("ls", "{\"path\":\"b\"}", "2"));
    shown.events(&[start("ls", "{\"path\":\"c\"}")]);
    assert_eq!(shown.draw(), "● ls  a  3.2s\n  1\n● ls  b  3.2s\n  2\n⠋ ls  c");
}
