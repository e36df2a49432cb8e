//! Tests of `BeforeAssistantMessage`: the text that the user sees, including deltas, and the text in the transcript.

use async_trait::async_trait;
use haft_core::hooks::{BeforeAssistantMessage, MessageDecision};
use haft_core::model::{ModelEvent, ModelResponse};
use haft_protocol::message::{AssistantBlock, StopCause};
use tokio_util::sync::CancellationToken;

use crate::fake::{Answer, Script, run, says, transcript};

struct Redact;

#[async_trait]
impl BeforeAssistantMessage for Redact {
    async fn before_assistant_message(&self, _: &CancellationToken, text: &str) -> MessageDecision {
        match text.contains("SECRET") {
            true => MessageDecision::Replace { text: text.replace("SECRET", "[redacted]") },
            false => MessageDecision::Show,
        }
    }
}

struct Mute(bool);

#[async_trait]
impl BeforeAssistantMessage for Mute {
    async fn before_assistant_message(&self, _: &CancellationToken, _: &str) -> MessageDecision {
        assert!(!self.0, "boom");
        MessageDecision::Suppress { reason: "quiet hours".into() }
    }

    fn name(&self) -> &str {
        "mute"
    }
}

fn seen(events: &[String]) -> Vec<&str> {
    let shown =
        |line: &&str| ["delta", "assistant ", "{\"type\":\"ext"].iter().any(|start| line.starts_with(start));
    events.iter().map(String::as_str).filter(shown).collect()
}

#[tokio::test]
async fn redaction_applies_to_deltas_and_message_but_not_transcript() {
    let agent = Script::new(vec![says("the key is SECRET")])
        .agent()
        .before_assistant_message(Redact)
        .build()
        .unwrap();
    let (events, _) = run(&agent).await;
    assert_eq!(seen(&events), ["delta the key is [redacted]", "assistant the key is [redacted]"]);
    assert!(!events.join("\n").contains("SECRET"));
    assert_eq!(transcript(&agent)[1], "assistant the key is SECRET ");
}

#[tokio::test]
async fn shows_message_that_no_hook_changes() {
    let agent = Script::new(vec![says("fine")]).agent().before_assistant_message(Redact).build().unwrap();
    assert_eq!(seen(&run(&agent).await.0), ["delta fine", "assistant fine"]);
}

#[tokio::test]
async fn suppressed_message_shows_its_reason() {
    let agent =
        Script::new(vec![says("hello")]).agent().before_assistant_message(Mute(false)).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert_eq!(
        seen(&events),
        [r#"{"type":"ext_notify","extension":"mute","level":"warn","message":"quiet hours"}"#]
    );
    assert_eq!((outcome, transcript(&agent)[1].as_str()), (Ok(()), "assistant hello "));
}

#[tokio::test]
async fn panicking_hook_suppresses_the_text() {
    let agent =
        Script::new(vec![says("SECRET")]).agent().before_assistant_message(Mute(true)).build().unwrap();
    let (events, _) = run(&agent).await;
    assert!(!events.join("\n").contains("SECRET"), "{events:#?}");
}

#[tokio::test]
async fn hides_thinking_while_an_interceptor_exists() {
    let blocks = vec![
        AssistantBlock::Thinking { text: "SECRET".into() },
        AssistantBlock::Text { text: "fine".into() },
    ];
    let done = ModelResponse::new(blocks, StopCause::End);
    let thinks = || Answer {
        items: vec![Ok(ModelEvent::Thinking("SECRET".into())), Ok(ModelEvent::Done(done.clone()))],
        hangs: false,
    };
    let agent = Script::new(vec![thinks()]).agent().before_assistant_message(Redact).build().unwrap();
    let mut shown = agent.prompt("go");
    while let Some(event) = shown.next().await {
        assert!(!serde_json::to_string(&event).unwrap().contains("SECRET"), "{event:?}");
    }
    let agent = Script::new(vec![thinks()]).agent().build().unwrap();
    assert!(run(&agent).await.0.contains(&r#"{"type":"thinking_delta","delta":"SECRET"}"#.to_owned()));
}
