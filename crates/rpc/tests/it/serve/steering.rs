//! Messages to an agent that works.

use insta::assert_snapshot;
use serde_json::json;

use crate::client::{Client, Drives};
use crate::extension::{answers, begins, decides};
use crate::played::Answer;
use crate::program::Program;

/// Sends messages to an agent that works.
pub(super) async fn steered(drives: Drives) -> String {
    let program = Program::new([Answer::Call("wait", "{}")]);
    let gate = program.gate();
    let mut client = drives(program);
    client.send(json!({"id": "1", "type": "prompt", "message": "wait for me"})).await;
    client.until("tool_start").await;
    client.ask(json!({"type": "steer", "message": "not so long"})).await;
    client.ask(json!({"type": "follow_up", "message": "then rest"})).await;
    client.ask(json!({"type": "get_state"})).await;
    gate.notify_one();
    client.until("done").await;
    client.ask(json!({"type": "wait_idle"})).await;
    client.end().await.1
}

#[tokio::test(start_paused = true)]
async fn steering_arrives_between_steps_and_at_the_end() {
    assert_snapshot!(steered(Client::of).await);
}

#[tokio::test(start_paused = true)]
async fn steering_while_idle_joins_the_next_prompt() {
    let mut client = Client::of(Program::new([]));
    client.ask(json!({"type": "steer", "message": "mind the gap"})).await;
    client.ask(json!({"type": "follow_up", "message": "then rest"})).await;
    client.ask(json!({"type": "interrupt"})).await;
    client.prompt("1", "go").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn steering_right_after_a_prompt_reaches_its_agent() {
    let program = Program::new([Answer::Call("wait", "{}")]);
    let gate = program.gate();
    let mut client = Client::of(program);
    client.send(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    client.send(json!({"id": "2", "type": "steer", "message": "gently"})).await;
    client.send(json!({"id": "3", "type": "interrupt", "hint": "enough"})).await;
    client.reply("3").await;
    gate.notify_one();
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn interrupt_skips_calls_that_have_not_begun() {
    let program = Program::new([Answer::Calls(vec![("wait", "{}"), ("look", r#"{"at":"b"}"#)])]);
    let gate = program.gate();
    let mut client = Client::of(program);
    client.send(json!({"id": "1", "type": "prompt", "message": "wait, then look"})).await;
    client.until("tool_start").await;
    client.ask(json!({"type": "interrupt", "hint": "what is left?"})).await;
    gate.notify_one();
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

/// Takes queued messages from a running and from an idle agent.
pub(super) async fn with_taken_messages(drives: Drives) -> String {
    let program = Program::new([Answer::Call("wait", "{}")]);
    let gate = program.gate();
    let mut client = drives(program);
    client.ask(json!({"type": "take_queued"})).await;
    client.ask(json!({"type": "steer", "message": "mind the gap"})).await;
    client.ask(json!({"type": "take_queued"})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "wait for me"})).await;
    client.until("tool_start").await;
    client.ask(json!({"type": "steer", "message": "not so long"})).await;
    client.ask(json!({"type": "follow_up", "message": "then rest"})).await;
    client.ask(json!({"type": "take_queued"})).await;
    client.ask(json!({"type": "get_state"})).await;
    gate.notify_one();
    client.until("done").await;
    client.ask(json!({"type": "wait_idle"})).await;
    client.end().await.1
}

#[tokio::test(start_paused = true)]
async fn taken_messages_are_not_delivered() {
    assert_snapshot!(with_taken_messages(Client::of).await);
}

/// Messages right after a prompt keep their order, although a hook reviews each of them.
#[tokio::test(start_paused = true)]
async fn reviewed_messages_keep_their_order() {
    let (program, mut peer) = Program::new([Answer::Call("wait", "{}")]).with_extension("quick");
    let gate = program.gate();
    let mut client = Client::of(program);
    let hooks = json!({"type": "subscribe", "intercept": ["input"]});
    begins(&mut peer, "quick", [hooks]).await;
    let extension = answers(peer, |frame| match frame["text"].as_str() {
        Some("ping") => decides(json!({"handled": true})),
        Some(text) => decides(json!({"text": format!("{text}!")})),
        None => vec![],
    });
    client.send(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    client.send(json!({"id": "2", "type": "steer", "message": "gently"})).await;
    client.send(json!({"id": "3", "type": "steer", "message": "ping"})).await;
    client.send(json!({"id": "4", "type": "steer", "message": "and slowly"})).await;
    client.reply("4").await;
    gate.notify_one();
    client.until("done").await;
    let (_, said) = client.end().await;
    extension.await.unwrap();
    assert_snapshot!(said);
}
