//! Sessions in the interface: fork, tree, names, exports, summaries, new sessions; and models.

use std::fs;

use haft_test_support::model_server::{AnswerFault, Scenario, WireFormat};

use super::terminal_session::TerminalSession;
use crate::e2e::requests::said;
use crate::e2e::running::eventually;
use crate::e2e::scene::Scene;

fn terminal(answers: &[&str]) -> TerminalSession {
    TerminalSession::at(Scene::new(answers.iter().map(|text| Scenario::text(*text)).collect()), &[])
}

#[test]
fn fork_continues_copy_and_keeps_original() {
    let terminal = terminal(&["One.", "Two."]);
    terminal.say("about alpha");
    terminal.sees(&["One."]);
    terminal.say("/fork");
    terminal.editor_is_empty();
    let forked = || {
        terminal.scene.world.haft(&["session", "list", "--json"]).stdout.matches("about alpha").count() > 1
    };
    assert!(eventually(forked));
    terminal.say("and beta");
    terminal.sees(&["about alpha", "One.", "and beta", "Two."]);
    assert_eq!(said(&terminal.scene.server.requests()[1], "user"), ["about alpha", "and beta"]);
    terminal.leave();
}

#[test]
fn queued_message_moves_to_composer_of_next_session() {
    let hangs = Scenario::text("I begin.").fault(AnswerFault::Hang);
    let terminal = TerminalSession::at(Scene::new(vec![hangs, Scenario::text("Both, then.")]), &["begin"]);
    terminal.sees(&["I begin.", "esc to stop"]);
    terminal.say_meanwhile("look here");
    terminal.sees(&["↳ steer: look here"]);
    terminal.say_meanwhile("/new");
    terminal.sees(&["a queued prompt of the previous session is back in the editor", "› look here"]);
    terminal.pty.wait_gone("I begin.");
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Both, then."]);
    assert_eq!(said(&terminal.scene.server.requests()[1], "user"), ["look here"]);
    terminal.leave();
}

#[test]
fn row_reports_answer_that_was_cut_off() {
    let hangs = Scenario::text("I begin.").fault(AnswerFault::Hang);
    let scene = Scene::new(vec![hangs, Scenario::text("One.")]);
    let running = scene.start(&["-p", "first"], None);
    assert!(eventually(|| !scene.server.requests().is_empty()));
    running.kill();
    let terminal = TerminalSession::at(scene, &["-c"]);
    terminal.sees(&["first", "session: the last run ended before"]);
    terminal.say("again");
    terminal.sees(&["One."]);
    terminal.leave();
}

#[test]
fn fork_receives_earlier_command_output() {
    let terminal = terminal(&["One.", "Two."]);
    terminal.say("about alpha");
    terminal.sees(&["One."]);
    terminal.say("!echo printed");
    terminal.sees(&["↳ with your next prompt: !echo printed"]);
    terminal.say("/fork");
    terminal.sees(&["forked from about alpha at its last entry", "↳ with your next prompt: !echo printed"]);
    terminal.say("and beta");
    terminal.sees(&["Two."]);
    let told = said(&terminal.scene.server.requests()[1], "user").join("\n");
    assert!(told.contains("I ran `echo printed`") && told.contains("and beta"), "{told}");
    terminal.leave();
}

#[test]
fn tree_jumps_to_other_entry() {
    let terminal = terminal(&["One.", "Two.", "Three."]);
    terminal.say("first question");
    terminal.sees(&["One."]);
    terminal.pty.send("second question");
    terminal.pty.press(&["ctrl+j"]);
    terminal.say("in two lines");
    terminal.sees(&["Two."]);
    terminal.say("/tree");
    terminal.sees(&["first question", "second question", "esc cancel"]);
    terminal.pty.send("second");
    terminal.pty.wait_gone("first question");
    terminal.pty.press(&["enter"]);
    // A selected prompt returns to the composer, so that it can be changed.
    terminal.sees(&["› second question\n  in two lines", "One."]);
    terminal.pty.wait_gone("Two.");
    terminal.pty.send(", again");
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Three."]);
    assert_eq!(
        said(&terminal.scene.server.requests()[2], "user"),
        ["first question", "second question\nin two lines, again"]
    );
    terminal.leave();
}

