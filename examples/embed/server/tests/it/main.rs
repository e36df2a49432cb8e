//! The server as a browser sees it: real requests over the loopback address.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod browser;
mod client;

use std::sync::Arc;

use async_trait::async_trait;
use client::{serve, serve_with_person};
use futures::{StreamExt as _, stream};
use haft_core::hooks::CancellationToken;
use haft_core::model::{Model, ModelError, ModelEvent, ModelId, ModelRequest, ModelResponse, ModelStream};
use haft_core::protocol::RawJson;
use haft_core::protocol::content::{ToolCall, joined_text};
use haft_core::protocol::ids::ToolCallId;
use haft_core::protocol::message::Message;
use haft_core::tool::{Tool, ToolContext, ToolOutput, ToolSpec};
use haft_core::{Agent, AgentBuilder};

/// Calls `echo` with the prompt and repeats the result. Starts an answer and never ends it if told
/// to wait.
struct Parrot;

#[async_trait]
impl Model for Parrot {
    fn info(&self) -> ModelId {
        ModelId { provider: "zoo".into(), model: "parrot".into() }
    }

    async fn stream(&self, _: CancellationToken, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let answer = match request.messages.last() {
            Some(Message::User { content, .. }) if joined_text(content) == "wait" => {
                let begun = stream::iter([Ok(ModelEvent::Text("half an ans".into()))]);
                return Ok(begun.chain(stream::pending()).boxed());
            }
            Some(Message::User { content, .. }) => {
                let args = RawJson::from_value(&serde_json::json!({ "text": joined_text(content) })).unwrap();
                ModelResponse::with_tool_calls([ToolCall {
                    id: ToolCallId::new("t1"),
                    name: "echo".into(),
                    args,
                }])
            }
            Some(Message::Tool(result)) => {
                ModelResponse::text(format!("It says: {}", joined_text(&result.content)))
            }
            Some(Message::Assistant(_)) | None => ModelResponse::text("?"),
        };
        Ok(answer.into_stream())
    }
}

struct Echo;

#[async_trait]
impl Tool for Echo {
    fn spec(&self) -> Arc<ToolSpec> {
        let schema = serde_json::json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        Arc::new(ToolSpec::new("echo", "Says it again.").with_schema(schema.into()))
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        ToolOutput::text(call.args.read::<serde_json::Value>().unwrap()["text"].as_str().unwrap())
    }
}

/// Creates the agents of the tests.
fn agent() -> Result<AgentBuilder, String> {
    Ok(Agent::builder(Parrot).tool(Echo))
}

#[tokio::test]
async fn turn_with_a_tool_call_streams_events() {
    let client = serve(agent).await;
    let chat = client.begin().await;
    let mut events = client.events(&chat, None).await;
    client.say(&chat, "hello").await;
    assert_eq!(
        events.until_done().await,
        [
            "user_message hello",
            "tool_call echo {\"text\":\"hello\"}",
            "tool_result hello",
            "text_delta It says: hello",
            "assistant_message It says: hello",
            "done"
        ]
    );
    // The next prompt continues in the same stream.
    client.say(&chat, "again").await;
    assert_eq!(events.until_done().await.first().unwrap(), "user_message again");
}

