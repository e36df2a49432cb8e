//! Waiting prompts.

use std::sync::Arc;

use haft_rpc::{EndReason, MOST_WAITING};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::client::{Client, Drives};
use crate::played::Answer;
use crate::program::Program;

fn prompt(id: &str) -> Value {
    json!({"id": id, "type": "prompt", "message": format!("say {id}")})
}

/// A client whose prompt `1` is running.
async fn busy() -> (Client, Arc<Notify>) {
    busy_with(Client::of).await
}

async fn busy_with(drives: Drives) -> (Client, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let mut client = drives(Program::new([Answer::Held("I ", Arc::clone(&gate), "am done.")]));
    client.send(prompt("1")).await;
    client.until("text_delta").await;
    (client, gate)
}

#[tokio::test(start_paused = true)]
async fn prompts_at_the_end_of_input_are_finished() {
    let (mut client, gate) = busy().await;
    client.send(prompt("2")).await;
    client.send(prompt("3")).await;
    gate.notify_one();
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), EndReason::Input);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn abort_stops_the_prompt_and_the_next_starts() {
    let (mut client, _gate) = busy().await;
    client.send(prompt("2")).await;
    client.ask(json!({"type": "get_state"})).await;
    client.ask(json!({"type": "abort"})).await;
    client.until("done").await;
    client.until("done").await;
    // There is nothing to stop.
    client.ask(json!({"type": "abort", "queued": true})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn abort_cancels_waiting_prompts() {
    let (mut client, _gate) = busy().await;
    client.send(prompt("2")).await;
    client.send(json!({"id": "3", "type": "compact"})).await;
    client.ask(json!({"type": "abort", "queued": true})).await;
    client.until("done").await;
    client.ask(json!({"type": "get_messages"})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn abort_right_after_a_prompt_stops_it() {
    let mut client = Client::of(Program::new([Answer::Held("I ", Arc::default(), "")]));
    client.send(prompt("1")).await;
    client.send(json!({"id": "2", "type": "abort"})).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn compaction_can_be_aborted() {
    let gate = Arc::new(Notify::new());
    let answers = [Answer::Say("a"), Answer::Say("b"), Answer::Held("So", gate, "")];
    let mut client = Client::of(Program::new(answers));
    client.silent = true;
    client.prompt("1", "one").await;
    client.prompt("2", "two").await;
    client.silent = false;
    client.ask(json!({"type": "compact"})).await;
    client.until("compaction_start").await;
    client.ask(json!({"type": "get_state"})).await;
    client.ask(json!({"type": "abort"})).await;
    client.until("compaction_end").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn clear_runs_at_once() {
    let (mut client, gate) = busy().await;
    client.ask(json!({"type": "clear"})).await;
    gate.notify_one();
    client.until("done").await;
    client.ask(json!({"type": "clear"})).await;
    client.ask(json!({"type": "get_messages"})).await;
    client.ask(json!({"type": "tree"})).await;
    client.prompt("2", "anew").await;
    assert_snapshot!(client.end().await.1);
}

/// Moves a session to one of its entries, and to its beginning.
pub(super) async fn moved(drives: Drives) -> String {
    let (mut client, gate) = busy_with(drives).await;
    client.ask(json!({"type": "move_to"})).await;
    gate.notify_one();
    client.until("done").await;
    client.prompt("2", "and then?").await;
    let tree = client.ask(json!({"type": "tree"})).await;
    let entry = tree["data"]["entries"][2]["id"].as_str().unwrap().to_owned();
    client.ask(json!({"type": "move_to", "entry": "none"})).await;
    client.ask(json!({"type": "move_to", "entry": entry})).await;
    client.ask(json!({"type": "get_messages"})).await;
    client.prompt("3", "or else?\n\nAll of it.").await;
    let tree = client.ask(json!({"type": "tree"})).await;
    let entries = tree["data"]["entries"].as_array().unwrap();
    let said = entries.iter().find(|entry| entry["text"] == "or else?").unwrap()["id"].clone();
    let back = client.ask(json!({"type": "move_to", "entry": said, "before": true})).await;
    assert_eq!(back["data"]["text"], "or else?\n\nAll of it.");
    // What is sent behind it finds it moved.
    client.send(json!({"id": "4", "type": "move_to"})).await;
    client.send(json!({"id": "5", "type": "move_to", "entry": entry})).await;
    client.send(json!({"id": "6", "type": "prompt", "message": "anew"})).await;
    client.until("done").await;
    client.ask(json!({"type": "tree"})).await;
    client.end().await.1
}

#[tokio::test(start_paused = true)]
async fn idle_session_moves_to_any_entry() {
    assert_snapshot!(moved(Client::of).await);
}

#[tokio::test(start_paused = true)]
async fn prompt_after_set_model_uses_that_model() {
    let mut client = Client::of(Program::new([]));
    client.send(json!({"id": "1", "type": "set_model", "model": "two"})).await;
    client.send(prompt("2")).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn waiting_prompts_are_limited() {
    let (mut client, _gate) = busy().await;
    client.silent = true;
    for number in 0..MOST_WAITING {
        client.send(prompt(&format!("waits-{number}"))).await;
    }
    client.silent = false;
    client.send(prompt("one-too-many")).await;
    client.reply("one-too-many").await;
    client.silent = true;
    client.ask(json!({"type": "abort", "queued": true})).await;
    client.reply(&format!("waits-{}", MOST_WAITING - 1)).await;
    client.silent = false;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn waiting_steering_messages_are_limited() {
    let mut client = Client::of(Program::new([]));
    client.silent = true;
    while client.ask(json!({"type": "steer", "message": "on"})).await["success"] == true {}
    client.silent = false;
    client.ask(json!({"type": "steer", "message": "and on"})).await;
    assert_snapshot!(client.end().await.1);
}
