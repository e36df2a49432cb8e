//! Questions to the person, and changes of the screen.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::{Language, connect, invoke};
use crate::e2e::requests::said;
use crate::e2e::scene::bash;

pub(super) fn four_questions_are_answered(language: Language) {
    let scene = language.scene("dialogs", Vec::new());
    let mut client = connect(&scene, &[]);
    let command = client.send("run_command", &json!({"name": "wizard"}));
    for (kind, title, mut answer) in [
        ("select", "Pick one:", json!({"value": "B"})),
        ("confirm", "Delete?", json!({"confirmed": true})),
        ("input", "Name:", json!({"value": "Ada"})),
        ("editor", "Edit:", json!({"value": "changed"})),
    ] {
        let asked = client.event("ui_request");
        assert_eq!((&asked["kind"], &asked["title"]), (&json!(kind), &json!(title)));
        answer["request"] = asked["id"].clone();
        client.done("ui_response", &answer);
    }
    assert_eq!(client.event("ext_notify")["message"], "Done!");
    assert_eq!(client.event("ext_display")["text"], "B true Ada changed");
    client.reply(&command);
    client.end().expect(0);
}

pub(super) fn question_ends_in_time(language: Language) {
    let scene = language.scene("timed_dialog", Vec::new());
    let mut client = connect(&scene, &[]);
    let command = client.send("run_command", &json!({"name": "risk"}));
    let asked = client.event("ui_request");
    assert_eq!(asked["timeout_ms"], 300);
    assert_eq!(client.event("ui_done")["why"], "timeout");
    assert_eq!(client.event("ext_display")["text"], "timed out");
    client.reply(&command);
    client.end().expect(0);
}

pub(super) fn question_is_withdrawn(language: Language) {
    let scene = language.scene("dismissed_dialog", Vec::new());
    let mut client = connect(&scene, &[]);
    let command = client.send("run_command", &json!({"name": "offer"}));
    let asked = client.event("ui_request");
    assert_eq!(asked["timeout_ms"], json!(null));
    assert_eq!(client.event("ui_done")["why"], "cancelled");
    assert_eq!(client.event("ext_display")["text"], "withdrawn");
    client.reply(&command);
    client.end().expect(0);
}

pub(super) fn gate_blocks_without_a_person(language: Language) {
    let answers = vec![bash("1", "rm -rf build"), Scenario::text("Done.")];
    let scene = language.scene("permission_gate", answers);
    let build = scene.world.project().join("build");
    fs::create_dir(&build).unwrap();
    scene.haft(&["-p", "Clean up."]).expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert!(build.exists() && results[0].contains("Blocked rm -rf"), "{results:?}");

    let calls = bash("1", "rm -rf build").tool("2", "bash", r#"{"command":"rm -rf kept"}"#);
    let scene = language.scene("permission_gate", vec![calls, Scenario::text("Done.")]);
    let [build, kept] = ["build", "kept"].map(|name| scene.world.project().join(name));
    [&build, &kept].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let mut client = connect(&scene, &[]);
    client.done("prompt", &json!({"message": "Clean up."}));
    for _ in 0..2 {
        let asked = client.event("ui_request");
        let confirmed = asked["message"] == "Run: rm -rf build?";
        client.done("ui_response", &json!({"request": asked["id"], "confirmed": confirmed}));
    }
    client.event("done");
    client.end().expect(0);
    assert_eq!((build.exists(), kept.exists()), (false, true));
}

pub(super) fn screen_is_changed_and_restored(language: Language) {
    let scene = language.scene("screen", Vec::new());
    let mut client = connect(&scene, &[]);
    invoke(&mut client, "show", "");
    assert_eq!(client.event("ext_status")["text"], "Processing...");
    let working = client.event("set_working");
    let expect = (&json!("Thinking deeply..."), &json!(["·", "•", "●", "•"]), &json!(120));
    assert_eq!((&working["text"], &working["frames"], &working["interval_ms"]), expect);
    for (kind, text) in
        [("set_title", "wolli - my-agent"), ("set_editor", "Prefill text"), ("insert", ", pasted")]
    {
        assert_eq!(client.event(kind)["text"], text);
    }
    invoke(&mut client, "restore", "");
    assert_eq!(client.event("ext_status")["text"], json!(null));
    let working = client.event("set_working");
    assert_eq!((&working["text"], &working["frames"]), (&json!(""), &json!([])));
    assert_eq!(client.event("set_title")["text"], "");
    client.end().expect(0);
    #[cfg(unix)]
    terminal_shows_the_changes(language);
}

/// Checks the same in a terminal.
#[cfg(unix)]
fn terminal_shows_the_changes(language: Language) {
    use crate::e2e::interactive::terminal_session::TerminalSession;

    let terminal = TerminalSession::at(language.scene("screen", Vec::new()), &[]);
    terminal.say("/show");
    terminal.sees(&["screen: Processing...", "› Prefill text, pasted"]);
    terminal.leave();
}
