//! The editor: long pastes, and little room.

use haft_test_support::model_server::Scenario;

use super::seat::Seat;
use crate::e2e::requests::said;
use crate::e2e::scene::Scene;

#[test]
fn a_long_paste_is_folded_and_sent_whole() {
    let seat = Seat::at(Scene::new(vec![Scenario::text("Read.")]), &[]);
    let text: Vec<String> = (1..=60).map(|line| format!("pasted line {line}")).collect();
    let text = text.join("\n");
    seat.pty.send("read: ");
    seat.pty.paste(&text);
    seat.sees(&["› read: [", "60 lines"]);
    assert!(!seat.pty.rows().join("\n").contains("pasted line 30"));
    seat.pty.press(&["enter"]);
    seat.sees(&["Read."]);
    assert_eq!(said(&seat.scene.server.requests()[0], "user"), [format!("read: {text}")]);
    seat.leave();
}

#[test]
fn twenty_columns_and_six_rows_are_enough_to_work_in() {
    let scene = Scene::new(vec![Scenario::text("Small."), Scenario::text("Again.")]).shipped("todo");
    let seat = Seat::with(scene, &[], |setup| setup.size(20, 6));
    seat.say("hi there");
    seat.sees(&["Small."]);
    for (command, shown) in [
        ("/help", "Help"),
        ("/model", "Model"),
        ("/todo", "Todos"),
        ("/settings", "Settings"),
        ("/login", "Store a"),
    ] {
        seat.say(command);
        seat.sees(&[shown]);
        seat.pty.press(&["esc"]);
        seat.sees(&["Small."]);
        seat.editor_is_empty();
    }
    seat.say("more");
    seat.sees(&["Again."]);
    seat.leave();
}
