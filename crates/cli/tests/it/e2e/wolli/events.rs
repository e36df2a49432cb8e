//! Events: extensions note what happens.

use std::path::Path;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::{Language, connect, expect_notes, invoke_shown};
use crate::e2e::scene::bash;

pub(super) fn start_names_the_file(language: Language) {
    for flags in [&["--no-session"][..], &[]] {
        let scene = language.scene("session_start", vec![Scenario::text("Hi.")]);
        let ran = scene.haft(&[&["--json", "Hello."], flags].concat());
        ran.expect(0);
        let note = ran.of("ext_notify")[0]["message"].as_str().unwrap().to_owned();
        let file = note.strip_prefix("Session: ").and_then(|rest| rest.strip_suffix(" (startup)")).unwrap();
        match flags.is_empty() {
            true => assert!(Path::new(file).is_file(), "{note}"),
            false => assert_eq!(file, "ephemeral"),
        }
    }
}

pub(super) fn run_and_turns_are_noted(language: Language) {
    let scene = language.scene("run_events", vec![bash("1", "echo a"), Scenario::text("Done.")]);
    let mut client = connect(&scene, &[]);
    client.done("prompt", &json!({"message": "Look."}));
    let notes = ["start", "turn 1", "turn ended: tool_use", "turn 2", "turn ended: end", "end"];
    expect_notes(&mut client, &notes);
    client.end().expect(0);
}

pub(super) fn length_of_the_answer_is_noted(language: Language) {
    let scene = language.scene("stream_events", vec![Scenario::text("It rains."), Scenario::text("Snow.")]);
    let mut client = connect(&scene, &[]);
    client.prompt("Look.");
    client.prompt("And now?");
    expect_notes(&mut client, &["9 characters", "5 characters"]);
    client.end().expect(0);
}

pub(super) fn tools_are_noted(language: Language) {
    let scene = language.scene("tool_events", vec![bash("1", "echo rain"), Scenario::text("Done.")]);
    let mut client = connect(&scene, &[]);
    client.done("prompt", &json!({"message": "Look."}));
    expect_notes(&mut client, &["bash starts", "output: rain", "bash ends"]);
    client.end().expect(0);
}

pub(super) fn change_of_the_model_is_noted(language: Language) {
    let scene = language.scene("model_select", Vec::new());
    let mut client = connect(&scene, &[]);
    client.done("set_model", &json!({"model": "large"}));
    client.done("set_model", &json!({"model": "small"}));
    let notes = [
        "Model changed: openai-chat/m -> openai-chat/large",
        "Model changed: openai-chat/large -> openai-chat/small",
    ];
    expect_notes(&mut client, &notes);
    client.end().expect(0);
}

pub(super) fn thinking_level_is_in_the_status_line(language: Language) {
    let scene = language.scene("thinking_level", Vec::new());
    let mut client = connect(&scene, &[]);
    client.done("set_thinking", &json!({"level": "low"}));
    assert_eq!(client.event("ext_status")["text"], "thinking: low");
    assert_eq!(invoke_shown(&mut client, "think", ""), "low -> high");
    assert_eq!(client.event("ext_status")["text"], "thinking: high");
    assert_eq!(client.done("get_state", &json!({}))["thinking"], "high");
    client.end().expect(0);
}
