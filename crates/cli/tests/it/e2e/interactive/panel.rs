//! Panels of extensions: focus, size and closing.

use std::fs;

use haft_test_support::model_server::Scenario;

use super::terminal_session::TerminalSession;
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

fn echo() -> TerminalSession {
    let scene = Scene::new(vec![Scenario::text("The model.")]).python("echo", ECHO);
    let file = scene.world.project().join("echo/main.py");
    let text = fs::read_to_string(&file).unwrap();
    let hello = "emit(\"hello\", name=NAME, version=\"1.0.0\"";
    assert!(text.contains(hello));
    fs::write(&file, text.replace(hello, &format!("{hello}, capabilities=[\"panel_resize\"]"))).unwrap();
    let terminal = TerminalSession::at(scene, &[]);
    terminal.say("/echo");
    terminal.sees(&["[echo] Echo", "nothing yet", "q leaves"]);
    terminal
}

#[track_caller]
fn marked(terminal: &TerminalSession, mark: &str) {
    let has = || terminal.scene.marks().iter().any(|line| line == mark);
    assert!(eventually(has), "{mark}: {:?}\n{}", terminal.scene.marks(), terminal.pty.rows().join("\n"));
}

#[test]
fn adds_and_completes_todos_in_panel() {
    let terminal = TerminalSession::at(Scene::new(Vec::new()).shipped("todo"), &[]);
    terminal.say("/todo");
    terminal.sees(&["[todo] Todos", "nothing to do", "a add"]);
    terminal.pty.send("a");
    terminal.sees(&["+ ▏"]);
    terminal.pty.paste("buy milk");
    terminal.sees(&["+ buy milk▏"]);
    terminal.pty.send(" now");
    terminal.sees(&["+ buy milk now▏"]);
    terminal.pty.press(&["enter"]);
    terminal.sees(&["› □ buy milk now"]);
    terminal.pty.send("x");
    terminal.sees(&["› ✓ buy milk now"]);
    terminal.pty.press(&["esc"]);
    terminal.pty.wait_gone("Todos");
    // The panel no longer has the focus.
    terminal.pty.send("a word");
    terminal.sees(&["› a word"]);
    terminal.leave();
}

#[test]
fn panel_receives_keys_and_pastes_except_closing_keys() {
    for closes in ["esc", "ctrl+c"] {
        let terminal = echo();
        terminal.pty.press(&["down"]);
        terminal.sees(&["key down"]);
        terminal.pty.paste("two\r\nlines");
        terminal.sees(&["key rune"]);
        terminal.pty.press(&[closes]);
        terminal.pty.wait_gone("[echo] Echo");
        marked(&terminal, "closed");
        let keys: Vec<String> =
            terminal.scene.marks().into_iter().filter(|line| line.starts_with('[')).collect();
        assert_eq!(keys, [r#"["down", ""]"#, r#"["rune", "two\nlines"]"#], "{closes}");
        terminal.leave();
    }
}

#[test]
fn panel_receives_its_size() {
    let terminal = echo();
    marked(&terminal, "size 76 17");
    terminal.pty.resize(60, 20);
    marked(&terminal, "size 56 13");
    terminal.sees(&["[echo] Echo", "q leaves"]);
    terminal.leave();
}

#[test]
fn extension_closes_panel() {
    let terminal = echo();
    terminal.pty.send("q");
    terminal.pty.wait_gone("[echo] Echo");
    terminal.say("hello model");
    terminal.sees(&["The model."]);
    terminal.leave();
}

#[test]
fn panel_closes_when_extension_ends() {
    let terminal = echo();
    terminal.pty.send("k");
    terminal.pty.wait_gone("[echo] Echo");
    terminal.sees(&["✗ [echo]"]);
    terminal.say("hello model");
    terminal.sees(&["The model."]);
    terminal.leave();
}
