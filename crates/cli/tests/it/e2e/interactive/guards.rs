//! Decisions of extensions: refused and rewritten calls, blocked turns, changed answers.

use haft_test_support::model_server::Scenario;

use super::terminal_session::TerminalSession;
use crate::e2e::gates::{SPENT, rewrites};
use crate::e2e::requests::said;
use crate::e2e::scene::{Scene, bash};

#[test]
fn shows_refused_call_with_reason() {
    let scene = Scene::new(vec![bash("t1", "rm -rf build"), Scenario::text("Then not.")]).shipped("guard");
    std::fs::create_dir(scene.world.project().join("build")).unwrap();
    let terminal = TerminalSession::at(scene, &["clean", "up"]);
    terminal.sees(&[
        "✗ bash  rm -rf build",
        "✗ refused by guard: refused: matches danger pattern \"rm -rf\"",
        "Then not.",
    ]);
    assert!(terminal.scene.world.project().join("build").exists());
    terminal.leave();
}

#[test]
fn shows_rewritten_call_and_its_author() {
    let body = rewrites(r#"{"command": "echo tame"}"#);
    let scene = Scene::new(vec![bash("t1", "echo wild"), Scenario::text("Done.")]).python("tamer", &body);
    let terminal = TerminalSession::at(scene, &["go"]);
    terminal.sees(&["● bash  echo tame", "rewritten by tamer: /command", "Done."]);
    terminal.pty.wait_gone("wild");
    terminal.leave();
}

#[test]
fn blocked_turn_shows_reason_and_keeps_prompt() {
    let terminal = TerminalSession::at(Scene::new(Vec::new()).python("budget", SPENT), &[]);
    terminal.say("a costly thing");
    terminal.sees(&["budget", "the budget is spent", "a costly thing"]);
    assert_eq!(terminal.scene.server.requests().len(), 0);
    terminal.leave();
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
    let terminal = TerminalSession::at(Scene::new(answers.into()).python("censor", body), &["tell"]);
    terminal.sees(&["The code is [redacted].", "· an extension changed the answer"]);
    terminal.say("more");
    terminal.sees(&["· an extension withheld the answer"]);
    terminal.pty.wait_gone("hush");
    terminal.pty.wait_gone("SECRET");
    terminal.leave();
}

#[test]
fn commands_of_the_person_are_blocked_changed_and_answered() {
    let body = r#"
emit("subscribe", intercept=["user_bash"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        command, word = frame["command"], "excluded" if frame["excluded"] else "sent"
        mark(command + ": " + word)
        if command == "push":
            answer(frame, block=True, reason="the branch is frozen")
        elif command == "greet":
            answer(frame, command="echo hello-$((40 + 2))")
        elif command == "ping":
            answer(frame, result={"output": "pong\n", "exit_code": 0})
        else:
            sys.exit(3)
"#;
    let scene = Scene::new(vec![Scenario::text("I see.")]).python("desk", body);
    let terminal = TerminalSession::at(scene, &[]);
    terminal.say("!!push");
    terminal.sees(&["refused by desk: the branch is frozen"]);
    terminal.say("!!greet");
    terminal.sees(&["[desk changed the command to: echo hello-$((40 + 2))]", "hello-42"]);
    terminal.say("!ping");
    terminal.sees(&["pong", "↳ with your next prompt: !ping"]);
    terminal.say("well?");
    terminal.sees(&["I see."]);
    let told = said(&terminal.scene.server.requests()[0], "user").join("\n");
    assert!(told.contains("I ran `ping`") && told.contains("[answered by desk]\npong"), "{told}");
    terminal.say("!!echo ran > ran");
    terminal.sees(&["refused by desk: blocked: extension desk, which must approve this,"]);
    assert!(!terminal.scene.world.project().join("ran").exists());
    let marks = ["push: excluded", "greet: excluded", "ping: sent", "echo ran > ran: excluded"];
    assert_eq!(terminal.scene.marks()[..4], marks);
    terminal.leave();
}
