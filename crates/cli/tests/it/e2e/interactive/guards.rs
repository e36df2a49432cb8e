//! Decisions of extensions: refused and rewritten calls, blocked turns, changed answers.

use haft_test_support::model_server::Scenario;

use super::seat::Seat;
use crate::e2e::gates::{SPENT, rewrites};
use crate::e2e::scene::{Scene, bash};

#[test]
fn shows_refused_call_with_reason() {
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
fn shows_rewritten_call_and_its_author() {
    let body = rewrites(r#"{"command": "echo tame"}"#);
    let scene = Scene::new(vec![bash("t1", "echo wild"), Scenario::text("Done.")]).python("tamer", &body);
    let seat = Seat::at(scene, &["go"]);
    seat.sees(&["● bash  echo tame", "rewritten by tamer: /command", "Done."]);
    seat.pty.wait_gone("wild");
    seat.leave();
}

#[test]
fn blocked_turn_shows_reason_and_keeps_prompt() {
    let seat = Seat::at(Scene::new(Vec::new()).python("budget", SPENT), &[]);
    seat.say("a costly thing");
    seat.sees(&["budget", "the budget is spent", "a costly thing"]);
    assert_eq!(seat.scene.server.requests().len(), 0);
    seat.leave();
}

#[test]
fn marks_replaced_and_withheld_answers() {
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
