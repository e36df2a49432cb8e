//! The state of a session, and its model and tools.

use haft_core::jobs::JobEnd;
use insta::assert_snapshot;
use serde_json::json;

use crate::client::Client;
use crate::played::Answer;
use crate::program::Program;

#[tokio::test(start_paused = true)]
async fn hello_and_ping_are_answered() {
    let mut client = Client::of(Program::new([]));
    client.ask(json!({"type": "ping"})).await;
    let about = json!({"name": "my-editor", "version": "1.2"});
    client.ask(json!({"type": "hello", "client": about, "token": "not asked for"})).await;
    // It may be said again, and `null` says nothing.
    client.ask(json!({"type": "hello", "client": null, "ui": null, "approve": null})).await;
    client.send_raw(r#"{"type":"ping"}"#).await;
    client.until("response").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn client_lists_and_selects_models() {
    let mut client = Client::of(Program::new([]));
    client.ask(json!({"type": "get_models"})).await;
    client.ask(json!({"type": "set_model", "model": "nine"})).await;
    client.ask(json!({"type": "set_model", "model": "played/two"})).await;
    client.ask(json!({"type": "get_models"})).await;
    client.ask(json!({"type": "set_thinking", "level": "high"})).await;
    client.ask(json!({"type": "get_state"})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn client_lists_and_selects_tools() {
    let answers = [Answer::Call("look", "{}"), Answer::Say("I cannot look.")];
    let mut client = Client::of(Program::new(answers));
    client.ask(json!({"type": "get_tools"})).await;
    client.ask(json!({"type": "set_tools", "tools": ["wait", "later"]})).await;
    client.prompt("1", "look").await;
    client.ask(json!({"type": "set_tools", "tools": []})).await;
    client.ask(json!({"type": "get_tools"})).await;
    client.ask(json!({"type": "set_tools", "tools": null})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn setup_changes_apply_from_the_next_step() {
    let program = Program::new([Answer::Call("wait", "{}")]);
    let gate = program.gate();
    let mut client = Client::of(program);
    client.send(json!({"id": "1", "type": "prompt", "message": "wait"})).await;
    client.until("tool_start").await;
    client.ask(json!({"type": "set_model", "model": "two"})).await;
    client.ask(json!({"type": "set_tools", "tools": ["look"]})).await;
    gate.notify_one();
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn current_model_is_found_by_its_reported_name() {
    let mut client = Client::of(Program::new([]));
    for model in ["one", "played/one"] {
        let reply = client.ask(json!({"type": "set_model", "model": model})).await;
        assert_eq!(reply["data"], json!({"provider": "played", "model": "one"}), "{reply}");
    }
}

#[tokio::test(start_paused = true)]
async fn client_lists_and_stops_jobs() {
    let program = Program::new([]);
    let agents = program.agents();
    let mut client = Client::of(program);
    client.ask(json!({"type": "list_jobs"})).await;
    let jobs = agents.lock().unwrap()[0].background_jobs().clone();
    let number = jobs.start("npm run dev", |job| async move {
        job.cancel_token().cancelled().await;
        JobEnd::new("stopped")
    });
    client.ask(json!({"type": "list_jobs"})).await;
    client.ask(json!({"type": "stop_job", "job": 1})).await;
    jobs.find(number.unwrap()).unwrap().wait_for_end().await;
    client.ask(json!({"type": "list_jobs"})).await;
    client.ask(json!({"type": "stop_job", "job": 2})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn jobs_end_with_their_session() {
    let program = Program::new([]);
    let agents = program.agents();
    let mut client = Client::of(program);
    let second = client.ask(json!({"type": "new_session"})).await["data"]["session"].clone();
    let jobs = agents.lock().unwrap()[1].background_jobs().clone();
    let started = jobs.start("npm run dev", |job| async move {
        job.cancel_token().cancelled().await;
        JobEnd::new("stopped")
    });
    assert_eq!(started, Ok(1));
    client.ask(json!({"type": "close_session", "session": second})).await;
    assert_eq!(jobs.find(1).unwrap().status().end.as_deref(), Some("stopped"));
    drop(client.end().await);
}
