//! Prompts, and what is said meanwhile.

use std::sync::Arc;

use haft_rpc::End;
use insta::assert_snapshot;
use serde_json::json;
use tokio::sync::Notify;

use crate::client::Client;
use crate::program::{Answer, Program};

#[tokio::test(start_paused = true)]
async fn a_prompt_with_a_tool() {
    let answers = [Answer::Call("look", r#"{"at":"a"}"#), Answer::Say("It is blue.")];
    let mut client = Client::of(Program::new(answers));
    client.ask(json!({"type": "hello", "client": {"name": "test"}})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "look at a"})).await;
    client.until("done").await;
    client.ask(json!({"type": "get_messages"})).await;
    client.ask(json!({"type": "get_state"})).await;
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), End::Input);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_at_the_end_of_the_input_is_finished() {
    let gate = Arc::new(Notify::new());
    let mut client = Client::of(Program::new([Answer::Held("I ", Arc::clone(&gate), "am done.")]));
    client.send(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    client.send(json!({"id": "2", "type": "prompt", "message": "and on"})).await;
    client.until("text_delta").await;
    gate.notify_one();
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), End::Input);
    assert_snapshot!(said);
}
