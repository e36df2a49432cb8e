//! The composer: long pastes, and small screens.

use haft_test_support::model_server::Scenario;

use super::seat::Seat;
use crate::e2e::requests::said;
use crate::e2e::scene::Scene;

#[test]
fn folds_long_paste_and_sends_all() {
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
fn works_in_twenty_columns_and_six_rows() {
    let scene = Scene::new(vec![Scenario::text("Small."), Scenario::text("Again.")]).shipped("todo");
    let seat = Seat::with(scene, &[], |setup| setup.size(20, 6));
    seat.say("hi there");
    seat.sees(&["Small."]);
    for (command, shown) in [
        ("/help", "Help"),
        ("/model", "Model"),
        ("/todo", "Todos"),
        ("/settings", "Settings"),
        ("/login", "Save an"),
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