#[tokio::test]
async fn person_decides_about_a_call() {
    let client = serve_with_person(agent, |call| call.name == "echo").await;
    let chat = client.begin().await;
    let decide = async |allowed: bool| {
        let decision = format!(r#"{{"id": "t1", "allowed": {allowed}}}"#);
        client.post(&format!("/chats/{chat}/decide"), Some(&decision)).await
    };
    let mut events = client.events(&chat, None).await;
    for (allowed, result) in [(true, "tool_result hello"), (false, "the person denied the call")] {
        client.say(&chat, "hello").await;
        while events.next().await != r#"question echo {"text":"hello"}"# {}
        assert_eq!(decide(allowed).await, 204);
        assert_eq!(decide(allowed).await, 410, "one decision counts");
        let rest = events.until_done().await;
        assert!(rest.contains(&format!("decision {allowed}")), "{rest:?}");
        assert!(rest.iter().any(|line| line.contains(result)), "{rest:?}");
    }
}

#[tokio::test]
async fn question_of_an_aborted_run_is_over() {
    let client = serve_with_person(agent, |_| true).await;
    let chat = client.begin().await;
    let mut events = client.events(&chat, None).await;
    client.say(&chat, "hello").await;
    while !events.next().await.starts_with("question") {}
    assert_eq!(client.post(&format!("/chats/{chat}/abort"), None).await, 204);
    events.until_done().await;
    let decision = r#"{"id": "t1", "allowed": true}"#;
    assert_eq!(client.post(&format!("/chats/{chat}/decide"), Some(decision)).await, 410);
}

#[tokio::test]
async fn aborted_turn_keeps_partial_answer() {
    let client = serve(agent).await;
    let chat = client.begin().await;
    let mut events = client.events(&chat, None).await;
    client.say(&chat, "wait").await;
    assert_eq!(events.next().await, "user_message wait");
    assert_eq!(events.next().await, "text_delta half an ans");
    client.post(&format!("/chats/{chat}/abort"), None).await;
    assert_eq!(events.until_done().await, ["assistant_message half an ans", "turn_end aborted", "done"]);
    // The chat continues.
    client.say(&chat, "hello").await;
    assert_eq!(events.until_done().await.last().unwrap(), "done");
}

/// Two pages of one chat see the same events, and a page of another chat sees none of them, while
/// both work.
#[tokio::test]
async fn browsers_of_one_chat_see_the_same_events() {
    let client = serve(agent).await;
    let (one, other) = (client.begin().await, client.begin().await);
    let (mut first, mut second) = (client.events(&one, None).await, client.events(&one, None).await);
    let mut apart = client.events(&other, None).await;
    client.say(&one, "wait").await;
    client.say(&other, "hello").await;
    let of_other = apart.until_done().await;
    assert_eq!(of_other.first().unwrap(), "user_message hello");
    assert!(!of_other.iter().any(|line| line.contains("wait")), "{of_other:?}");
    client.post(&format!("/chats/{one}/abort"), None).await;
    let seen = first.until_done().await;
    assert_eq!(seen, second.until_done().await);
    assert_eq!(seen.last().unwrap(), "done");
}

/// A browser that lost its connection sends the id of its last event.
#[tokio::test]
async fn late_browser_reads_all_and_reconnected_browser_the_rest() {
    let client = serve(agent).await;
    let chat = client.begin().await;
    client.say(&chat, "hello").await;
    let whole = client.events(&chat, None).await.until_done().await;
    assert_eq!(whole.first().unwrap(), "user_message hello");
    let mut events = client.events(&chat, None).await;
    events.next().await;
    let last = events.last_id.clone();
    drop(events);
    assert_eq!(client.events(&chat, Some(&last)).await.until_done().await, whole[1..]);
}

/// A message to a working agent steers it, and is not a second prompt.
#[tokio::test]
async fn message_to_a_working_agent_steers_it() {
    let client = serve(agent).await;
    let chat = client.begin().await;
    let mut events = client.events(&chat, None).await;
    client.say(&chat, "wait").await;
    assert_eq!(events.next().await, "user_message wait");
    client.say(&chat, "hello").await;
    while events.next().await != "queue_update hello" {}
    assert_eq!(client.post(&format!("/chats/{chat}/say"), Some(r#"{"text": " "}"#)).await, 422);
    client.post(&format!("/chats/{chat}/abort"), None).await;
    events.until_done().await;
}

#[tokio::test]
async fn requests_from_other_origins_are_rejected() {
    let client = serve(agent).await;
    // This includes pages of other programs on this machine.
    let elsewhere = ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"];
    let elsewhere = elsewhere.map(|origin| ("origin", origin)).into_iter().chain([("host", "evil.example")]);
    for (header, value) in elsewhere {
        assert_eq!(client.get("/", &[(header, value)]).await.status(), 403, "{header}: {value}");
    }
    let own = [("host", "localhost:1"), ("origin", "http://localhost:1")];
    assert_eq!(client.get("/", &own).await.status(), 200);
    assert_eq!(client.get("/", &own[..1]).await.status(), 200);
    assert_eq!(client.get("/chats/0123/events", &[]).await.status(), 404);
    assert_eq!(client.post("/chats/0123/say", Some(r#"{"text": "hello"}"#)).await, 404);
    // A form of another site cannot send a message, because it cannot send JSON.
    let chat = client.begin().await;
    assert_eq!(client.post_text(&format!("/chats/{chat}/say"), r#"{"text": "hello"}"#).await, 415);
}
