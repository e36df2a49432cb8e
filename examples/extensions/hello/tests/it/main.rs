//! Both commands, through the harness.

use haft_example_hello::extension;
use haft_sdk::testing::Harness;
use haft_sdk::{NoteLevel, Response};

#[tokio::test]
async fn hello_greets_the_named_person() {
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.command("hello", "").await, Response::prompt("Greet me in one short sentence."));
    assert_eq!(harness.command("hello", "Ada").await, Response::prompt("Greet Ada in one short sentence."));
}

#[tokio::test]
async fn summon_writes_into_the_editor() {
    let harness = Harness::start(extension()).await;
    assert_eq!(harness.command("summon", "Ada").await, Response::insert("@Ada, "));
    assert_eq!(harness.notes(), [(NoteLevel::Success, "Ada is on the way".to_owned())]);
    assert_eq!(harness.command("summon", "").await, Response::error("whom? Type /summon NAME"));
}

#[tokio::test]
async fn session_answers_and_ends() {
    let harness = Harness::start(extension()).await;
    harness.command("hello", "").await;
    harness.shutdown().await;
    insta::assert_snapshot!(harness.transcript_since_ready(), @r#"
    → {"type":"command_invoked","id":"1","name":"hello"}
    ← {"type":"command_response","id":"1","action":"prompt","prompt":"Greet me in one short sentence."}
    → {"type":"shutdown"}
    ← {"type":"shutdown_ack"}
    "#);
}
