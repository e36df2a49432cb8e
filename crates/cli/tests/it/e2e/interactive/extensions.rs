//! Commands, notes, tools, crashes and updates of extensions.

use std::fs;

use haft_test_support::model_server::Scenario;

use super::seat::Seat;
use crate::e2e::requests::said;
use crate::e2e::scene::Scene;

#[test]
fn command_inserts_text_and_shows_note() {
    let scene = Scene::new(vec![Scenario::text("Hello, Ada!")]).shipped("hello");
    let seat = Seat::at(scene, &[]);
    seat.say("/summon Ada");
    seat.sees(&["[hello] Ada is on the way", "› @Ada,"]);
    // The next prompt removes a note.
    seat.pty.send("are you there?");
    seat.pty.press(&["enter"]);
    seat.sees(&["Hello, Ada!"]);
    seat.pty.wait_gone("Ada is on the way");
    assert_eq!(said(&seat.scene.server.requests()[0], "user"), ["@Ada, are you there?"]);
    // An error names its command.
    seat.say("/summon");
    seat.sees(&["whom? Type /summon NAME"]);
    seat.leave();
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
        let seat = Seat::at(scene, &[]);
        seat.say(command);
        seat.sees(&["Good day."]);
        let from = command.trim_start_matches('/').split(' ').next().unwrap();
        let told = format!("[from extension {shipped}, command {from}]\n{told}");
        assert_eq!(said(&seat.scene.server.requests()[0], "user"), [told]);
        seat.leave();
    }
}

#[test]
fn shows_tool_call_with_owner() {
    let step = Scenario::text("I note it.").tool("t1", "todo", r#"{"action":"add","text":"buy milk"}"#);
    let scene = Scene::new(vec![step, Scenario::text("It is noted.")]).shipped("todo");
    let seat = Seat::at(scene, &["note", "it"]);
    seat.sees(&["● todo", "[todo]", "1. □ buy milk", "It is noted."]);
    // The model and the person share the list.
    seat.say("/todo sleep");
    seat.sees(&["added: sleep"]);
    seat.leave();
}

#[test]
fn completes_command_and_shows_status_text() {
    let seat = Seat::at(Scene::new(Vec::new()).shipped("todo"), &[]);
    seat.say("/todo buy milk");
    seat.sees(&["added: buy milk", "todo: 1 open"]);
    seat.pty.send("/todo d");
    seat.sees(&["▸ done 1", "buy milk"]);
    seat.pty.press(&["tab"]);
    seat.sees(&["› /todo done 1"]);
    seat.pty.press(&["enter"]);
    seat.sees(&["done: number 1"]);
    seat.pty.wait_gone("todo: 1 open");
    seat.leave();
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
    let seat = Seat::at(scene, &["hi"]);
    seat.sees(&["I was here before."]);
    seat.say("/first");
    seat.sees(&["this is first"]);
    let file = seat.scene.world.project().join("changing/main.py");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("first", "second")).unwrap();
    seat.say("/reload-ext");
    seat.sees(&["reloaded: 2 stopped, 2 loaded (2 ready)", "I was here before."]);
    seat.say("/second");
    seat.sees(&["this is second"]);
    seat.leave();
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
    let seat = Seat::at(scene, &[]);
    seat.sees(&["frail: still well"]);
    seat.say("/die");
    seat.sees(&["[frail]", "7"]);
    seat.say("and you?");
    seat.sees(&["Still here."]);
    seat.leave();
}
