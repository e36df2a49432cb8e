//! Commands, notes, tools, crashes and updates of extensions.

use std::fs;

use haft_test_support::model_server::Scenario;

use super::terminal_session::TerminalSession;
use crate::e2e::requests::said;
use crate::e2e::scene::Scene;

#[test]
fn command_inserts_text_and_shows_note() {
    let scene = Scene::new(vec![Scenario::text("Hello, Ada!")]).shipped("hello");
    let terminal = TerminalSession::at(scene, &[]);
    terminal.say("/summon Ada");
    terminal.sees(&["[hello] Ada is on the way", "› @Ada,"]);
    // The next prompt removes a note.
    terminal.pty.send("are you there?");
    terminal.pty.press(&["enter"]);
    terminal.sees(&["Hello, Ada!"]);
    terminal.pty.wait_gone("Ada is on the way");
    assert_eq!(said(&terminal.scene.server.requests()[0], "user"), ["@Ada, are you there?"]);
    // An error names its command.
    terminal.say("/summon");
    terminal.sees(&["whom? Type /summon NAME"]);
    terminal.leave();
}

#[test]
fn command_sends_prompt_to_model() {
    for (shipped, command, told) in [
        ("hello", "/hello Ada", "Greet Ada in one short sentence."),
        ("hello-py", "/hellopy", "Greet me very briefly. Add one emoji."),
    ] {
        let scene = Scene::new(vec![Scenario::text("Good day.")]);
        let scene = match shipped {
            "hello" => scene.shipped(shipped),
            source => {
                let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
                scene.with(root.join("../../examples/extensions").join(source))
            }
        };
        let terminal = TerminalSession::at(scene, &[]);
        terminal.say(command);
        terminal.sees(&["Good day."]);
        let from = command.trim_start_matches('/').split(' ').next().unwrap();
        let told = format!("[from extension {shipped}, command {from}]\n{told}");
        assert_eq!(said(&terminal.scene.server.requests()[0], "user"), [told]);
        terminal.leave();
    }
}

#[test]
fn shows_tool_call_with_owner() {
    let step = Scenario::text("I note it.").tool("t1", "todo", r#"{"action":"add","text":"buy milk"}"#);
    let scene = Scene::new(vec![step, Scenario::text("It is noted.")]).shipped("todo");
    let terminal = TerminalSession::at(scene, &["note", "it"]);
    terminal.sees(&["● todo", "[todo]", "1. □ buy milk", "It is noted."]);
    // The model and the person share the list.
    terminal.say("/todo sleep");
    terminal.sees(&["added: sleep"]);
    terminal.leave();
}

#[test]
fn completes_command_and_shows_status_text() {
    let terminal = TerminalSession::at(Scene::new(Vec::new()).shipped("todo"), &[]);
    terminal.say("/todo buy milk");
    terminal.sees(&["added: buy milk", "todo: 1 open"]);
    terminal.pty.send("/todo d");
    terminal.sees(&["▸ done 1", "buy milk"]);
    terminal.pty.press(&["tab"]);
    terminal.sees(&["› /todo done 1"]);
    terminal.pty.press(&["enter"]);
    terminal.sees(&["done: number 1"]);
    terminal.pty.wait_gone("todo: 1 open");
    terminal.leave();
}

const COUNTING: &str = r#"
emit("register_command", name="VERSION", description="Says its version.")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="display", display="this is VERSION")
"#;

#[test]
fn reload_finds_new_version() {
    let scene = Scene::new(vec![Scenario::text("I was here before.")]);
    scene.home_python("other", COUNTING.replace("VERSION", "other").as_str());
    let scene = scene.python("changing", &COUNTING.replace("VERSION", "first"));
    let terminal = TerminalSession::at(scene, &["hi"]);
    terminal.sees(&["I was here before."]);
    terminal.say("/first");
    terminal.sees(&["this is first"]);
    let file = terminal.scene.world.project().join("changing/main.py");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("first", "second")).unwrap();
    terminal.say("/reload-ext");
    terminal.sees(&["reloaded: 2 stopped, 2 loaded (2 ready)", "I was here before."]);
    terminal.say("/second");
    terminal.sees(&["this is second"]);
    terminal.leave();
}

const DYING: &str = r#"
emit("register_command", name="die", description="Ends at once.")
emit("set_status", key="mood", text="still well")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        os._exit(7)
"#;

#[test]
fn reports_crashed_extension_and_continues() {
    let scene = Scene::new(vec![Scenario::text("Still here.")]).python("frail", DYING).shipped("hello");
    let terminal = TerminalSession::at(scene, &[]);
    terminal.sees(&["frail: still well"]);
    terminal.say("/die");
    terminal.sees(&["[frail]", "7"]);
    terminal.say("and you?");
    terminal.sees(&["Still here."]);
    terminal.leave();
}
