//! Hooks: extensions change what the model reads and does.

use std::fs;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::{Language, connect, expect_notes};
use crate::e2e::requests::{said, system};
use crate::e2e::scene::bash;

pub(super) fn prompt_has_a_section_and_a_message(language: Language) {
    let scene = language.scene("agent_prompt", vec![Scenario::text("Hi.")]);
    let mut client = connect(&scene, &[]);
    client.prompt("Hello.");
    client.end().expect(0);
    let request = &scene.server.requests()[0];
    assert!(system(request).contains("Extra instructions for this run."), "{}", system(request));
    let texts = said(request, "user");
    assert_eq!(texts, ["Hello.\n[from extension agent_prompt]\nAdditional context for the model"]);
    let log = scene.log_of("agent_prompt");
    let length = log.split("System prompt length: ").nth(1).and_then(|rest| rest.lines().next());
    assert!(length.unwrap().trim().parse::<usize>().unwrap() > 100, "{log}");
}

pub(super) fn compaction_is_canceled_or_replaced(language: Language) {
    let answers = vec![Scenario::text("Rain. ".repeat(400)), Scenario::text("Snow.")];
    let scene = language.scene("compaction", answers);
    let mut client = connect(&scene, &[]);
    client.prompt("Look.");
    client.prompt("And now?");
    client.done("compact", &json!({"instructions": "keep everything"}));
    let ended = client.event("compaction_end");
    assert!(ended["error"].as_str().unwrap().contains("Everything is kept"), "{ended}");
    client.done("compact", &json!({}));
    let summary = client.event("compact_done")["summary"].as_str().unwrap().to_owned();
    assert!(summary.ends_with("entries about rain"), "{summary}");
    client.end().expect(0);
    assert_eq!(scene.server.requests().len(), 2);
}

pub(super) fn answer_hides_the_key(language: Language) {
    let scene =
        language.scene("message_end", vec![Scenario::text("The key is SECRET."), Scenario::text("Yes.")]);
    let mut client = connect(&scene, &[]);
    assert_eq!(client.prompt("Look."), "The key is [hidden].");
    client.prompt("Is it?");
    client.end().expect(0);
    assert_eq!(said(&scene.server.requests()[1], "assistant"), ["The key is [hidden]."]);
}

pub(super) fn older_drafts_are_left_out(language: Language) {
    let answers = ["One.", "Two.", "Three."].map(Scenario::text);
    let scene = language.scene("context_filter", answers.into());
    let mut client = connect(&scene, &[]);
    for prompt in ["Hello.", "(draft) Hm.", "And now?"] {
        client.prompt(prompt);
    }
    let kept = client.done("get_messages", &json!({})).to_string();
    client.end().expect(0);
    let requests = scene.server.requests();
    assert_eq!(said(&requests[1], "user"), ["Hello.", "(draft) Hm."]);
    assert_eq!(said(&requests[2], "user"), ["Hello.", "And now?"]);
    assert!(kept.contains("(draft) Hm."), "{kept}");
}

pub(super) fn request_has_another_temperature(language: Language) {
    let scene = language.scene("provider_request", vec![Scenario::text("Hi.")]);
    scene.haft(&["-p", "Hello."]).expect(0);
    assert_eq!(scene.server.requests()[0].body["temperature"], 0);
    let log = scene.log_of("provider_request");
    assert!(log.contains(r#""stream":true"#) && !log.contains("temperature"), "{log}");
}

pub(super) fn calls_are_changed_blocked_and_observed(language: Language) {
    let calls = bash("1", "echo $GREETING").tool("2", "bash", r#"{"command":"rm -rf kept"}"#).tool(
        "3",
        "read",
        r#"{"path":"profile"}"#,
    );
    let scene = language.scene("tool_call", vec![calls, Scenario::text("Done.")]);
    let project = scene.world.project();
    fs::write(project.join("profile"), "GREETING=hello\n").unwrap();
    fs::create_dir(project.join("kept")).unwrap();
    scene.haft(&["-p", "Look."]).expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert!(results[0].starts_with("hello"), "{results:?}");
    assert!(results[1].contains("Dangerous command"), "{results:?}");
    assert!(project.join("kept").exists());
    let log = scene.log_of("tool_call");
    assert!(log.contains(r#"Reading: "profile""#), "{log}");
}

pub(super) fn result_is_shortened(language: Language) {
    let calls = bash("1", "echo one; echo two").tool("2", "read", r#"{"path":"lines.txt"}"#);
    let scene = language.scene("tool_result", vec![calls, Scenario::text("Done.")]);
    fs::write(scene.world.project().join("lines.txt"), "one\ntwo\n").unwrap();
    let ran = scene.haft(&["--json", "Look."]);
    ran.expect(0);
    let results = said(&scene.server.requests()[1], "tool");
    assert_eq!(results[0], "one");
    assert!(results[1].contains("two"), "{results:?}");
    assert_eq!(ran.of("tool_result")[0]["details"], json!({"shortened": true}));
}

pub(super) fn abort_ends_the_work_of_a_hook(language: Language) {
    let scene = language.scene("abort_signal", vec![bash("1", "echo a")]);
    let mut client = connect(&scene, &[]);
    client.done("prompt", &json!({"message": "Look."}));
    expect_notes(&mut client, &["summarizing"]);
    client.done("abort", &json!({}));
    expect_notes(&mut client, &["stopped"]);
    client.event("done");
    let left = client.end();
    left.expect(0);
    assert_eq!(left.of("extension_error"), Vec::<&serde_json::Value>::new());
}

pub(super) fn input_is_changed_or_handled(language: Language) {
    let scene = language.scene("input_filter", vec![Scenario::text("Short."), Scenario::text("Hi.")]);
    let scene = scene.shipped("hello");
    let mut client = connect(&scene, &[]);
    client.prompt("?quick what is this");
    client.done("prompt", &json!({"message": "ping"}));
    expect_notes(&mut client, &["pong"]);
    client.event("done");
    // A prompt of an extension stays as it is.
    client.done("run_command", &json!({"name": "hello", "args": "Ada"}));
    client.event("done");
    client.end().expect(0);
    let requests = scene.server.requests();
    assert_eq!(said(&requests[0], "user"), ["Respond briefly: what is this"]);
    let last = said(&requests[1], "user").pop().unwrap();
    assert!(last.contains("Greet Ada"), "{last}");
    assert_eq!(requests.len(), 2);
}

#[cfg(unix)]
pub(super) fn command_of_the_person_runs_with_a_profile(language: Language) {
    use crate::e2e::interactive::terminal_session::TerminalSession;

    let scene = language.scene("user_bash", Vec::new());
    fs::write(scene.world.project().join("profile"), "GREETING=hello\n").unwrap();
    let terminal = TerminalSession::at(scene, &[]);
    terminal.say("!!echo $GREETING-$((40 + 2))");
    terminal.sees(&["hello-42"]);
    terminal.say("!ping");
    terminal.sees(&["pong"]);
    terminal.leave();
}
