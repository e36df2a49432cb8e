//! The end: of the input, by `shutdown`, by the program, and of the output.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use haft_core::hooks::CancellationToken;
use haft_rpc::{EndReason, ServeError, ServeOptions, serve};
use insta::assert_snapshot;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::runtime::Handle;

use crate::client::{Client, Drives};
use crate::played::Answer;
use crate::program::Program;

/// A client with two sessions, the first of which has a running tool and a waiting prompt.
async fn busy(drives: Drives) -> Client {
    let mut client = drives(Program::new([Answer::Call("wait", "{}")]));
    client.hello().await;
    client.ask(json!({"type": "new_session"})).await;
    client.send(json!({"id": "1", "type": "prompt", "message": "wait"})).await;
    client.until("tool_start").await;
    client.send(json!({"id": "2", "type": "prompt", "message": "and on"})).await;
    client
}

/// Returns the number of tasks.
fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Ends the process while it works.
pub(super) async fn shut_down(drives: Drives) -> String {
    let before = tasks();
    let mut client = busy(drives).await;
    client.send(json!({"id": "3", "type": "shutdown"})).await;
    client.send(json!({"id": "4", "type": "ping"})).await;
    client.send(json!({"id": "5", "type": "prompt", "message": "too late"})).await;
    let (end, said) = client.heard().await;
    assert_eq!((end.unwrap(), tasks()), (EndReason::Requested, before));
    said
}

#[tokio::test(start_paused = true)]
async fn shutdown_is_answered_first_and_stops_all_work() {
    assert_snapshot!(shut_down(Client::of).await);
}

#[tokio::test(start_paused = true)]
async fn pending_work_does_not_delay_the_end() {
    let before = tasks();
    let mut client = Client::of(Program::new([]).asleep());
    client.hello().await;
    client.send(json!({"id": "1", "type": "get_models"})).await;
    client.send(json!({"id": "2", "type": "set_model", "model": "asleep"})).await;
    client.send(json!({"id": "3", "type": "shutdown"})).await;
    for id in ["1", "2"] {
        assert_eq!(client.reply(id).await["code"], "shutdown");
    }
    assert_eq!((client.heard().await.0.unwrap(), tasks()), (EndReason::Requested, before));
}

