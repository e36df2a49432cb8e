//! Parallel sessions: their start, names, copies and end.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::client::{Client, Drives};
use crate::played::Answer;
use crate::program::Program;

/// Runs two parallel sessions.
pub(super) async fn two_at_work(drives: Drives) -> String {
    let (one, two) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let held = |gate: &Arc<Notify>| Answer::Held("well", Arc::clone(gate), "!");
    let mut client = drives(Program::new([held(&one), held(&two)]));
    let first = client.hello().await;
    let second = client.opened(json!({"type": "new_session"})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "say 1"})).await;
    client.send(json!({"id": "2", "type": "prompt", "message": "say 2", "session": second})).await;
    client.until_in(&second, "text_delta").await;
    client.ask(json!({"type": "list_sessions"})).await;
    two.notify_one();
    client.until_in(&second, "done").await;
    client.ask(json!({"type": "abort", "session": second})).await;
    one.notify_one();
    client.until_in(&first, "done").await;
    client.end().await.1
}

#[tokio::test(start_paused = true)]
async fn two_sessions_work_in_parallel() {
    assert_snapshot!(two_at_work(Client::of).await);
}

#[tokio::test(start_paused = true)]
async fn current_session_closes_but_the_last_one_stays() {
    let mut client = Client::of(Program::new([Answer::Call("wait", "{}")]));
    client.hello().await;
    let second = client.opened(json!({"type": "new_session", "ephemeral": true})).await;
    client.call(&second[..20], "session-2-in-short");
    client.ask(json!({"type": "switch_session", "session": second[..20]})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "wait"})).await;
    client.until("tool_start").await;
    client.send(json!({"id": "2", "type": "prompt", "message": "and on"})).await;
    client.send(json!({"id": "3", "type": "close_session"})).await;
    // It goes on for a moment, and is not the one that is meant any more.
    client.send(json!({"id": "4", "type": "get_messages"})).await;
    client.send(json!({"id": "5", "type": "get_messages", "session": second})).await;
    client.send(json!({"id": "6", "type": "close_session"})).await;
    client.send(json!({"id": "7", "type": "switch_session", "session": second})).await;
    client.until("session_closed").await;
    client.ask(json!({"type": "close_session"})).await;
    client.ask(json!({"type": "get_messages", "session": second})).await;
    client.ask(json!({"type": "list_sessions"})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn fork_has_the_conversation_up_to_an_entry() {
    let mut client = Client::of(Program::new([]));
    client.hello().await;
    client.prompt("1", "one").await;
    client.prompt("2", "two").await;
    let tree = client.ask(json!({"type": "tree"})).await;
    let entry = tree["data"]["entries"][2]["id"].as_str().unwrap().to_owned();
    let up_to = client.opened(json!({"type": "fork", "entry": entry})).await;
    let whole = client.opened(json!({"type": "fork"})).await;
    client.ask(json!({"type": "get_messages", "session": up_to})).await;
    client.send(json!({"id": "3", "type": "prompt", "message": "three", "session": up_to})).await;
    client.until_in(&up_to, "done").await;
    client.ask(json!({"type": "tree", "session": whole})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn fork_uses_the_last_set_model() {
    let program = Program::new([]);
    let agents = program.agents();
    let mut client = Client::of(program);
    client.prompt("1", "one").await;
    client.ask(json!({"type": "set_model", "model": "two"})).await;
    client.ask(json!({"type": "set_name", "name": "tidy"})).await;
    let fork = client.opened(json!({"type": "fork"})).await;
    let state = client.ask(json!({"type": "get_state", "session": fork})).await;
    assert_eq!(state["data"]["name"], "tidy (fork)");
    client.end().await.0.unwrap();
    let settings = agents.lock().unwrap()[1].session().context().settings;
    assert_eq!(settings.model.unwrap().model, "two");
}

/// Creates a recorded session with one prompt, and returns its id and file.
async fn recorded(dir: &Path) -> (String, String) {
    let mut client = Client::of(Program::new([]).recording(dir));
    client.hello().await;
    client.prompt("1", "remember").await;
    let state = client.ask(json!({"type": "get_state"})).await;
    client.end().await.0.unwrap();
    let text = |name: &str| state["data"][name].as_str().unwrap().to_owned();
    (text("session"), text("path"))
}

// In real time: the disk does not use the virtual clock.
#[tokio::test]
async fn stored_session_opens_and_gets_the_next_commands() {
    let dir = tempfile::tempdir().unwrap();
    let (old, _) = recorded(dir.path()).await;
    let mut client = Client::of(Program::new([]).recording(dir.path()));
    client.hello().await;
    client.call(&dir.path().to_string_lossy(), "DIR");
    client.call(&old, "session-on-disk");
    client.call(&old[..20], "session-on-disk-in-short");
    client.ask(json!({"type": "list_sessions"})).await;
    client.send(json!({"id": "1", "type": "switch_session", "session": old[..20]})).await;
    client.send(json!({"id": "2", "type": "get_messages"})).await;
    client.send(json!({"id": "3", "type": "prompt", "message": "what was it?"})).await;
    client.until("done").await;
    let fork = client.opened(json!({"type": "fork"})).await;
    client.send(json!({"id": "4", "type": "prompt", "message": "and here?", "session": fork})).await;
    client.until_in(&fork, "done").await;
    client.ask(json!({"type": "clear"})).await;
    client.ask(json!({"type": "tree"})).await;
    client.ask(json!({"type": "close_session"})).await;
    client.ask(json!({"type": "list_sessions"})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test]
async fn session_of_another_process_is_locked() {
    let dir = tempfile::tempdir().unwrap();
    let mut other = Client::of(Program::new([]).recording(dir.path()));
    let busy = other.hello().await;
    other.prompt("1", "mine").await;
    let mut client = Client::of(Program::new([]).recording(dir.path()));
    client.hello().await;
    client.call(&dir.path().to_string_lossy(), "DIR");
    client.call(&busy, "session-of-another");
    let locked = client.ask(json!({"type": "switch_session", "session": busy})).await;
    assert_eq!(locked["code"], "session_locked");
    client.ask(json!({"type": "get_state"})).await;
    assert_snapshot!(client.end().await.1);
    other.end().await.0.unwrap();
}

#[tokio::test]
async fn torn_session_file_is_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let (old, path) = recorded(dir.path()).await;
    OpenOptions::new().append(true).open(path).unwrap().write_all(b"{\"type\":\"mess").unwrap();
    let mut client = Client::of(Program::new([]).recording(dir.path()));
    client.hello().await;
    client.call(&dir.path().to_string_lossy(), "DIR");
    client.call(&old, "session-on-disk");
    client.ask(json!({"type": "switch_session", "session": old})).await;
    client.prompt("1", "go on").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn session_opening_at_the_end_is_answered() {
    let mut client = Client::of(Program::new([]));
    client.hello().await;
    client.send(json!({"id": "1", "type": "new_session"})).await;
    client.send(json!({"id": "2", "type": "switch_session", "session": "nobody"})).await;
    client.send(json!({"id": "3", "type": "fork"})).await;
    client.send(json!({"id": "4", "type": "shutdown"})).await;
    let (_, said) = client.heard().await;
    let answers: Vec<Value> = said
        .lines()
        .filter_map(|line| line.strip_prefix("< "))
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|value: &Value| value["type"] == "response")
        .collect();
    assert_eq!(answers.len(), 5, "{said}");
}

// In real time: the disk does not use the virtual clock.
#[tokio::test]
async fn session_can_be_named() {
    let dir = tempfile::tempdir().unwrap();
    let (old, _) = recorded(dir.path()).await;
    let mut client = Client::of(Program::new([]).recording(dir.path()));
    client.hello().await;
    client.call(&dir.path().to_string_lossy(), "DIR");
    client.call(&old, "session-on-disk");
    client.ask(json!({"type": "set_name", "name": "a\u{1b}[31m"})).await;
    client.ask(json!({"type": "set_name", "name": "in short"})).await;
    let ephemeral = client.opened(json!({"type": "new_session", "ephemeral": true})).await;
    client.ask(json!({"type": "set_name", "name": "for a moment", "session": ephemeral})).await;
    client.ask(json!({"type": "switch_session", "session": old})).await;
    client.ask(json!({"type": "set_name", "name": "remembered"})).await;
    client.prompt("1", "go on").await;
    client.ask(json!({"type": "list_sessions"})).await;
    client.ask(json!({"type": "get_state"})).await;
    client.ask(json!({"type": "set_name", "name": "", "session": ephemeral})).await;
    client.ask(json!({"type": "get_state", "session": ephemeral})).await;
    assert_snapshot!(client.end().await.1);
    // The name is in the file.
    let mut client = Client::of(Program::new([]).recording(dir.path()));
    client.ask(json!({"type": "switch_session", "session": old})).await;
    let state = client.ask(json!({"type": "get_state"})).await;
    assert_eq!(state["data"]["name"], "remembered");
}