#[test]
fn name_appears_in_status_line_and_list() {
    let terminal = terminal(&["One."]);
    terminal.say("hello");
    terminal.sees(&["One."]);
    terminal.say("/name the long way");
    terminal.sees(&["the long way · project"]);
    let listed = || terminal.scene.world.haft(&["session", "list"]).stdout.contains("the long way");
    assert!(eventually(listed));
    terminal.leave();
}

#[test]
fn exports_session_to_file() {
    let terminal = terminal(&["An answer to keep."]);
    terminal.say("hello");
    terminal.sees(&["An answer to keep."]);
    terminal.say("/export kept.html");
    terminal.sees(&["kept.html"]);
    let file = terminal.scene.world.project().join("kept.html");
    assert!(eventually(|| fs::read_to_string(&file).is_ok_and(|text| text.contains("An answer to keep."))));
    terminal.leave();
}

#[test]
fn compacts_conversation() {
    let long = "A long answer. ".repeat(400);
    let terminal = terminal(&[&long, "Short.", "SUMMARY of it.", "Afterwards."]);
    terminal.say("first question");
    terminal.sees(&["A long answer."]);
    terminal.say("second question");
    terminal.sees(&["Short."]);
    terminal.say("/compact keep names");
    terminal.sees(&["context compacted"]);
    terminal.say("third question");
    terminal.sees(&["Afterwards."]);
    let last = terminal.scene.server.requests().pop().unwrap();
    assert!(last.body.to_string().contains("SUMMARY of it."), "{last:?}");
    assert!(!last.body.to_string().contains("A long answer."));
    terminal.leave();
}

#[test]
fn new_session_starts_empty() {
    let terminal = terminal(&["One.", "Two."]);
    terminal.say("about alpha");
    terminal.sees(&["One."]);
    terminal.say("/clear");
    terminal.pty.wait_gone("One.");
    terminal.say("about beta");
    terminal.sees(&["Two."]);
    assert_eq!(said(&terminal.scene.server.requests()[1], "user"), ["about beta"]);
    terminal.leave();
}

#[test]
fn selects_model() {
    let answers = ["One.", "Two."].map(Scenario::text).into();
    let terminal = TerminalSession::at(Scene::speaking(WireFormat::Anthropic, answers), &[]);
    terminal.say("hello");
    terminal.sees(&["One."]);
    terminal.say("/model");
    terminal.sees(&["Model", "esc cancel", "● m"]);
    terminal.pty.send("haiku-4-5");
    terminal.pty.wait_gone("● m");
    terminal.pty.press(&["enter"]);
    terminal.pty.wait_gone("esc cancel");
    // The status line shows the model, which answers from now on.
    terminal.sees(&["claude-haiku-4-5 ·"]);
    terminal.say("and you?");
    terminal.sees(&["Two."]);
    let asked: Vec<_> =
        terminal.scene.server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(asked, ["m", "claude-haiku-4-5"]);
    // An unknown model is not asked.
    terminal.say("/model nosuch");
    terminal.sees(&["nosuch is not among the", "/model anthropic/nosuch"]);
    terminal.sees(&["claude-haiku-4-5 ·"]);
    terminal.leave();
}

#[test]
fn does_not_resume_empty_session() {
    let scene = Scene::new(["First answer.", "Second answer."].map(Scenario::text).into());
    scene.haft(&["-p", "first question"]).expect(0);
    let terminal = TerminalSession::at(scene, &["-r"]);
    terminal.sees(&["Sessions", "first question"]);
    terminal.pty.wait_gone("(empty)");
    // The selected session is the latest of the others.
    terminal.pty.press(&["enter"]);
    terminal.sees(&["First answer."]);
    terminal.say("second question");
    terminal.sees(&["Second answer."]);
    assert_eq!(said(&terminal.scene.server.requests()[1], "user"), ["first question", "second question"]);
    terminal.leave();
}
