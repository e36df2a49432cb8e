//! The composer: long pastes, and small screens.

use haft_test_support::model_server::Scenario;

use super::terminal_session::TerminalSession;
use crate::e2e::requests::said;
use crate::e2e::scene::Scene;

#[test]
fn folds_long_paste_and_sends_all() {
    let terminal = TerminalSession::at(Scene::new(vec![Scenario::text("Read.")]), &[]);
    let text: Vec<String> = (1..=60).map(|line| format!("pasted line {line}")).collect();
    let text = text.join("\n");
    terminal.pty.send("read: ");
    terminal.pty.paste(&text);
    terminal.sees(&["› read: [", "60 lines"]);
    assert!(!terminal.pty.rows().join("\n").contains("pasted line 30"));
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Read."]);
    assert_eq!(said(&terminal.scene.server.requests()[0], "user"), [format!("read: {text}")]);
    terminal.leave();
}

#[test]
fn works_in_twenty_columns_and_six_rows() {
    let scene = Scene::new(vec![Scenario::text("Small."), Scenario::text("Again.")]).shipped("todo");
    let terminal = TerminalSession::with(scene, &[], |setup| setup.size(20, 6));
    terminal.say("hi there");
    terminal.sees(&["Small."]);
    for (command, shown) in [
        ("/help", "Help"),
        ("/model", "Model"),
        ("/todo", "Todos"),
        ("/settings", "Settings"),
        ("/login", "Save an"),
    ] {
        terminal.say(command);
        terminal.sees(&[shown]);
        terminal.pty.press(&["esc"]);
        terminal.sees(&["Small."]);
        terminal.editor_is_empty();
    }
    terminal.say("more");
    terminal.sees(&["Again."]);
    terminal.leave();
}
