//! What extensions decide: calls that are refused or rewritten, turns that are blocked, answers that are changed.

use haft_test_support::model_server::Scenario;

use super::seat::Seat;
use crate::e2e::gates::{SPENT, rewrites};
use crate::e2e::scene::{Scene, bash};

#[test]
fn a_call_that_is_refused_stands_there_with_the_reason() {
    let scene = Scene::new(vec![bash("t1", "rm -rf build"), Scenario::text("Then not.")]).shipped("guard");
    std::fs::create_dir(scene.world.project().join("build")).unwrap();
    let seat = Seat::at(scene, &["clean", "up"]);
    seat.sees(&[
        "✗ bash  rm -rf build",
        "✗ refused by guard: refused: matches danger pattern \"rm -rf\"",
        "Then not.",
    ]);
    assert!(seat.scene.world.project().join("build").exists());
    seat.leave();
}

#[test]
fn a_call_that_is_rewritten_says_by_whom_and_shows_what_ran() {
    let body = rewrites(r#"{"command": "echo tame"}"#);
    let scene = Scene::new(vec![bash("t1", "echo wild"), Scenario::text("Done.")]).python("tamer", &body);
    let seat = Seat::at(scene, &["go"]);
    seat.sees(&["● bash  echo tame", "rewritten by tamer: /command", "Done."]);
    seat.pty.wait_gone("wild");
    seat.leave();
}

#[test]
fn a_blocked_turn_says_why_and_the_prompt_is_not_lost() {
    let seat = Seat::at(Scene::new(Vec::new()).python("budget", SPENT), &[]);
    seat.say("a costly thing");
    seat.sees(&["budget", "the budget is spent", "a costly thing"]);
    assert_eq!(seat.scene.server.requests().len(), 0);
    seat.leave();
}

#[test]
fn an_answer_that_is_replaced_or_withheld_says_so() {
    let body = r#"
emit("subscribe", intercept=["assistant_message"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        if "hush" in frame["text"]:
            answer(frame, block=True, reason="not for you")
        else:
            answer(frame, replace_text=frame["text"].replace("SECRET", "[redacted]"))
"#;
    let answers = ["The code is SECRET.", "hush now"].map(Scenario::text);
    let seat = Seat::at(Scene::new(answers.into()).python("censor", body), &["tell"]);
    seat.sees(&["The code is [redacted].", "· an extension changed the answer"]);
    seat.say("more");
    seat.sees(&["· an extension withheld the answer"]);
    seat.pty.wait_gone("hush");
    seat.pty.wait_gone("SECRET");
    seat.leave();
}
