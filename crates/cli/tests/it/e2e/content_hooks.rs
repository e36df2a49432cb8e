//! Extensions that change what the model reads and writes, in a run of the program.

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::requests::said;
use super::rpc_client::Client;
use super::running::eventually;
use super::scene::Scene;

/// Handles `ping`, and makes `?quick` a template.
const QUICK: &str = r#"
emit("subscribe", intercept=["input"])
emit("register_command", name="ask", description="asks")
emit("ready")
for frame in frames():
    if frame.get("event") == "input":
        mark(frame["source"] + ": " + frame["text"])
        if frame["text"] == "ping":
            answer(frame, handled=True)
        else:
            answer(frame, text=frame["text"].replace("?quick", "/quick"))
    elif frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="prompt", prompt="What is left?")
"#;

/// Returns a scene with the extension, a template, and one answer for each expected prompt.
fn quick_scene(prompts: usize) -> Scene {
    let scene = Scene::new(vec![Scenario::text("Done."); prompts]).python("quick", QUICK);
    let templates = scene.world.home().join("prompts");
    std::fs::create_dir_all(&templates).unwrap();
    std::fs::write(templates.join("quick.md"), "Briefly: $1").unwrap();
    scene
}

#[test]
fn input_is_changed_before_templates_expand() {
    let scene = quick_scene(1);
    let ran = scene.haft(&["-p", "?quick haft"]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("Done.\n", ""));
    assert_eq!(said(&scene.server.requests()[0], "user"), ["Briefly: haft"]);
    assert_eq!(scene.marks(), ["print: ?quick haft"]);
}

#[test]
fn handled_input_asks_no_model() {
    let scene = quick_scene(0);
    let ran = scene.haft(&["-p", "ping"]);
    ran.expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    assert!(scene.server.requests().is_empty());
}

#[test]
fn prompt_of_a_command_is_an_input_of_an_extension() {
    let scene = quick_scene(1);
    scene.haft(&["-p", "/ask"]).expect(0);
    let prompt = "[from extension quick, command ask]\nWhat is left?";
    assert_eq!(said(&scene.server.requests()[0], "user"), [prompt]);
    let marks = scene.marks().join("\n");
    assert_eq!(marks, format!("extension: {prompt}"), "the command itself is no input");
}

#[test]
fn rpc_inputs_pass_the_hook() {
    let scene = quick_scene(2);
    let mut client = Client::of(&scene, &[]);
    let runs = eventually(|| {
        let told = client.done("list_extensions", &json!({}));
        told["extensions"][0]["state"] == "ready"
    });
    assert!(runs, "{:?}", client.end());
    assert_eq!(client.prompt("?quick haft"), "Done.");
    client.done("prompt", &json!({"message": "ping"}));
    client.event("done");
    let handled = client.done("follow_up", &json!({"message": "ping"}));
    assert_eq!(handled, json!({"running": false, "handled": true}));
    let queued = client.done("follow_up", &json!({"message": "?quick again"}));
    assert_eq!(queued, json!({"running": false}));
    let run = client.done("run_command", &json!({"name": "quick", "args": "now"}));
    assert_eq!(run["action"], "prompt");
    client.event("done");
    client.end().expect(0);
    let requests = scene.server.requests();
    assert_eq!(said(&requests[0], "user"), ["Briefly: haft"]);
    assert!(
        said(&requests[1], "user").contains(&"Briefly: now".to_owned()),
        "{:?}",
        said(&requests[1], "user")
    );
    let marks = ["?quick haft", "ping", "ping", "?quick again", "/quick now"];
    assert_eq!(scene.marks(), marks.map(|text| format!("rpc: {text}")));
}

/// Adds a field to the body of each request, and a header.
const TIER: &str = r#"
emit("subscribe", intercept=["before_provider_request"])
emit("ready")
for frame in frames():
    if frame.get("event") == "before_provider_request":
        mark(frame["provider"] + "/" + frame["model"])
        payload = dict(frame["payload"], service_tier="flex")
        answer(frame, payload=payload, headers={"x-team": "compilers"})
"#;

#[test]
fn request_to_the_provider_has_another_body_and_a_header() {
    let scene = Scene::new(vec![Scenario::text("Done.")]).python("tier", TIER);
    let ran = scene.haft(&["-p", "hi"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "Done.\n");
    let request = &scene.server.requests()[0];
    assert_eq!((&request.body["service_tier"], &request.body["stream"]), (&json!("flex"), &json!(true)));
    assert_eq!(request.header("x-team"), Some("compilers"));
    assert_eq!(scene.marks(), ["openai-chat/m"]);
}
