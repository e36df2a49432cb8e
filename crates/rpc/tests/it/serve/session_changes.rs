//! Extensions that decide before a session changes, and summaries of branches.

use haft_test_support::FakePeer;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::extension_commands::end;
use crate::client::Client;
use crate::extension::begins;
use crate::played::Answer;
use crate::program::Program;

/// Returns a client of this program, with the extension `desk`, which has the three hooks.
async fn begun(program: Program) -> (Client, FakePeer) {
    let (program, mut desk) = program.with_extension("desk");
    let mut client = Client::of(program);
    let hooks = ["before_switch", "before_fork", "before_tree"];
    begins(&mut desk, "desk", [json!({"type": "subscribe", "intercept": hooks})]).await;
    client.hello().await;
    (client, desk)
}

/// Answers the next question and returns it.
async fn decide(desk: &mut FakePeer, answer: Value) -> Value {
    let question = desk.expect("event_intercept").await;
    desk.answer(&question, "event_intercept_response", answer).await;
    question
}

/// Sends a command of the client that the extension is asked about.
async fn asked(client: &mut Client, desk: &mut FakePeer, command: Value, answer: Value) -> (Value, Value) {
    tokio::join!(client.ask(command), decide(desk, answer))
}

fn block() -> Value {
    json!({"block": true, "reason": "the review is open"})
}

#[tokio::test(start_paused = true)]
async fn extension_blocks_changes_of_the_session() {
    let (mut client, mut desk) = begun(Program::new([])).await;
    client.prompt("1", "one").await;
    for command in ["new_session", "fork", "move_to"] {
        let (reply, _) = asked(&mut client, &mut desk, json!({"type": command}), block()).await;
        assert_eq!(
            (&reply["code"], &reply["error"]),
            (&json!("blocked"), &json!("blocked by desk: the review is open"))
        );
    }
    let (reply, _) = asked(&mut client, &mut desk, json!({"type": "new_session"}), json!({})).await;
    assert_eq!(reply["success"], true);
    // To name another open session opens none.
    let session = reply["data"]["session"].clone();
    client.ask(json!({"type": "switch_session", "session": session})).await;
    assert_snapshot!(end(client, desk).await);
}

/// Returns the entry with this text.
async fn entry(client: &mut Client, text: &str) -> Value {
    let tree = client.ask(json!({"type": "tree"})).await;
    let entries = tree["data"]["entries"].as_array().unwrap();
    entries.iter().find(|entry| entry["text"] == text).unwrap()["id"].clone()
}

#[tokio::test(start_paused = true)]
async fn branch_that_is_left_is_summarized_by_an_extension_or_the_model() {
    let (mut client, mut desk) = begun(Program::new([
        Answer::Say("A lock."),
        Answer::Say("It deadlocks."),
        Answer::Say("A channel fills up."),
    ]))
    .await;
    client.prompt("1", "how?").await;
    let first = entry(&mut client, "A lock.").await;
    client.prompt("2", "try").await;
    let summary = json!({"summary": "A lock deadlocks."});
    let wish = json!({"type": "move_to", "entry": first, "label": "lock"});
    let (moved, question) = asked(&mut client, &mut desk, wish, summary).await;
    let texts: Vec<&Value> =
        question["entries"].as_array().unwrap().iter().map(|entry| &entry["text"]).collect();
    assert_eq!(texts, ["[user]\ntry", "[assistant]\nIt deadlocks."]);
    assert_eq!(moved["data"]["entry"], first);
    let wish = json!({"type": "move_to", "summarize": true, "instructions": "briefly"});
    let (_, question) = asked(&mut client, &mut desk, wish, json!({})).await;
    assert_eq!((&question["summarize"], &question["instructions"]), (&json!(true), &json!("briefly")));
    client.ask(json!({"type": "get_messages"})).await;
    let (reply, _) =
        asked(&mut client, &mut desk, json!({"type": "move_to", "label": "none"}), json!({})).await;
    assert_eq!(reply["code"], "bad_request");
    client.ask(json!({"type": "tree"})).await;
    assert_snapshot!(end(client, desk).await);
}

#[tokio::test(start_paused = true)]
async fn abort_stops_the_summary_and_the_session_stays() {
    let (mut client, mut desk) =
        begun(Program::new([Answer::Say("A lock."), Answer::Takes(60, "late")])).await;
    client.prompt("1", "how?").await;
    client.send(json!({"id": "2", "type": "move_to", "summarize": true})).await;
    decide(&mut desk, json!({})).await;
    client.ask(json!({"type": "abort"})).await;
    assert_eq!(client.reply("2").await["code"], "aborted");
    let messages = client.ask(json!({"type": "get_messages"})).await;
    assert_eq!(messages["data"]["messages"].as_array().map(Vec::len), Some(2));
    end(client, desk).await;
}

/// Sends a call under a question, and returns its result.
async fn call_under(desk: &mut FakePeer, question: &Value, call: &str) -> Value {
    let under = question["id"].clone();
    desk.send(json!({"type": "host_call", "id": "c", "call": call, "args": {}, "under": under})).await;
    desk.expect("host_result").await
}

#[tokio::test(start_paused = true)]
async fn extension_may_send_the_command_that_it_is_asked_about() {
    let (mut client, mut desk) = begun(Program::new([])).await;
    client.prompt("1", "one").await;
    for command in ["new_session", "fork"] {
        client.send(json!({"id": "2", "type": command})).await;
        let question = desk.expect("event_intercept").await;
        // It is not asked about its own command.
        let result = call_under(&mut desk, &question, command).await;
        assert!(result["value"]["session"].is_string(), "{result}");
        desk.answer(&question, "event_intercept_response", block()).await;
        assert_eq!(client.reply("2").await["code"], "blocked");
    }
    client.send(json!({"id": "3", "type": "move_to"})).await;
    let question = desk.expect("event_intercept").await;
    assert_eq!(call_under(&mut desk, &question, "move_to").await["code"], "busy");
    desk.answer(&question, "event_intercept_response", json!({})).await;
    assert_eq!(client.reply("3").await["success"], true);
    end(client, desk).await;
}

// In real time: the disk does not use the virtual clock.
#[tokio::test]
async fn answer_of_the_person_overtakes_commands_for_the_session_that_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = Client::of(Program::new([]).recording(dir.path()));
    let old = client.hello().await;
    client.prompt("1", "remember").await;
    client.end().await.0.unwrap();
    let (mut client, mut desk) = begun(Program::new([]).recording(dir.path())).await;
    client.ask(json!({"type": "hello", "ui": true})).await;
    client.send(json!({"id": "2", "type": "switch_session", "session": old})).await;
    client.send(json!({"id": "3", "type": "get_state"})).await;
    let question = desk.expect("event_intercept").await;
    assert_eq!((&question["reason"], &question["session"]), (&json!("resume"), &json!(old)));
    let args = json!({"title": "Leave?", "message": "The review is open."});
    desk.send(
        json!({"type": "host_call", "id": "c", "call": "confirm", "args": args, "under": question["id"]}),
    )
    .await;
    let request = client.until("ui_request").await["id"].clone();
    client.send(json!({"id": "4", "type": "ui_response", "request": request, "confirmed": true})).await;
    assert_eq!(client.reply("4").await["success"], true);
    assert_eq!(desk.expect("host_result").await["value"]["confirmed"], true);
    desk.answer(&question, "event_intercept_response", json!({})).await;
    assert_eq!(client.reply("2").await["data"]["session"], old);
    assert_eq!(client.reply("3").await["data"]["session"], old);
    end(client, desk).await;
}
