//! State of extensions in the session.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::{Language, connect, invoke, invoke_shown};
use crate::e2e::requests::said;
use crate::e2e::running::Ran;
use crate::e2e::scene::Scene;

/// Returns the lines of the only session file.
fn session_lines(scene: &Scene) -> Vec<Value> {
    let mut dirs = fs::read_dir(scene.world.home().join("sessions")).unwrap();
    let mut files = fs::read_dir(dirs.next().unwrap().unwrap().path()).unwrap();
    let text = fs::read_to_string(files.next().unwrap().unwrap().path()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn notes_are_restored(language: Language) {
    let scene = language.scene("custom_message", vec![Scenario::text("I see."), Scenario::text("Hi.")]);
    let mut client = connect(&scene, &["--record"]);
    invoke(&mut client, "note", "buy milk");
    client.event("done");
    client.end().expect(0);
    let asked = said(&scene.server.requests()[0], "user");
    assert_eq!(asked, ["[from extension custom_message]\nbuy milk"]);
    let entries = session_lines(&scene);
    let entry = entries.iter().find(|line| line["type"] == "custom_message").unwrap();
    assert_eq!((&entry["kind"], &entry["details"]), (&json!("note"), &json!({"note": "buy milk"})));
    let ran = scene.haft(&["--json", "-c", "Hello."]);
    ran.expect(0);
    assert_eq!(ran.of("ext_notify")[0]["message"], "restored: buy milk");
}

pub(super) fn count_survives_a_restart(language: Language) {
    let scene = language.scene("append_entry", vec![Scenario::text("Hi.")]);
    let mut client = connect(&scene, &["--record"]);
    client.prompt("Hello.");
    assert_eq!(invoke_shown(&mut client, "count", ""), "count 1");
    assert_eq!(invoke_shown(&mut client, "count", ""), "count 2");
    client.end().expect(0);
    let mut client = connect(&scene, &["-c"]);
    assert_eq!(invoke_shown(&mut client, "count", ""), "count 3");
    client.end().expect(0);
    let counts = session_lines(&scene).into_iter().filter(|line| line["type"] == "custom");
    let counts: Vec<Value> = counts.map(|line| line["data"].clone()).collect();
    assert_eq!(counts, [1, 2, 3]);
}

pub(super) fn session_gets_a_name(language: Language) {
    let scene = language.scene("session_name", Vec::new());
    let mut client = connect(&scene, &[]);
    assert_eq!(invoke_shown(&mut client, "title", "Refactor auth"), "Session: Refactor auth");
    assert_eq!(client.done("get_state", &json!({}))["name"], "Refactor auth");
    client.end().expect(0);
}

pub(super) fn label_is_set_and_removed(language: Language) {
    let scene = language.scene("entry_labels", vec![Scenario::text("Rain.")]);
    let mut client = connect(&scene, &["--record"]);
    let (_, error) = client.refused("run_command", &json!({"name": "checkpoint", "args": "early"}));
    assert!(error.contains("there is no message"), "{error}");
    client.prompt("Look.");
    assert_eq!(invoke_shown(&mut client, "checkpoint", "before-refactor"), "label: before-refactor");
    assert_eq!(invoke_shown(&mut client, "checkpoint", ""), "label: none");
    client.end().expect(0);
    let entries = session_lines(&scene);
    let answer = entries.iter().rfind(|line| line["type"] == "message").unwrap();
    let labels: Vec<&Value> = entries.iter().filter(|line| line["type"] == "label").collect();
    assert!(labels.iter().all(|label| label["target"] == answer["id"]), "{labels:?}");
    let texts: Vec<&Value> = labels.iter().map(|label| &label["label"]).collect();
    assert_eq!(texts, [&json!("before-refactor"), &json!(null)]);
}

pub(super) fn session_gets_a_tag(language: Language) {
    let scene = language.scene("session_tags", Vec::new());
    let mut client = connect(&scene, &[]);
    assert_eq!(invoke_shown(&mut client, "bind", "42"), "chat 42");
    let found = client.done("find_sessions", &json!({"tags": {"telegram:chat": "42"}}));
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1, "{found}");
    client.end().expect(0);
}

pub(super) fn statistics_equal_those_of_a_client(language: Language) {
    let scene = language.scene("session_stats", vec![Scenario::text("Rain."), Scenario::text("Snow.")]);
    let mut client = connect(&scene, &["--record"]);
    client.prompt("Look.");
    let root = client.done("tree", &json!({}))["leaf"].clone();
    client.prompt("And now?");
    client.done("move_to", &json!({"entry": root}));
    let tree = client.done("tree", &json!({}));
    let entries = tree["entries"].as_array().unwrap();
    let mut branch = 0;
    let mut next = &tree["leaf"];
    while let Some(entry) = entries.iter().find(|entry| entry["id"] == *next) {
        branch += 1;
        next = &entry["parent"];
    }
    assert!(branch < entries.len(), "{tree}");
    let leaf = tree["leaf"].as_str().unwrap();
    let expect = format!("{} entries, {branch} on the branch, leaf {leaf}", entries.len());
    assert_eq!(invoke_shown(&mut client, "stats", ""), expect);
    client.end().expect(0);
}

pub(super) fn todos_are_rebuilt_from_results(language: Language) {
    let add = |id: &str, text: &str| Scenario::new().tool(id, "todo_add", &json!({"text": text}).to_string());
    let answers =
        vec![add("1", "milk"), Scenario::text("Noted."), add("2", "bread"), Scenario::text("Noted.")];
    let scene = language.scene("tool_state", answers);
    let first = scene.haft(&["--json", "Note milk."]);
    first.expect(0);
    let second = scene.haft(&["--json", "-c", "Note bread."]);
    second.expect(0);
    let details = |ran: &Ran| ran.of("tool_result").pop().unwrap()["details"].clone();
    assert_eq!(details(&first), json!({"todos": ["milk"]}));
    assert_eq!(details(&second), json!({"todos": ["milk", "bread"]}));
}
