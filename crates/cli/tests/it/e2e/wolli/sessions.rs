//! Extensions that control sessions and the program.

use haft_test_support::model_server::Scenario;
use serde_json::{Value, json};

use super::{Language, connect, expect_notes, invoke};
use crate::e2e::requests::said;
use crate::e2e::scene::bash;

pub(super) fn extension_talks_to_the_model(language: Language) {
    // sleep: the command ends when the test says so
    let wait = bash("1", "until test -e go; do sleep 0.01; done");
    let answers =
        [Scenario::text("A dot."), wait, Scenario::text("Half of it."), Scenario::text("All of it.")];
    let scene = language.scene("user_message", answers.into());
    let mut client = connect(&scene, &[]);
    invoke(&mut client, "ask", "");
    client.event("done");
    client.done("prompt", &json!({"message": "Build."}));
    client.event("tool_start");
    invoke(&mut client, "nudge", "");
    std::fs::write(scene.world.project().join("go"), "").unwrap();
    client.event("done");
    client.end().expect(0);
    let requests = scene.server.requests();
    let prompt = "[from extension user_message]\nDescribe this image:";
    assert!(said(&requests[0], "user")[0].starts_with(prompt), "{:?}", said(&requests[0], "user"));
    assert!(requests[0].body.to_string().contains("data:image/png;base64,iVBOR"), "{}", requests[0].body);
    let last = |at: usize| said(&requests[at], "user").pop().unwrap();
    assert!(last(2).contains("Focus on error handling"), "{}", last(2));
    assert!(last(3).contains("And then summarize"), "{}", last(3));
}

pub(super) fn work_continues_in_a_new_session(language: Language) {
    let scene = language.scene("new_session", vec![Scenario::text("First."), Scenario::text("Second.")]);
    let mut client = connect(&scene, &[]);
    client.prompt("Begin.");
    let first = client.done("get_state", &json!({}))["session"].clone();
    invoke(&mut client, "handoff", "");
    let opened = client.event("session_opened");
    assert_ne!(opened["session"], first);
    client.event_of(opened["session"].as_str().unwrap(), "done");
    client.end().expect(0);
    let told = said(&scene.server.requests()[1], "user").join("\n");
    assert!(told.contains("Context from the previous session"), "{told}");
    assert!(told.contains("Continue in the replacement session") && !told.contains("Begin."), "{told}");
}

pub(super) fn chat_keeps_its_session(language: Language) {
    let answers = ["One.", "Two.", "Three."].map(Scenario::text);
    let scene = language.scene("find_sessions", answers.into());
    let mut client = connect(&scene, &["--record"]);
    let mut sessions = Vec::new();
    for message in ["42 Hello", "43 Hi", "42 Again"] {
        invoke(&mut client, "chat", message);
        sessions.push(client.event("done")["session"].clone());
    }
    client.end().expect(0);
    assert_eq!(sessions[0], sessions[2]);
    assert_ne!(sessions[0], sessions[1]);
    let texts = said(&scene.server.requests()[2], "user").join(" ");
    assert!(texts.contains("Hello") && texts.contains("Again") && !texts.contains("Hi"), "{texts}");
}

pub(super) fn tool_reloads_the_extensions(language: Language) {
    let call = Scenario::new().tool("1", "reload_runtime", "{}");
    let scene = language.scene("reload_runtime", vec![call, Scenario::text("Done.")]);
    let mut client = connect(&scene, &[]);
    client.prompt("Reload.");
    expect_notes(&mut client, &["reloaded"]);
    let left = client.end();
    left.expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert_eq!(results, ["Queued /reload-runtime for the end of the run."]);
    assert_eq!(left.of("extension_error"), Vec::<&Value>::new());
}

pub(super) fn fatal_call_ends_the_program(language: Language) {
    let scene = language.scene("shutdown", vec![bash("1", "echo FATAL > made"), Scenario::text("Done.")]);
    let mut client = connect(&scene, &[]);
    client.done("prompt", &json!({"message": "Break it."}));
    client.wait().expect(0);
    assert!(!scene.world.project().join("made").exists());
}
