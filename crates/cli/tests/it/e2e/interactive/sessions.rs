//! Sessions in the interface: fork, tree, names, exports, summaries, new sessions; and models.

use std::fs;

use haft_test_support::model_server::{AnswerFault, Scenario, WireFormat};

use super::seat::Seat;
use crate::e2e::requests::said;
use crate::e2e::running::eventually;
use crate::e2e::scene::Scene;

fn seat(answers: &[&str]) -> Seat {
    Seat::at(Scene::new(answers.iter().map(|text| Scenario::text(*text)).collect()), &[])
}

#[test]
fn fork_continues_copy_and_keeps_original() {
    let seat = seat(&["One.", "Two."]);
    seat.say("about alpha");
    seat.sees(&["One."]);
    seat.say("/fork");
    seat.editor_is_empty();
    let forked =
        || seat.scene.world.haft(&["session", "list", "--json"]).stdout.matches("about alpha").count() > 1;
    assert!(eventually(forked));
    seat.say("and beta");
    seat.sees(&["about alpha", "One.", "and beta", "Two."]);
    assert_eq!(said(&seat.scene.server.requests()[1], "user"), ["about alpha", "and beta"]);
    seat.leave();
}

#[test]
fn queued_message_moves_to_composer_of_next_session() {
    let hangs = Scenario::text("I begin.").fault(AnswerFault::Hang);
    let seat = Seat::at(Scene::new(vec![hangs, Scenario::text("Both, then.")]), &["begin"]);
    seat.sees(&["I begin.", "esc to stop"]);
    seat.say_meanwhile("look here");
    seat.sees(&["↳ steer: look here"]);
    seat.say_meanwhile("/new");
    seat.sees(&["a queued prompt of the previous session is back in the editor", "› look here"]);
    seat.pty.wait_gone("I begin.");
    seat.pty.press(&["enter"]);
    seat.sees(&["Both, then."]);
    assert_eq!(said(&seat.scene.server.requests()[1], "user"), ["look here"]);
    seat.leave();
}

#[test]
fn fork_receives_earlier_command_output() {
    let seat = seat(&["One.", "Two."]);
    seat.say("about alpha");
    seat.sees(&["One."]);
    seat.say("!echo printed");
    seat.sees(&["↳ with your next prompt: !echo printed"]);
    seat.say("/fork");
    seat.sees(&["forked from about alpha at its last entry", "↳ with your next prompt: !echo printed"]);
    seat.say("and beta");
    seat.sees(&["Two."]);
    let told = said(&seat.scene.server.requests()[1], "user").join("\n");
    assert!(told.contains("I ran `echo printed`") && told.contains("and beta"), "{told}");
    seat.leave();
}

#[test]
fn tree_jumps_to_other_entry() {
    let seat = seat(&["One.", "Two.", "Three."]);
    seat.say("first question");
    seat.sees(&["One."]);
    seat.pty.send("second question");
    seat.pty.press(&["ctrl+j"]);
    seat.say("in two lines");
    seat.sees(&["Two."]);
    seat.say("/tree");
    seat.sees(&["first question", "second question", "esc cancel"]);
    seat.pty.send("second");
    seat.pty.wait_gone("first question");
    seat.pty.press(&["enter"]);
    // A selected prompt returns to the composer, so that it can be changed.
    seat.sees(&["› second question\n  in two lines", "One."]);
    seat.pty.wait_gone("Two.");
    seat.pty.send(", again");
    seat.pty.press(&["enter"]);
    seat.sees(&["Three."]);
    assert_eq!(
        said(&seat.scene.server.requests()[2], "user"),
        ["first question", "second question\nin two lines, again"]
    );
    seat.leave();
}

#[test]
fn name_appears_in_status_line_and_list() {
    let seat = seat(&["One."]);
    seat.say("hello");
    seat.sees(&["One."]);
    seat.say("/name the long way");
    seat.sees(&["the long way · project"]);
    let listed = || seat.scene.world.haft(&["session", "list"]).stdout.contains("the long way");
    assert!(eventually(listed));
    seat.leave();
}

#[test]
fn exports_session_to_file() {
    let seat = seat(&["An answer to keep."]);
    seat.say("hello");
    seat.sees(&["An answer to keep."]);
    seat.say("/export kept.html");
    seat.sees(&["kept.html"]);
    let file = seat.scene.world.project().join("kept.html");
    assert!(eventually(|| fs::read_to_string(&file).is_ok_and(|text| text.contains("An answer to keep."))));
    seat.leave();
}

#[test]
fn compacts_conversation() {
    let long = "A long answer. ".repeat(400);
    let seat = seat(&[&long, "Short.", "SUMMARY of it.", "Afterwards."]);
    seat.say("first question");
    seat.sees(&["A long answer."]);
    seat.say("second question");
    seat.sees(&["Short."]);
    seat.say("/compact keep names");
    seat.sees(&["context compacted"]);
    seat.say("third question");
    seat.sees(&["Afterwards."]);
    let last = seat.scene.server.requests().pop().unwrap();
    assert!(last.body.to_string().contains("SUMMARY of it."), "{last:?}");
    assert!(!last.body.to_string().contains("A long answer."));
    seat.leave();
}

#[test]
fn new_session_starts_empty() {
    let seat = seat(&["One.", "Two."]);
    seat.say("about alpha");
    seat.sees(&["One."]);
    seat.say("/clear");
    seat.pty.wait_gone("One.");
    seat.say("about beta");
    seat.sees(&["Two."]);
    assert_eq!(said(&seat.scene.server.requests()[1], "user"), ["about beta"]);
    seat.leave();
}

#[test]
fn selects_model() {
    let answers = ["One.", "Two."].map(Scenario::text).into();
    let seat = Seat::at(Scene::speaking(WireFormat::Anthropic, answers), &[]);
    seat.say("hello");
    seat.sees(&["One."]);
    seat.say("/model");
    seat.sees(&["Model", "esc cancel", "● m"]);
    seat.pty.send("haiku-4-5");
    seat.pty.wait_gone("● m");
    seat.pty.press(&["enter"]);
    seat.pty.wait_gone("esc cancel");
    // The status line shows the model, which answers from now on.
    seat.sees(&["claude-haiku-4-5 ·"]);
    seat.say("and you?");
    seat.sees(&["Two."]);
    let asked: Vec<_> =
        seat.scene.server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(asked, ["m", "claude-haiku-4-5"]);
    // An unknown model is not asked.
    seat.say("/model nosuch");
    seat.sees(&["nosuch is not among the", "/model anthropic/nosuch"]);
    seat.sees(&["claude-haiku-4-5 ·"]);
    seat.leave();
}

#[test]
fn does_not_resume_empty_session() {
    let scene = Scene::new(["First answer.", "Second answer."].map(Scenario::text).into());
    scene.haft(&["-p", "first question"]).expect(0);
    let seat = Seat::at(scene, &["-r"]);
    seat.sees(&["Sessions", "first question"]);
    seat.pty.wait_gone("(empty)");
    // The selected session is the latest of the others.
    seat.pty.press(&["enter"]);
    seat.sees(&["First answer."]);
    seat.say("second question");
    seat.sees(&["Second answer."]);
    assert_eq!(said(&seat.scene.server.requests()[1], "user"), ["first question", "second question"]);
    seat.leave();
}
