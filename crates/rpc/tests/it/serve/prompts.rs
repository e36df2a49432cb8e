//! Prompts: their events, and the ways in which they end.

use haft_protocol::content::Image;
use haft_rpc::EndReason;
use insta::assert_snapshot;
use serde_json::json;

use crate::client::{Client, Drives};
use crate::played::Answer;
use crate::program::Program;

/// An image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Runs a prompt whose answer calls a tool.
pub(super) async fn with_a_tool(drives: Drives) -> String {
    let answers = [Answer::Call("look", r#"{"at":"a"}"#), Answer::Say("It is blue.")];
    let mut client = drives(Program::new(answers));
    client.ask(json!({"type": "hello", "client": {"name": "test"}})).await;
    client.prompt("1", "look at a").await;
    client.ask(json!({"type": "get_messages"})).await;
    client.ask(json!({"type": "get_state"})).await;
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), EndReason::Input);
    said
}

/// Returns the image.
pub(super) fn pixel() -> Image {
    Image { mime_type: "image/png".into(), data: PIXEL.into() }
}

#[tokio::test(start_paused = true)]
async fn prompt_runs_a_tool() {
    assert_snapshot!(with_a_tool(Client::of).await);
}

/// Sends valid and invalid images.
pub(super) async fn with_images(drives: Drives) -> String {
    let mut client = drives(Program::new([Answer::Say("A pixel.")]));
    let image = |data: &str| json!([{"mime_type": "image/jpeg", "data": data}]);
    client.send(json!({"id": "1", "type": "prompt", "message": "", "images": image(PIXEL)})).await;
    client.until("done").await;
    client.ask(json!({"type": "prompt", "message": "see", "images": image("no base64!")})).await;
    client.ask(json!({"type": "steer", "message": "see", "images": image("R0lG")})).await;
    client.ask(json!({"type": "follow_up", "message": "", "images": image("")})).await;
    client.ask(json!({"type": "prompt", "message": " \n"})).await;
    client.ask(json!({"type": "steer", "message": ""})).await;
    client.end().await.1
}

#[tokio::test(start_paused = true)]
async fn valid_images_are_sent_and_invalid_ones_rejected() {
    assert_snapshot!(with_images(Client::of).await);
}

#[tokio::test(start_paused = true)]
async fn prompts_expand_templates() {
    let mut client = Client::of(Program::new([]));
    client.prompt("1", "/review a.rs").await;
    client.prompt("2", "/review").await;
    client.prompt("3", "/srv/app is a directory").await;
    client.send(json!({"id": "4", "type": "prompt", "message": "/review a.rs", "plain": true})).await;
    client.until("done").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn failing_model_is_reported_and_the_session_continues() {
    let answers = [Answer::Hesitates("Well."), Answer::Fail("no such model"), Answer::Panic];
    let mut client = Client::of(Program::new(answers));
    client.prompt("1", "try").await;
    client.prompt("2", "try again").await;
    client.prompt("3", "and again").await;
    client.prompt("4", "once more").await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn discarded_turn_leaves_no_messages() {
    let mut client = Client::of(Program::new([Answer::Say("the secret is 7")]));
    client.prompt("1", "tell me").await;
    client.ask(json!({"type": "get_messages"})).await;
    assert_snapshot!(client.end().await.1);
}

#[tokio::test(start_paused = true)]
async fn conversation_is_compacted() {
    let long =
        "The parser reads each line twice, because the first reading finds the end of the quoted text only.";
    let answers = [Answer::Say(long), Answer::Say("Second."), Answer::Say("Two things were said.")];
    let mut client = Client::of(Program::new(answers));
    // There is nothing to sum up.
    client.ask(json!({"type": "compact"})).await;
    client.until("error").await;
    client.prompt("1", "one").await;
    client.prompt("2", "two").await;
    client.send(json!({"id": "3", "type": "compact", "instructions": "be brief"})).await;
    client.send(json!({"id": "4", "type": "prompt", "message": "three"})).await;
    client.until("done").await;
    client.ask(json!({"type": "tree"})).await;
    assert_snapshot!(client.end().await.1);
}