#[tokio::test(start_paused = true)]
async fn program_can_end_serving() {
    let before = tasks();
    let client = busy(Client::of).await;
    client.cancel.cancel();
    let (end, said) = client.heard().await;
    assert_eq!((end.unwrap(), tasks()), (EndReason::Cancelled, before));
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn each_session_finishes_at_the_end_of_input() {
    let before = tasks();
    let program = Program::new([Answer::Call("wait", "{}")]);
    let gate = program.gate();
    let mut client = Client::of(program);
    client.hello().await;
    let other = client.ask(json!({"type": "new_session"})).await["data"]["session"].clone();
    client.send(json!({"id": "1", "type": "prompt", "message": "wait"})).await;
    client.until("tool_start").await;
    client.send(json!({"id": "2", "type": "prompt", "message": "say 2", "session": other})).await;
    client.send(json!({"id": "3", "type": "prompt", "message": "say 3"})).await;
    client.stop_speaking();
    client.until("session_closed").await;
    gate.notify_one();
    let (end, said) = client.heard().await;
    assert_eq!((end.unwrap(), tasks()), (EndReason::Input, before));
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn no_reply_follows_the_last_line_of_a_session() {
    let mut client = Client::of(Program::new([]));
    client.hello().await;
    for (id, command) in ["fork", "tree", "list_sessions", "new_session", "list_commands"].iter().enumerate()
    {
        client.send(json!({"id": id.to_string(), "type": command})).await;
    }
    let (end, said) = client.end().await;
    assert_eq!(end.unwrap(), EndReason::Input);
    let at = |text: &str| said.find(text).unwrap_or_else(|| panic!("no {text} in {said}"));
    let ends: Vec<usize> = said.match_indices("session_closed").map(|(at, _)| at).collect();
    assert_eq!(ends.len(), 3, "{said}");
    // What is about the process comes before the end of any session, what is about one before its own.
    for command in ["fork", "list_sessions", "new_session"] {
        assert!(at(&format!(r#""command":"{command}""#)) < ends[0], "{command}: {said}");
    }
    let own = at(r#"{"type":"session_closed","reason":"shutdown","session":"session-1"}"#);
    for command in ["tree", "list_commands"] {
        assert!(at(&format!(r#""command":"{command}""#)) < own, "{command}: {said}");
    }
}

#[tokio::test(start_paused = true)]
async fn program_can_end_serving_after_the_end_of_input() {
    let mut client = busy(Client::of).await;
    client.stop_speaking();
    client.all_there_is().await;
    client.cancel.cancel();
    let (end, said) = client.heard().await;
    assert_eq!(end.unwrap(), EndReason::Cancelled);
    assert_snapshot!(said);
}

#[tokio::test(start_paused = true)]
async fn lost_client_ends_serving() {
    let before = tasks();
    let client = busy(Client::of).await;
    assert_eq!(client.leave().await.unwrap(), EndReason::Gone);
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn client_that_stops_reading_ends_serving() {
    let before = tasks();
    let mut client = Client::behind(64, Program::new([Answer::Pieces("piece ", 10_000)]), |_| {});
    client.send(json!({"id": "1", "type": "prompt", "message": "go"})).await;
    client.until("text_delta").await;
    client.stop_reading();
    assert_eq!(client.ended().await.unwrap(), EndReason::Gone);
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn client_leaving_during_the_end_changes_nothing() {
    let before = tasks();
    let mut client = busy(Client::of).await;
    client.cancel.cancel();
    client.stop_reading();
    assert_eq!(client.ended().await.unwrap(), EndReason::Cancelled);
    let mut client = busy(Client::of).await;
    client.send(json!({"id": "3", "type": "shutdown"})).await;
    assert_eq!(client.leave().await.unwrap(), EndReason::Requested);
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn serving_requires_a_first_session() {
    let mut client = Client::of(Program::new([]).opening(0));
    assert_eq!(client.next().await, None);
    assert!(matches!(client.ended().await, Err(ServeError::First(_))));
}

/// An input that fails.
struct Breaks;

impl AsyncRead for Breaks {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Err(io::Error::other("torn off")))
    }
}

#[tokio::test(start_paused = true)]
async fn broken_input_finishes_accepted_commands() {
    let input = &b"{\"type\":\"prompt\",\"message\":\"go\"}\n"[..];
    let (cancel, program, mut output) = (CancellationToken::new(), Program::new([]), Vec::new());
    let options = ServeOptions::new("1.0.0");
    let served = serve(&cancel, Arc::new(program), input.chain(Breaks), &mut output, options).await;
    assert!(matches!(served, Err(ServeError::Input(_))));
    let said = String::from_utf8(output).unwrap();
    assert!(said.contains(r#"{"type":"done","#), "{said}");
}

#[tokio::test(start_paused = true)]
async fn broken_input_still_delivers_to_a_slow_client() {
    let input = &b"{\"type\":\"prompt\",\"message\":\"go\"}\n"[..];
    let (output, mut reader) = tokio::io::duplex(16);
    let (cancel, program, options) = (CancellationToken::new(), Program::new([]), ServeOptions::new("1.0.0"));
    let served = serve(&cancel, Arc::new(program), input.chain(Breaks), output, options);
    let mut said = String::new();
    let (served, heard) = tokio::join!(served, reader.read_to_string(&mut said));
    assert!(matches!(served, Err(ServeError::Input(_))) && heard.is_ok());
    assert!(said.contains(r#"{"type":"session_closed","#) && said.ends_with('\n'), "{said}");
}
