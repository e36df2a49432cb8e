//! Clients that read slowly, or not at all.

use std::fmt::Write as _;
use std::time::Duration;

use haft_protocol::thinking::ThinkingLevel;
use haft_rpc::{EndReason, timeouts};
use insta::assert_snapshot;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::client::{Client, narrow};
use crate::played::Answer;
use crate::program::Program;

/// The time for which the client does not read.
const PAUSE: Duration = Duration::from_secs(30);

/// The number of pieces of the answer.
const PIECES: usize = 5_000;

/// Merges equal lines.
fn folded(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines.chunk_by(|one, next| one == next).fold(String::new(), |mut text, alike| {
        let times = if alike.len() > 1 { format!("  × {}", alike.len()) } else { String::new() };
        // Only the beginning of a long line.
        let beginning: String = alike[0].chars().take(160).collect();
        writeln!(text, "{beginning}{times}").unwrap();
        text
    })
}

#[tokio::test(start_paused = true)]
async fn pausing_client_gets_event_gaps() {
    let program = Program::new([Answer::Pieces("word ", PIECES)]);
    let agents = program.agents();
    let mut client = Client::behind(1024, program, narrow);
    client.send(json!({"id": "1", "type": "prompt", "message": "talk"})).await;
    sleep(PAUSE).await;
    // The agent did not wait for the client.
    assert_eq!(agents.lock().unwrap()[0].messages().len(), 2);
    let (mut heard, mut lost, mut whole) = (0, 0, String::new());
    loop {
        let line = client.next().await.unwrap();
        match line["type"].as_str().unwrap() {
            "text_delta" => heard += 1,
            "event_gap" => lost += line["lost"].as_u64().unwrap(),
            "assistant_message" => whole = line["content"][0]["text"].as_str().unwrap().to_owned(),
            "done" => break,
            _ => {}
        }
    }
    assert_eq!((heard + lost, whole), (PIECES as u64, "word ".repeat(PIECES)));
    // From here on it misses nothing.
    client.prompt("2", "again").await;
    assert_snapshot!(folded(&client.end().await.1));
}

#[tokio::test(start_paused = true)]
async fn commands_wait_while_the_outbox_is_full() {
    let program = Program::new([Answer::Pieces("word ", 400)]);
    let agents = program.agents();
    let mut client = Client::behind(1024, program, narrow);
    client.silent = true;
    client.prompt("1", "talk").await;
    for _ in 0..100 {
        client.send(json!({"id": "2", "type": "get_messages"})).await;
    }
    client.send(json!({"id": "3", "type": "set_thinking", "level": "high"})).await;
    sleep(PAUSE).await;
    assert_eq!(agents.lock().unwrap()[0].thinking(), ThinkingLevel::Default);
    for _ in 0..100 {
        client.reply("2").await;
    }
    client.reply("3").await;
    assert_eq!(agents.lock().unwrap()[0].thinking(), ThinkingLevel::High);
    client.end().await.0.unwrap();
}

#[tokio::test(start_paused = true)]
async fn silent_client_does_not_delay_the_end() {
    let before = Handle::current().metrics().num_alive_tasks();
    let mut client = Client::behind(64, Program::new([Answer::Pieces("word ", 100)]), |_| {});
    client.send(json!({"id": "1", "type": "prompt", "message": "talk"})).await;
    sleep(PAUSE).await;
    client.cancel.cancel();
    let (begun, end) = (Instant::now(), client.ended().await);
    assert_eq!(
        (end.unwrap(), begun.elapsed().as_secs()),
        (EndReason::Cancelled, timeouts::LAST_WORDS.as_secs())
    );
    assert_eq!(Handle::current().metrics().num_alive_tasks(), before);
}
