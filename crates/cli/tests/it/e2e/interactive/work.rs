//! Input while the agent works: interrupts and messages.

use std::fs;

use haft_test_support::model_server::{AnswerFault, Scenario};

use super::seat::Seat;
use crate::e2e::requests::said;
use crate::e2e::scene::{Scene, bash};

#[test]
fn esc_stops_turn_and_returns_queued_message() {
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
fn delivers_steering_and_follow_up_messages() {
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
fn elapsed_time_updates_without_events() {
    let seat = Seat::at(Scene::new(vec![bash("t1", "mkfifo gate && cat gate")]), &["work"]);
    seat.sees(&["bash  mkfifo gate", "esc to stop"]);
    seat.changes("esc to stop");
    seat.leave();
}

#[test]
fn command_cannot_use_terminal() {
    let seat = Seat::at(Scene::new(vec![Scenario::text("Hello.")]), &[]);
    for (command, told) in [
        ("!!head -c1 /dev/tty", "cannot open '/dev/tty'"),
        ("!!stty -echo < /dev/tty; echo still $((40 + 2))", "still 42"),
    ] {
        seat.say(command);
        seat.sees(&[told]);
        // `/clear` keeps a command that still runs.
        seat.pty.wait_gone("esc to stop");
        seat.say("/clear");
        seat.pty.wait_gone(told);
    }
    seat.say("hi");
    seat.sees(&["Hello."]);
    seat.leave();
}

/// Checks that no row is wider than the screen, and that the last row begins with the model.
#[track_caller]
fn fits(seat: &Seat, (columns, rows): (u16, u16)) {
    seat.pty.resize(columns, rows);
    seat.pty.wait_until("the status in the last row", |screen| {
        screen.rows(0, columns).last().is_some_and(|row| row.starts_with("m "))
            || screen.rows(0, columns).last().is_some_and(|row| row.trim_end() == "m")
    });
}

#[test]
fn resizes_during_answer() {
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
