//! Tools of extensions, and the tools of the model.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::{Language, connect, invoke, invoke_shown};
use crate::e2e::requests::{offered, said, system};
use crate::e2e::scene::bash;

pub(super) fn tool_has_all_its_properties(language: Language) {
    let calls = Scenario::new()
        .tool("1", "my_tool", r#"{"action":"add","text":"milk"}"#)
        .tool("2", "my_tool", r#"{"action":"add"}"#)
        .tool("3", "my_tool", r#"{"action":"remove"}"#);
    let scene = language.scene("register_tool", vec![calls, Scenario::text("Done.")]);
    let ran = scene.haft(&["--json", "Note milk."]);
    ran.expect(0);
    let requests = scene.server.requests();
    let prompt = system(&requests[0]);
    for text in ["List or add items in the todo list", "Use my_tool for plans instead of edits of files."] {
        assert!(prompt.contains(text), "{prompt}");
    }
    assert!(ran.of("tool_progress").iter().any(|progress| progress["text"] == "Working..."));
    assert!(ran.of("tool_start").iter().all(|start| start["label"] == "My Tool"));
    let results = ran.of("tool_result");
    assert_eq!(results[0]["details"], json!({"count": 1}));
    let failed: Vec<&Value> = results.iter().map(|result| &result["is_error"]).collect();
    assert_eq!(failed, [false, true, true]);
    let texts = said(&requests[1], "tool");
    assert_eq!(texts[0], "milk");
    assert!(texts[1].contains("Invalid input: add needs a text"), "{texts:?}");
    assert!(texts[2].contains("/action"), "haft checks the schema: {texts:?}");
}

pub(super) fn old_arguments_are_converted(language: Language) {
    let calls = Scenario::new().tool("1", "patch", r#"{"path":"a.txt","oldText":"a","newText":"b"}"#).tool(
        "2",
        "patch",
        r#"{"path":"b.txt","edits":[]}"#,
    );
    let scene = language.scene("old_arguments", vec![calls, Scenario::text("Done.")]);
    scene.haft(&["-p", "Edit."]).expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert_eq!(results, ["Applying 1 edit block(s) to a.txt", "Applying 0 edit block(s) to b.txt"]);
}

pub(super) fn gate_reads_the_arguments_of_its_tool(language: Language) {
    let calls = Scenario::new().tool("1", "ticket", r#"{"action":"show","number":7}"#).tool(
        "2",
        "ticket",
        r#"{"action":"delete","number":8}"#,
    );
    let scene = language.scene("typed_input", vec![calls, Scenario::text("Done.")]);
    scene.haft(&["-p", "Look."]).expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert_eq!(results[0], "ticket 7: Show");
    assert!(results[1].contains("ticket 8 stays"), "{results:?}");
}

pub(super) fn tools_share_a_connection(language: Language) {
    let query = |id: &str| Scenario::new().tool(id, "db_query", r#"{"sql":"select 1"}"#);
    let answers =
        vec![query("1"), Scenario::new().tool("2", "db_connect", "{}"), query("3"), Scenario::text("Done.")];
    let scene = language.scene("several_tools", answers);
    scene.haft(&["-p", "Query."]).expect(0);
    let results = said(&scene.server.requests()[3], "tool");
    assert!(results[0].contains("not connected"), "{results:?}");
    assert_eq!(results[1..], ["connected", "row 1"]);
    let closed = fs::read_to_string(scene.world.project().join("several_tools/closed.txt")).unwrap();
    assert_eq!(closed, "quit: select 1\n");
}

pub(super) fn command_leaves_two_tools(language: Language) {
    let scene = language.scene("active_tools", vec![Scenario::text("Hi."), Scenario::text("Hi.")]);
    let mut client = connect(&scene, &[]);
    client.prompt("Hello.");
    let shown = invoke_shown(&mut client, "readonly", "");
    client.prompt("And now?");
    client.end().expect(0);
    let requests = scene.server.requests();
    let before = offered(&requests[0]);
    assert!(before.contains(&"ping".to_owned()), "{before:?}");
    let expect = format!("{} built in, 1 of extensions; now read ls", before.len() - 1);
    assert_eq!((shown, offered(&requests[1])), (expect, vec!["read".to_owned(), "ls".to_owned()]));
}

/// An extension that locks a file.
const LOCKS: &str = r#"
emit("register_command", name="lock", description="Lock a file.")
emit("register_command", name="unlock", description="Unlock it.")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        if frame["name"] == "lock":
            lease = call("lock_file", path="a.txt")["value"]["lease"]
        else:
            call("unlock_file", lease=lease)
        emit("command_response", id=frame["id"], action="noop")
"#;

pub(super) fn changes_wait_for_the_file(language: Language) {
    let replace =
        |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new}).to_string();
    let calls = Scenario::new().tool("1", "replace_text", &replace("one", "1")).tool(
        "2",
        "replace_text",
        &replace("two", "2"),
    );
    let scene = language.scene("file_queue", vec![calls, Scenario::text("Done.")]).python("locks", LOCKS);
    let file = scene.world.project().join("a.txt");
    fs::write(&file, "nothing\n").unwrap();
    let mut client = connect(&scene, &[]);
    invoke(&mut client, "lock", "");
    client.done("prompt", &json!({"message": "Count."}));
    client.event("tool_start");
    client.event("tool_start");
    // Both tools wait for this change.
    fs::write(&file, "one two\n").unwrap();
    invoke(&mut client, "unlock", "");
    client.event("done");
    client.end().expect(0);
    assert_eq!(said(&scene.server.requests()[1], "tool"), ["Updated a.txt", "Updated a.txt"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "1 2\n");
}

pub(super) fn tool_ends_the_run(language: Language) {
    let scene =
        language.scene("final_answer", vec![Scenario::new().tool("1", "finish", r#"{"answer":"42"}"#)]);
    let ran = scene.haft(&["--json", "Answer."]);
    ran.expect(0);
    assert_eq!(ran.of("tool_result")[0]["details"], json!({"answer": "42"}));
    assert_eq!(scene.server.requests().len(), 1);
}

pub(super) fn replacement_of_bash_sets_a_variable(language: Language) {
    let permissions = json!({"permissions": {
        "host": ["exec"],
        "tools": {"register": ["bash"], "replace": ["bash"]},
    }});
    let answers = vec![bash("1", "echo \"CI is $CI\"; exit 3"), Scenario::text("Done.")];
    let scene = language.scene_with("custom_bash", &permissions, answers);
    scene.haft(&["-p", "Test."]).expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert!(results[0].starts_with("CI is 1") && results[0].ends_with("(exit code 3)"), "{results:?}");
}

pub(super) fn long_result_is_cut(language: Language) {
    let scene = language
        .scene("long_output", vec![Scenario::new().tool("1", "numbers", "{}"), Scenario::text("Done.")]);
    scene.haft(&["-p", "Count."]).expect(0);
    let result = &said(&scene.server.requests()[1], "tool")[0];
    let numbers = result.lines().filter(|line| line.parse::<u32>().is_ok()).count();
    assert!(numbers <= 2000, "{numbers} lines");
    let path = result.split_whitespace().map(|word| word.trim_matches(|mark| "[]().;,`".contains(mark)));
    let full = path.filter_map(|word| fs::read_to_string(word).ok()).next();
    assert_eq!(full.map(|text| text.lines().count()), Some(3000), "{result}");
}
