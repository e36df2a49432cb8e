//! `haft rpc`: one session, from the first line to the last.

use std::io::Write as _;
use std::process::{Command, Stdio};

use haft_test_support::model_server::{AnswerFault, Scenario};
use serde_json::{Value, json};

use super::rpc_client::{Client, text_of};
use super::running::eventually;
use super::scene::{Scene, bash};
use crate::world::Ended;
use crate::world::World;

/// A model that plays these messages, by a script.
fn script(answers: &[&str]) -> Scene {
    let steps: Vec<Value> = answers.iter().map(|text| json!({"say": [{"text": text}]})).collect();
    Scene::scripted(&json!(steps))
}

/// The events of every prompt, in order.
fn outline(lines: &[Value]) -> Vec<&str> {
    const TOLD: [&str; 8] = [
        "user_message",
        "turn_start",
        "assistant_start",
        "assistant_message",
        "tool_call",
        "tool_result",
        "turn_end",
        "done",
    ];
    lines.iter().filter_map(|line| line["type"].as_str()).filter(|kind| TOLD.contains(kind)).collect()
}

#[test]
fn client_sends_hello_and_prompt() {
    let scene = script(&["Hello yourself."]);
    let mut client = Client::of(&scene, &[]);
    let hello = client.done("hello", &json!({"client": {"name": "tests", "version": "1"}}));
    assert_eq!((&hello["protocol_version"], &hello["provider"]), (&json!(1), &json!("scripted")));
    assert_eq!(hello["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(client.prompt("hi"), "Hello yourself.");
    let state = client.done("get_state", &json!({}));
    assert_eq!((&state["session"], &state["busy"]), (&hello["session"], &json!(false)));
    assert_eq!(state["message_count"], 2);
    let messages = client.done("get_messages", &json!({}));
    let roles: Vec<_> = messages["messages"].as_array().unwrap().iter().map(|said| &said["role"]).collect();
    assert_eq!(roles, ["user", "assistant"]);
    let left = client.end();
    left.expect(0);
    assert_eq!(left.stderr, "");
    let told = ["user_message", "turn_start", "assistant_start", "assistant_message", "turn_end", "done"];
    assert_eq!(outline(&left.lines), told);
    assert!(left.of("done").iter().all(|done| done["session"] == hello["session"]));
}

#[test]
fn model_over_http_calls_tool() {
    let scene = Scene::new(vec![bash("t1", "echo from the shell"), Scenario::text("It says so.")]);
    let mut client = Client::of(&scene, &[]);
    assert_eq!(client.prompt("go"), "It says so.");
    let left = client.end();
    left.expect(0);
    let told = [
        "user_message",
        "turn_start",
        "assistant_start",
        "assistant_message",
        "tool_call",
        "tool_result",
        "turn_end",
        "turn_start",
        "assistant_start",
        "assistant_message",
        "turn_end",
        "done",
    ];
    assert_eq!(outline(&left.lines), told);
    assert!(text_of(left.of("tool_result")[0]).contains("from the shell"), "{:?}", left.lines);
    assert_eq!(scene.server.violations(), Vec::<String>::new());
}

#[test]
fn answers_commands_sent_before_end_of_input() {
    let scene = script(&["One.", "Two."]);
    let mut client = Client::of(&scene, &[]);
    client.send("prompt", &json!({"message": "first"}));
    client.send("prompt", &json!({"message": "second"}));
    let left = client.end();
    left.expect(0);
    assert_eq!(left.of("response").len(), 2, "{:?}", left.lines);
    assert_eq!(left.of("done").len(), 2);
    let said: Vec<String> = left.of("assistant_message").into_iter().map(text_of).collect();
    assert_eq!(said, ["One.", "Two."]);
}

/// Programs written for zot start haft this way.
#[test]
fn mode_rpc_is_alias_of_rpc() {
    let scene = script(&["Hi."]);
    let mut client = Client::start(scene.command(&["--mode", "rpc"]));
    assert_eq!(client.done("ping", &json!({})), json!({"pong": true}));
    assert_eq!(client.prompt("hi"), "Hi.");
    client.end().expect(0);
    assert!(!scene.world.home().join("sessions").exists());
}

#[test]
fn answers_invalid_line_with_error() {
    let scene = script(&["Hi."]);
    let mut client = Client::of(&scene, &[]);
    client.write("hello?");
    let reply = client.event("response");
    assert_eq!((&reply["command"], &reply["code"]), (&json!(""), &json!("malformed")));
    assert_eq!(client.refused("fly", &json!({})).0, "unknown_command");
    assert_eq!(client.refused("set_model", &json!({})).0, "bad_request");
    assert_eq!(client.prompt("hi"), "Hi.");
    client.end().expect(0);
}

#[test]
fn runs_template_by_name() {
    let scene = script(&["Reviewed."]);
    let prompts = scene.world.home().join("prompts");
    std::fs::create_dir_all(&prompts).unwrap();
    std::fs::write(prompts.join("review.md"), "---\ndescription: looks at it\n---\nReview $1 well.\n")
        .unwrap();
    let mut client = Client::of(&scene, &[]);
    let listed = client.done("list_commands", &json!({}));
    assert_eq!(listed["commands"][0], json!({"name": "review", "description": "looks at it"}));
    assert_eq!(listed["commands"][1]["name"], "init", "a template of haft");
    assert_eq!(client.prompt("/review main.rs"), "Reviewed.");
    let left = client.end();
    left.expect(0);
    assert_eq!(text_of(left.of("user_message")[0]).trim(), "Review main.rs well.");
}

#[test]
fn lists_models_and_switches_model() {
    let scene = script(&["From the first."]);
    let other = scene.world.project().join("other.json");
    let script = json!({"model": "other", "steps": [{"say": [{"text": "From the other."}]}]});
    std::fs::write(&other, script.to_string()).unwrap();
    let mut client = Client::of(&scene, &[]);
    let models = client.done("get_models", &json!({"all": true}));
    let models = models["models"].as_array().unwrap();
    let is_marked = |model: &&Value| model["provider"] == "anthropic" && model["available"] == false;
    let marked = models.iter().find(is_marked).unwrap();
    assert!(marked["reasoning"] == true && marked["prices"]["input"].is_number(), "{marked}");
    let usable = client.done("get_models", &json!({}));
    let usable = usable["models"].as_array().unwrap();
    assert!(usable.iter().all(|model| model["available"].is_null()) && usable.len() < models.len());
    assert!(usable.iter().any(|model| model["provider"] == "scripted"), "the session's own model is listed");
    assert_eq!(client.prompt("hi"), "From the first.");
    let (code, error) = client.refused("set_model", &json!({"model": "scripted/gone.json"}));
    assert!(code == "model_not_found" && error.contains("gone.json"), "{code}: {error}");
    assert_eq!(client.refused("set_model", &json!({"model": "nobody/x"})).0, "model_not_found");
    let set = client.done("set_model", &json!({"model": format!("scripted/{}", other.display())}));
    assert_eq!(set, json!({"provider": "scripted", "model": "other"}));
    assert_eq!(client.prompt("hi"), "From the other.");
    client.end().expect(0);
}

#[test]
fn set_model_refuses_unknown_ids_and_suggests_a_known_one() {
    let world = World::new();
    let mut command = world.command(&["rpc"]);
    command.env("ANTHROPIC_API_KEY", "sk-unused");
    let mut client = Client::start(command);
    let (code, error) = client.refused("set_model", &json!({"model": "claude-sonet-5-5"}));
    assert!(
        code == "model_not_found" && error.contains("did you mean claude-sonnet-5-5?"),
        "{code}: {error}"
    );
    let named = client.done("set_model", &json!({"model": "anthropic/claude-sonet-5-5"}));
    assert_eq!(named["model"], "claude-sonet-5-5", "a name with its provider is used as it is");
    client.end().expect(0);
}

/// The key and the address of one provider are not used for another one.
#[test]
fn settings_of_provider_are_not_sent_to_other_provider() {
    let scene = Scene::new(vec![Scenario::text("Hi.")]);
    let mut client = Client::of(&scene, &[]);
    let (code, error) = client.refused("set_model", &json!({"model": "anthropic/claude-sonnet-4-5"}));
    assert!(code == "model_not_found" && error.contains("ANTHROPIC_API_KEY"), "{code}: {error}");
    let set = client.done("set_model", &json!({"model": "n"}));
    assert_eq!(set, json!({"provider": "openai-chat", "model": "n"}));
    assert_eq!(client.prompt("hi"), "Hi.");
    client.end().expect(0);
    assert_eq!(scene.server.requests()[0].body["model"], "n");
}

#[cfg(unix)]
#[test]
fn signal_ends_server_and_keeps_session() {
    let scene = Scene::new(vec![Scenario::text("I begin").fault(AnswerFault::Hang)]);
    let mut client = Client::of(&scene, &["--record"]);
    client.done("prompt", &json!({"message": "remember this"}));
    assert!(eventually(|| scene.server.requests().len() == 1));
    client.signal("-TERM");
    let left = client.wait();
    left.expect(130);
    assert_eq!(left.of("done").len(), 1, "{:?}", left.lines);
    let shown = scene.world.haft(&["session", "show", "last"]);
    assert!(shown.code == 0 && shown.stdout.contains("remember this"), "{shown:?}");
}

#[test]
fn shutdown_command_ends_server() {
    let scene = Scene::new(vec![Scenario::text("I begin").fault(AnswerFault::Hang)]);
    let mut client = Client::of(&scene, &[]);
    client.done("prompt", &json!({"message": "take your time"}));
    let waits = client.send("prompt", &json!({"message": "and then"}));
    client.done("shutdown", &json!({}));
    assert_eq!(client.reply(&waits)["code"], "shutdown");
    let left = client.wait();
    left.expect(0);
    assert_eq!(left.of("done").len(), 1, "{:?}", left.lines);
}

/// As for any command whose output is closed.
#[test]
fn closed_output_is_no_failure() {
    let scene = script(&["Nobody reads this."]);
    let mut child = scene.command_of(&["rpc"], &[]).stdin(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    // The input stays open, so nothing else ends haft.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"type\":\"prompt\",\"message\":\"hi\"}\n").unwrap();
    let mut status = None;
    let ended = eventually(|| {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    if !ended {
        child.kill().unwrap();
    }
    assert_eq!(status.and_then(|status| status.code()), Some(0));
}

/// A failure before serving ends like a failed run.
#[test]
fn failed_start_prints_reason_and_has_exit_code() {
    let scene = script(&[]);
    let ran = |mut command: Command| {
        command.stdin(Stdio::null());
        scene.world.ended(command.output().unwrap())
    };
    for (flags, code, expect) in [
        (&["rpc", "--model", "scripted/gone.json"][..], 2, "gone.json"),
        (&["rpc", "--provider", "nobody"], 6, "unknown provider \"nobody\""),
        (&["rpc", "hello"], 2, "unexpected argument 'hello'"),
        (&["rpc", "-p"], 2, "unexpected argument '-p'"),
        (&["rpc", "--record", "--no-session"], 2, "cannot be used with"),
        (&["rpc", "-r"], 2, "a value is required for '--resume <ID>'"),
        (&["--mode", "rpc", "-r"], 2, "use --resume ID"),
        (&["--mode", "rpc", "-p"], 2, "cannot be used with"),
        (&["--mode", "rpc", "hello"], 2, "cannot be used with"),
    ] {
        check_told(flags, &ran(scene.world.command(flags)), code, expect);
    }
    for (flags, code, expect) in [
        (&["--tools", "fly"][..], 2, "unknown tool \"fly\""),
        (&["-e", "./gone"], 3, "no such directory"),
        (&["-c"], 11, "has no sessions yet"),
        (&["--session", "0a"], 11, "no session has an id that begins with"),
    ] {
        check_told(flags, &ran(scene.command_of(&["rpc"], flags)), code, expect);
    }
}

/// Checks that only standard error has output.
#[track_caller]
fn check_told(flags: &[&str], ended: &Ended, code: i32, expect: &str) {
    assert_eq!(ended.code, code, "{flags:?}: {ended:?}");
    assert!(ended.stderr.contains(expect), "{flags:?}: {ended:?}");
    assert_eq!(ended.stdout, "", "{flags:?}");
}
