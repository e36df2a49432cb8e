//! Questions to the person: before tools run, and if a gate keeps failing.

use std::time::Duration;

use haft_rpc::EndReason;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::client::Client;
use crate::extension::{answers, begins};
use crate::played::Answer;
use crate::program::Program;

/// A client with an open question about a call of `look`, and the id of the question.
async fn asked() -> (Client, String) {
    let mut client = Client::of(Program::new([Answer::Call("look", r#"{"at":"a"}"#)]));
    client.ask(json!({"type": "hello", "approve": ["look"]})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "look"})).await;
    let question = client.until("ui_request").await;
    (client, question["id"].as_str().unwrap().to_owned())
}

fn answer(request: &str, mut fields: Value) -> Value {
    (fields["type"], fields["request"]) = ("ui_response".into(), request.into());
    fields
}

#[tokio::test(start_paused = true)]
async fn allowed_call_runs() {
    let (mut client, id) = asked().await;
    client.ask(answer(&id, json!({"value": "yes"}))).await;
    client.ask(answer(&id, json!({"confirmed": true}))).await;
    client.until("done").await;
    client.ask(answer(&id, json!({"confirmed": true}))).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn denied_call_does_not_run() {
    let (mut client, id) = asked().await;
    client.ask(answer(&id, json!({"confirmed": false}))).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn cancelled_question_denies_call() {
    let (mut client, id) = asked().await;
    client.ask(answer(&id, json!({"cancelled": true}))).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn question_about_change_has_its_diff() {
    let mut client = Client::of(Program::new([Answer::Call("look", r#"{"change":"src/a.rs"}"#)]));
    client.ask(json!({"type": "hello", "approve": ["look"]})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "look"})).await;
    let mut question = client.until("ui_request").await;
    question["session"] = "session-1".into();
    assert_snapshot!(question, @r#"{"type":"ui_request","id":"ui-1","kind":"approve","title":"Run look?","message":"","call":{"id":"call-1","name":"look","args":{"change":"src/a.rs"}},"preview":{"diff":{"path":"src/a.rs","unified":"--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-old\n+new\n","added":1,"removed":1}},"default":{"confirmed":false},"session":"session-1"}"#);
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn question_waits_without_time_limit() {
    let (mut client, id) = asked().await;
    tokio::time::sleep(Duration::from_secs(7 * 24 * 60 * 60)).await;
    client.ask(answer(&id, json!({"confirmed": true}))).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn question_ends_with_its_subject() {
    let (mut client, id) = asked().await;
    client.ask(json!({"type": "abort"})).await;
    client.until("done").await;
    client.ask(answer(&id, json!({"confirmed": true}))).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn client_without_input_gets_defaults() {
    let (client, _) = asked().await;
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), EndReason::Input);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_questions() {
    let (mut client, _) = asked().await;
    client.send(json!({"id": "2", "type": "shutdown"})).await;
    assert_snapshot!(client.heard().await.1);
}

#[tokio::test(start_paused = true)]
async fn client_without_person_denies_by_default() {
    let mut client = Client::of(Program::new([Answer::Call("look", "{}")]));
    client.ask(json!({"type": "hello", "approve": ["*"]})).await;
    client.ask(json!({"type": "hello", "ui": false})).await;
    client.prompt("1", "look").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn other_tools_run_without_approval() {
    let look = || Answer::Call("look", "{}");
    let mut client = Client::of(Program::new([look(), Answer::Say("Seen."), look()]));
    client.ask(json!({"type": "hello", "ui": true, "approve": ["wait"]})).await;
    client.prompt("1", "look").await;
    client.ask(json!({"type": "hello", "approve": ["*"]})).await;
    client.ask(json!({"type": "hello", "approve": []})).await;
    client.prompt("2", "look").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn approve_names_tool_in_any_case() {
    let mut client = Client::of(Program::new([Answer::Call("look", r#"{"at":"a"}"#)]));
    let greeted = client.ask(json!({"type": "hello", "approve": ["Look"]})).await;
    assert_eq!(greeted["success"], true, "{greeted}");
    client.send(json!({"id": "1", "type": "prompt", "message": "look"})).await;
    client.until("ui_request").await;
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn unknown_tool_in_approve_is_an_error() {
    let mut client = Client::of(Program::new([]));
    let greeted = client.ask(json!({"type": "hello", "approve": ["look", "Shell"]})).await;
    let error = r#"approve: unknown tool "Shell"; available tools: look, wait"#;
    assert_eq!((&greeted["code"], &greeted["error"]), (&json!("bad_request"), &json!(error)));
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn approve_waits_for_tools_of_extensions() {
    let (program, mut peer) = Program::new([]).with_extension("weather");
    let mut client = Client::of(program);
    client.send(json!({"id": "1", "type": "hello", "approve": ["Weather"]})).await;
    let schema = json!({"type": "object"});
    begins(&mut peer, "weather", [json!({"type": "register_tool", "name": "weather", "schema": schema})])
        .await;
    let greeted = client.reply("1").await;
    assert_eq!(greeted["success"], true, "{greeted}");
    drop(peer);
    drop(client);
}

/// Runs a lost gate that fails three times; then the person decides.
async fn failing(choice: Option<Value>) -> (EndReason, String) {
    let look = || Answer::Call("look", "{}");
    let (program, mut peer) = Program::new([look(), look(), look(), look()]).with_extension("guard");
    let mut client = Client::of(program);
    let gate = json!({"type": "subscribe", "intercept": [{"event": "tool_call", "role": "gate"}]});
    begins(&mut peer, "guard", [gate]).await;
    client.silent = true;
    client.ask(json!({"type": "hello", "ui": choice.is_some()})).await;
    drop(peer);
    client.send(json!({"id": "1", "type": "prompt", "message": "look"})).await;
    if let Some(choice) = choice {
        while client.until("tool_blocked").await["id"] != "call-1" {}
        client.until("turn_end").await;
        client.until("turn_end").await;
        client.silent = false;
        client.until("ui_request").await;
        client.ask(answer("ui-1", json!({"value": "whatever"}))).await;
        client.ask(answer("ui-1", choice)).await;
    }
    client.silent = false;
    client.until("done").await;
    let (end, said) = client.end().await;
    (end.unwrap(), said)
}

#[tokio::test(start_paused = true)]
async fn run_continues_without_failing_gate() {
    let (end, said) = failing(Some(json!({"value": "continue_without"}))).await;
    assert_eq!(end, EndReason::Input);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn failing_gate_restarts_on_request() {
    let (end, said) = failing(Some(json!({"value": "restart"}))).await;
    assert_eq!(end, EndReason::Input);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn failing_gate_stops_server_on_request() {
    let (end, said) = failing(Some(json!({"value": "stop"}))).await;
    assert_eq!(end, EndReason::Stopped);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn failing_gate_stops_server_without_a_person() {
    let (end, said) = failing(None).await;
    assert_eq!(end, EndReason::Stopped);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn failing_gate_ends_only_its_session() {
    let look = || Answer::Call("look", "{}");
    let (program, mut peer) = Program::new([look(), look(), look()]).with_extension("guard");
    let mut client = Client::of(program);
    let gate = json!({"type": "subscribe", "intercept": [{"event": "tool_call", "role": "gate"}]});
    begins(&mut peer, "guard", [gate]).await;
    client.ask(json!({"type": "hello"})).await;
    client.opened(json!({"type": "new_session"})).await;
    drop(peer);
    client.silent = true;
    client.prompt("1", "look").await;
    client.silent = false;
    client.send(json!({"id": "2", "type": "prompt", "message": "and here?"})).await;
    client.until("done").await;
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), EndReason::Input);
    assert_snapshot!(said);
}

/// The questions of an extension, by the id of the call.
fn questions() -> [Value; 5] {
    let call = |id: &str, call: &str, args: Value| json!({"type": "host_call", "id": id, "call": call, "args": args});
    [
        call("c1", "confirm", json!({"title": "Go?", "message": "far"})),
        call("c2", "select", json!({"title": "Which?", "options": ["a", "b"]})),
        call("c3", "input", json!({"title": "Name?", "placeholder": "a name"})),
        call("c4", "editor", json!({"title": "Text", "prefill": "one\ntwo"})),
        call("c5", "confirm", json!({"title": "Quick?", "timeout_ms": 2000})),
    ]
}

#[tokio::test(start_paused = true)]
async fn client_answers_questions_of_an_extension() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", []).await;
    client.ask(json!({"type": "hello", "ui": true})).await;
    let given = [
        Some(json!({"confirmed": true})),
        Some(json!({"value": "b"})),
        Some(json!({"cancelled": true})),
        Some(json!({"value": "one\ntwo\nthree"})),
        None,
    ];
    let mut values = Vec::new();
    for (question, given) in questions().into_iter().zip(given) {
        peer.send(question).await;
        let asked = client.until("ui_request").await;
        if let Some(given) = given {
            client.ask(answer(asked["id"].as_str().unwrap(), given)).await;
        }
        values.push(peer.expect("host_result").await["value"].to_string());
    }
    assert_snapshot!(values.join("\n"), @r#"
    {"confirmed":true,"why":"answered"}
    {"value":"b","why":"answered"}
    {"cancelled":true,"why":"cancelled"}
    {"value":"one\ntwo\nthree","why":"answered"}
    {"confirmed":false,"why":"timeout"}
    "#);
    let extension = answers(peer, |_| vec![]);
    let (_, said) = client.end().await;
    extension.await.unwrap();
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn questions_of_an_extension_need_a_client_that_answers() {
    let (program, mut peer) = Program::new([]).with_extension("todo");
    let mut client = Client::of(program);
    begins(&mut peer, "todo", []).await;
    client.ask(json!({"type": "hello"})).await;
    let mut values = Vec::new();
    for question in questions() {
        peer.send(question).await;
        values.push(peer.expect("host_result").await["value"].to_string());
    }
    assert_snapshot!(values.join("\n"), @r#"
    {"confirmed":false,"why":"no_person"}
    {"cancelled":true,"why":"no_person"}
    {"cancelled":true,"why":"no_person"}
    {"cancelled":true,"why":"no_person"}
    {"confirmed":false,"why":"no_person"}
    "#);
    let extension = answers(peer, |_| vec![]);
    client.end().await.0.unwrap();
    extension.await.unwrap();
}
