//! Panels of extensions: focus, size and closing.

use std::fs;

use haft_test_support::model_server::Scenario;

use super::seat::Seat;
use crate::e2e::running::eventually;
use crate::e2e::scene::Scene;

/// A panel that shows and marks every frame about it. `q` closes it, `k` kills its owner.
const ECHO: &str = r#"
emit("register_command", name="echo", description="Opens the panel.")
emit("ready")
lines = ["nothing yet"]
for frame in frames():
    kind = frame["type"]
    if kind == "command_invoked":
        panel = {"id": "echo", "title": "Echo", "lines": lines, "footer": "q leaves"}
        emit("command_response", id=frame["id"], action="open_panel", open_panel=panel)
    elif kind == "panel_key":
        mark(json.dumps([frame["key"], frame.get("text", "")]))
        if frame.get("text") == "q":
            emit("panel_close", panel_id="echo")
        elif frame.get("text") == "k":
            os._exit(3)
        else:
            emit("panel_render", panel_id="echo", title="Echo", lines=["key " + frame["key"]], footer="q leaves")
    elif kind == "panel_resize":
        mark("size %d %d" % (frame["width"], frame["height"]))
    elif kind == "panel_close":
        mark("closed")
"#;

fn echo() -> Seat {
    let scene = Scene::new(vec![Scenario::text("The model.")]).python("echo", ECHO);
    let file = scene.world.project().join("echo/main.py");
    let text = fs::read_to_string(&file).unwrap();
    let hello = "emit(\"hello\", name=NAME, version=\"1.0.0\"";
    assert!(text.contains(hello));
    fs::write(&file, text.replace(hello, &format!("{hello}, capabilities=[\"panel_resize\"]"))).unwrap();
    let seat = Seat::at(scene, &[]);
    seat.say("/echo");
    seat.sees(&["[echo] Echo", "nothing yet", "q leaves"]);
    seat
}

#[track_caller]
fn marked(seat: &Seat, mark: &str) {
    let has = || seat.scene.marks().iter().any(|line| line == mark);
    assert!(eventually(has), "{mark}: {:?}\n{}", seat.scene.marks(), seat.pty.rows().join("\n"));
}

#[test]
fn adds_and_completes_todos_in_panel() {
    let seat = Seat::at(Scene::new(Vec::new()).shipped("todo"), &[]);
    seat.say("/todo");
    seat.sees(&["[todo] Todos", "nothing to do", "a add"]);
    seat.pty.send("a");
    seat.sees(&["+ ▏"]);
    seat.pty.paste("buy milk");
    seat.sees(&["+ buy milk▏"]);
    seat.pty.send(" now");
    seat.sees(&["+ buy milk now▏"]);
    seat.pty.press(&["enter"]);
    seat.sees(&["› □ buy milk now"]);
    seat.pty.send("x");
    seat.sees(&["› ✓ buy milk now"]);
    seat.pty.press(&["esc"]);
    seat.pty.wait_gone("Todos");
    // The panel no longer has the focus.
    seat.pty.send("a word");
    seat.sees(&["› a word"]);
    seat.leave();
}

#[test]
fn panel_receives_keys_and_pastes_except_closing_keys() {
    for closes in ["esc", "ctrl+c"] {
        let seat = echo();
        seat.pty.press(&["down"]);
        seat.sees(&["key down"]);
        seat.pty.paste("two\r\nlines");
        seat.sees(&["key rune"]);
        seat.pty.press(&[closes]);
        seat.pty.wait_gone("[echo] Echo");
        marked(&seat, "closed");
        let keys: Vec<String> = seat.scene.marks().into_iter().filter(|line| line.starts_with('[')).collect();
        assert_eq!(keys, [r#"["down", ""]"#, r#"["rune", "two\nlines"]"#], "{closes}");
        seat.leave();
    }
}

#[test]
fn panel_receives_its_size() {
    let seat = echo();
    marked(&seat, "size 76 17");
    seat.pty.resize(60, 20);
    marked(&seat, "size 56 13");
    seat.sees(&["[echo] Echo", "q leaves"]);
    seat.leave();
}

#[test]
fn extension_closes_panel() {
    let seat = echo();
    seat.pty.send("q");
    seat.pty.wait_gone("[echo] Echo");
    seat.say("hello model");
    seat.sees(&["The model."]);
    seat.leave();
}

#[test]
fn panel_closes_when_extension_ends() {
    let seat = echo();
    seat.pty.send("k");
    seat.pty.wait_gone("[echo] Echo");
    seat.sees(&["✗ [echo]"]);
    seat.say("hello model");
    seat.sees(&["The model."]);
    seat.leave();
}
