//! While the agent works: stopping it, and saying something meanwhile.

use std::fs;

use haft_test_support::model_server::{AnswerFault, Scenario};

use super::seat::Seat;
use crate::e2e::requests::said;
use crate::e2e::scene::{Scene, bash};

#[test]
fn esc_stops_it_and_what_waited_comes_back() {
    let hangs = Scenario::text("I begin.").fault(AnswerFault::Hang);
    let seat = Seat::at(Scene::new(vec![hangs, Scenario::text("Both, then.")]), &["begin"]);
    seat.sees(&["I begin.", "esc to stop"]);
    seat.say_meanwhile("look here");
    seat.sees(&["↳ steer: look here"]);
    seat.pty.send("then there");
    seat.pty.press(&["alt+enter"]);
    seat.sees(&["↳ follow-up: then there"]);
    seat.pty.press(&["esc"]);
    seat.pty.wait_gone("esc to stop");
    seat.pty.wait_gone("↳");
    seat.sees(&["› look here", "then there", "stopped"]);
    seat.pty.press(&["enter"]);
    seat.sees(&["Both, then."]);
    let told = said(&seat.scene.server.requests()[1], "user").join("\n");
    assert!(told.contains("look here") && told.contains("then there"), "{told}");
    seat.leave();
}

#[test]
fn what_is_said_meanwhile_is_read_at_the_next_step_and_when_it_is_done() {
    let scene = Scene::new(vec![
        bash("t1", "mkfifo gate && cat gate"),
        Scenario::text("I heed it."),
        Scenario::text("And that."),
    ]);
    let seat = Seat::at(scene, &["work"]);
    seat.sees(&["bash  mkfifo gate", "esc to stop"]);
    seat.say_meanwhile("mind the gap");
    seat.sees(&["↳ steer: mind the gap"]);
    seat.pty.send("sweep up");
    seat.pty.press(&["alt+enter"]);
    seat.sees(&["↳ follow-up: sweep up"]);
    let gate = seat.scene.world.project().join("gate");
    assert!(crate::e2e::running::eventually(|| gate.exists()));
    fs::write(gate, "opened\n").unwrap();
    seat.sees(&["I heed it.", "And that."]);
    seat.pty.wait_gone("↳");
    let requests = seat.scene.server.requests();
    assert_eq!(said(&requests[1], "user"), ["work", "mind the gap"]);
    assert_eq!(said(&requests[2], "user"), ["work", "mind the gap", "sweep up"]);
    seat.leave();
}

#[test]
fn seconds_go_on_while_nothing_else_happens() {
    let seat = Seat::at(Scene::new(vec![bash("t1", "mkfifo gate && cat gate")]), &["work"]);
    seat.sees(&["bash  mkfifo gate", "esc to stop"]);
    seat.changes("esc to stop");
    seat.leave();
}

#[test]
fn a_command_that_wants_the_terminal_does_not_get_it_and_does_not_wait() {
    let seat = Seat::at(Scene::new(vec![Scenario::text("Hello.")]), &[]);
    for command in ["!!head -c1 /dev/tty", "!!stty -echo < /dev/tty; echo after"] {
        seat.say(command);
        seat.sees(&["it wants the terminal, which is haft's"]);
        seat.say("/clear");
        seat.pty.wait_gone("it wants the terminal");
    }
    seat.say("hi");
    seat.sees(&["Hello."]);
    seat.leave();
}

/// Rows of the screen that are as wide as it is or less, with the model at the left of the last one.
#[track_caller]
fn fits(seat: &Seat, (columns, rows): (u16, u16)) {
    seat.pty.resize(columns, rows);
    seat.pty.wait_until("the status in the last row", |screen| {
        screen.rows(0, columns).last().is_some_and(|row| row.starts_with("m "))
            || screen.rows(0, columns).last().is_some_and(|row| row.trim_end() == "m")
    });
}

#[test]
fn the_window_becomes_small_and_large_again_while_it_answers() {
    let text = "A sentence that is longer than forty columns are, so it is wrapped. Its end.";
    let seat = Seat::at(Scene::new(vec![Scenario::text(text).fault(AnswerFault::Hang)]), &["tell"]);
    seat.sees(&["Its end."]);
    for size in [(40, 12), (20, 6), (100, 30), (80, 24)] {
        fits(&seat, size);
        seat.sees(&["end."]);
    }
    seat.sees(&["A sentence that is longer than forty columns are, so it is wrapped. Its end.", "› tell"]);
    seat.pty.press(&["esc"]);
    seat.pty.wait_gone("esc to stop");
    seat.leave();
}
