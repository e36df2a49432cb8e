//! Records of programs in a session: entries, messages, labels and tags.

use std::sync::Arc;

use haft_rpc::MOST_EXTENSION_PROMPTS;
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::extension_commands::{begun, end, run};
use crate::client::Client;
use crate::played::Answer;
use crate::program::Program;

const ENTRY: &str = "0f3a5c7e9b1d2f4061728394a5b6c7d8";

fn message(content: &str, rest: Value) -> Value {
    let mut message =
        json!({"type": "send_message", "kind": "reminder", "content": content, "display": true});
    message.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    message
}

#[tokio::test(start_paused = true)]
async fn client_records_entries_labels_and_tags() {
    let mut client = Client::of(Program::new([]));
    client.hello().await;
    client.prompt("1", "hi").await;
    client.call(ENTRY, ENTRY);
    let list = json!({"done": [1]});
    client.ask(json!({"type": "append_entry", "entry": ENTRY, "kind": "list", "data": list})).await;
    client.ask(json!({"type": "append_entry", "entry": ENTRY, "kind": "list", "data": list})).await;
    for wrong in [
        json!({"type": "append_entry", "entry": "0F", "kind": "list", "data": list}),
        json!({"type": "append_entry", "kind": "list", "data": list, "owner": "haft"}),
        json!({"type": "append_entry", "kind": "", "data": list}),
    ] {
        client.ask(wrong).await;
    }
    client.ask(json!({"type": "set_label", "entry": &ENTRY[..8], "label": "the list"})).await;
    client.ask(json!({"type": "set_label", "entry": "ffff", "label": "the list"})).await;
    client.ask(json!({"type": "set_tags", "tags": {"ticket": "HA-7", "urgent": ""}})).await;
    client.ask(json!({"type": "set_tags", "tags": {"urgent": null}})).await;
    let other = client.opened(json!({"type": "new_session", "ephemeral": true})).await;
    client.ask(json!({"type": "set_tags", "tags": {"ticket": "HA-8"}, "session": other})).await;
    let tree = client.ask(json!({"type": "tree"})).await;
    let entries = tree["data"]["entries"].as_array().unwrap();
    let labels: Vec<_> = entries.iter().filter(|entry| entry["label"] == "the list").collect();
    assert_eq!((labels.len(), &labels[0]["id"], &labels[0]["type"]), (1, &json!(ENTRY), &json!("custom")));
    for (tags, count) in [
        (json!({}), 2),
        (json!({"ticket": "HA-7"}), 1),
        (json!({"ticket": null}), 2),
        (json!({"ticket": "HA-7", "urgent": null}), 0),
    ] {
        let found = client.ask(json!({"type": "find_sessions", "tags": tags})).await;
        assert_eq!(found["data"]["sessions"].as_array().unwrap().len(), count, "{tags}");
    }
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn message_of_a_client_is_recorded_or_starts_a_run() {
    let mut client = Client::of(Program::new([Answer::Say("I see."), Answer::Say("Again.")]));
    client.hello().await;
    client.ask(message("it is noon", json!({"details": {"hour": 12}}))).await;
    client.ask(message("nobody sees this", json!({"display": false}))).await;
    client.ask(message("wake up", json!({"turn": true, "owner": "clock"}))).await;
    client.until("done").await;
    client.ask(message("later", json!({"when": "next_turn"}))).await;
    client.ask(message("never", json!({"when": "next_turn", "turn": true}))).await;
    client.ask(message(" ", json!({}))).await;
    client.ask(message("at once", json!({"when": "steer", "turn": true}))).await;
    client.until("done").await;
    let shown = client.ask(json!({"type": "get_messages"})).await.to_string();
    for text in ["it is noon", "wake up", "I see.", "later", "at once", "Again."] {
        assert!(shown.contains(text), "{text:?} is missing in {shown}");
    }
    assert!(!shown.contains("nobody"), "{shown}");
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn message_during_a_prompt_reaches_the_agent_at_work() {
    let go = Arc::new(Notify::new());
    let held = Answer::Held("one", Arc::clone(&go), " two");
    let mut client = Client::of(Program::new([held, Answer::Say("three")]));
    client.hello().await;
    client.send(json!({"id": "1", "type": "prompt", "message": "first"})).await;
    client.until("text_delta").await;
    let sent = client.ask(message("it is noon", json!({"turn": true}))).await;
    assert_eq!(sent["data"], json!({"running": true}));
    let taken = client.ask(json!({"type": "take_queued"})).await;
    assert_eq!(taken["data"], json!({"steering": [], "follow_up": [], "next_turn": []}));
    go.notify_one();
    client.until("done").await;
    let (_, said) = client.end().await;
    let (before, after) = said.split_once(r#"{"type":"custom_message""#).expect(&said);
    assert!(before.contains(" two") && after.contains("three"), "{said}");
    // One run answered both.
    assert_eq!(said.matches(r#"{"type":"done""#).count(), 1, "{said}");
}

#[tokio::test(start_paused = true)]
async fn records_of_an_extension_have_its_name() {
    let (mut client, mut helper, _) = begun(Program::new([])).await;
    let args = json!({"entry": ENTRY, "kind": "list", "data": [1], "owner": "somebody"});
    assert_eq!(run(&mut helper, "append_entry", args.clone()).await["value"], json!({"entry": ENTRY}));
    assert_eq!(run(&mut helper, "append_entry", args).await["code"], "entry_exists");
    let args = json!({"kind": "note", "content": "it\u{e0041} rains", "display": true, "owner": "somebody"});
    let sent = run(&mut helper, "send_message", args).await;
    assert_eq!(sent["value"]["running"], false);
    let event = client.until("custom_message").await;
    assert_eq!(event["owner"], "helper");
    assert_eq!(event["content"][0]["text"], "[from extension helper]\nit rains");
    let labeled = json!({"entry": ENTRY, "label": "the list"});
    assert_eq!(run(&mut helper, "set_label", labeled).await.get("code"), None);
    assert_eq!(run(&mut helper, "set_tags", json!({"tags": {"done": ""}})).await.get("code"), None);
    let found = run(&mut helper, "find_sessions", json!({"tags": {"done": ""}})).await;
    assert_eq!(found["value"]["sessions"].as_array().unwrap().len(), 1);
    let wrong = run(&mut helper, "append_entry", json!({"kind": "list"})).await;
    assert_eq!(wrong["code"], "invalid_args");
    end(client, helper).await;
}

#[tokio::test(start_paused = true)]
async fn messages_that_start_each_other_end_at_the_limit() {
    let (mut client, mut helper, _) = begun(Program::new([])).await;
    let args = |when: &str, turn: bool| json!({"kind": "again", "content": "go on", "display": true, "when": when, "turn": turn});
    for n in 0..MOST_EXTENSION_PROMPTS {
        let sent = run(&mut helper, "send_message", args("now", true)).await;
        assert_eq!(sent["value"]["running"], true, "{n}");
        client.until("done").await;
    }
    for (when, turn) in [("now", true), ("steer", false), ("follow_up", false), ("next_turn", false)] {
        assert_eq!(run(&mut helper, "send_message", args(when, turn)).await["code"], "queue_full", "{when}");
    }
    // This makes nobody work.
    assert_eq!(run(&mut helper, "send_message", args("now", false)).await.get("code"), None);
    client.prompt("1", "go on").await;
    assert_eq!(run(&mut helper, "send_message", args("steer", false)).await.get("code"), None);
    end(client, helper).await;
}

#[tokio::test(start_paused = true)]
async fn long_message_of_an_extension_is_rejected() {
    let (client, mut helper, _) = begun(Program::new([])).await;
    let args = |bytes: usize| json!({"kind": "log", "content": "x".repeat(bytes), "display": false, "when": "next_turn"});
    let rejected = run(&mut helper, "send_message", args(64 * 1024 + 1)).await;
    assert_eq!(rejected["code"], "invalid_args");
    let text = rejected["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "send_message: `content` has 65537 bytes; the limit is 65536");
    assert_eq!(run(&mut helper, "send_message", args(64 * 1024)).await.get("code"), None);
    end(client, helper).await;
}
