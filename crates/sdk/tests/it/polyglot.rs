//! The example extensions in other languages, as real processes that use only the wire protocol.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::{Value, json};

use haft_test_support::subprocess::PeerProcess;

fn dir(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions").join(name)
}

/// Starts an example, after a check for the programs that it needs.
#[track_caller]
fn start(name: &str, needs: &[&str]) -> PeerProcess {
    let path = env::var_os("PATH").unwrap_or_default();
    for program in needs {
        let found = env::split_paths(&path).any(|dir| dir.join(program).is_file());
        assert!(found, "this test needs {program} on the PATH");
    }
    PeerProcess::of_manifest(&dir(name))
}

fn command(id: &str, name: &str, args: &str) -> Value {
    json!({"type": "command_invoked", "id": id, "name": name, "args": args})
}

fn tool(id: &str, name: &str, args: &Value) -> Value {
    json!({"type": "tool_call", "id": id, "name": name, "args": args})
}

#[test]
fn hello_py_is_the_quick_start() {
    let mut hello = start("hello-py", &["python3"]);
    assert_eq!(hello.expect_frame("register_command")["name"], "hellopy");
    let answer = hello.ask_question(&command("1", "hellopy", ""), "command_response");
    assert_eq!(answer["action"], "prompt");
    assert_eq!(answer["prompt"], "Greet me very briefly. Add one emoji.");
    hello.shutdown();
}

#[test]
fn hello_py_works_without_ready_and_ends_with_its_input() {
    let mut hello = start("hello-py", &["python3"]);
    hello.expect_frame("register_command");
    assert!(hello.hang_up().success());
}

#[test]
fn py_guide_has_a_read_only_tool() {
    let mut guide = start("py-guide", &["python3"]);
    let registered = guide.until_ready();
    assert_eq!(registered[0]["name"], "glossary");
    let result = guide.ask_question(&tool("1", "glossary", &json!({"term": "Step"})), "tool_result");
    assert_eq!(result["content"][0]["text"], "One request to the model and the tool calls in its answer.");
    let result = guide.ask_question(&tool("2", "glossary", &json!({"term": 1})), "tool_result");
    assert_eq!(result["is_error"], true);
    guide.shutdown();
}

#[test]
fn py_guide_guides_and_guards() {
    let mut guide = start("py-guide", &["python3"]);
    guide.until_ready();
    let before = json!({"type": "event_intercept", "id": "1", "event": "before_agent_start", "prompt": "hi", "system_prompt": "You are"});
    let answer = guide.ask_question(&before, "event_intercept_response");
    assert!(answer["append_system_prompt"].as_str().unwrap().contains("`glossary`"));
    for (args, blocked) in [
        (json!({"command": "rm -rf /tmp/foo"}), true),
        (json!({"command": "ls; rm -r --force x"}), true),
        (json!({"command": "rm -fr x"}), true),
        (json!({}), true),
        (json!({"command": "rm -r x; ls -f"}), false),
        (json!({"command": "ls"}), false),
    ] {
        let ask = json!({"type": "event_intercept", "id": "2", "event": "tool_call", "tool_id": "t", "tool_name": "bash", "tool_args": args});
        let answer = guide.ask_question(&ask, "event_intercept_response");
        assert_eq!(answer["block"] == json!(true), blocked, "{args}");
    }
    guide.shutdown();
}

#[test]
fn clock_tells_the_time_in_node() {
    let mut clock = start("clock", &["node"]);
    clock.until_ready();
    let answer = clock.ask_question(&command("1", "clock", "Asia/Tokyo"), "command_response");
    let shown = answer["display"].as_str().unwrap();
    assert!(shown.ends_with(" Asia/Tokyo"), "{shown}");
    let result = clock.ask_question(&tool("2", "now", &json!({})), "tool_result");
    assert_eq!(result["content"][0]["text"].as_str().unwrap().len(), "2026-01-31 12:34:56".len());
    let result = clock.ask_question(&tool("3", "now", &json!({"timezone": "Nowhere/AtAll"})), "tool_result");
    assert_eq!(result["is_error"], true);
    clock.shutdown();
}

#[test]
fn shout_works_in_shell() {
    let mut shout = start("shout", &["bash", "jq"]);
    shout.until_ready();
    let answer = shout.ask_question(&command("1", "shout", "it's \"me\" $HOME"), "command_response");
    assert_eq!(answer["display"], "IT'S \"ME\" $HOME!");
    let no_args = json!({"type": "command_invoked", "id": "2", "name": "shout"});
    assert_eq!(shout.ask_question(&no_args, "command_response")["display"], "!");
    shout.shutdown();
}

#[test]
fn every_example_has_a_manifest_that_names_it() {
    let parent = dir("");
    let mut names = Vec::new();
    for entry in fs::read_dir(&parent).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        let manifest = fs::read_to_string(entry.path().join("extension.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        let name = entry.file_name().into_string().unwrap();
        assert_eq!(manifest["name"], name.as_str());
        assert!(entry.path().join("README.md").is_file(), "{name} has no README.md");
        names.push(name);
    }
    names.sort();
    let readme = fs::read_to_string(parent.join("../README.md")).unwrap();
    let missing: Vec<_> =
        names.iter().filter(|name| !readme.contains(&format!("extensions/{name}/"))).collect();
    assert!(missing.is_empty(), "examples/README.md does not list {missing:?}");
}
