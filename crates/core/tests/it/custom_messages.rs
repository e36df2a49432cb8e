//! Tests of custom messages of extensions: their way into the session, and the runs for them.

use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use futures::StreamExt;
use haft_core::hooks::{AgentStart, AgentStartAdditions, BeforeAgentStart};
use haft_core::model::{ModelError, ModelErrorKind};
use haft_core::session::entry::{CustomMessage, EntryBody};
use haft_core::tool::ToolOutput;
use haft_core::{AddMessageError, Agent, MessageDelivery, QueueDelivery, QueueError};
use haft_protocol::RawJson;
use haft_protocol::content::{ContentBlock, joined_text};
use haft_protocol::event::AgentEvent;
use tokio_util::sync::CancellationToken;

use crate::fake::{Answer, Script, call, calls, line, says, tool, transcript, whenever};

fn message(text: &str) -> CustomMessage {
    CustomMessage::new("clock".to_owned(), "reminder".to_owned(), vec![ContentBlock::text(text)])
        .with_details(RawJson::parse(r#"{"hour":12}"#).unwrap())
}

/// Returns the custom messages in the session, as texts.
fn recorded(agent: &Agent) -> Vec<String> {
    let branch = agent.session().branch();
    let custom = branch.iter().filter_map(|entry| match &entry.body {
        EntryBody::CustomMessage(message) => {
            let CustomMessage { owner, kind, content, details, .. } = message;
            let details = details.as_ref().map(RawJson::as_str).unwrap_or_default();
            Some(format!("{owner} {kind} {} {details}", content[0].as_text().unwrap()))
        }
        _ => None,
    });
    custom.collect()
}

#[tokio::test]
async fn message_to_an_idle_agent_is_recorded_and_waits_for_an_answer() {
    let script = Script::new(vec![says("I see.")]);
    let agent = script.agent().build().unwrap();
    assert!(!agent.has_unanswered_message());
    let delivered = agent.add_message(message("it is noon")).unwrap();
    let MessageDelivery::Added { entry, event } = delivered else { panic!("{delivered:?}") };
    assert_eq!(agent.session().leaf(), Some(entry));
    let event = line(&event);
    let begins = r#"{"type":"custom_message","owner":"clock","kind":"reminder","content":[{"type":"text","text":"it is noon"}],"display":true,"details":{"hour":12},"#;
    assert!(event.starts_with(begins), "{event}");
    assert_eq!(recorded(&agent), [r#"clock reminder it is noon {"hour":12}"#]);
    assert!(agent.has_unanswered_message());

    let events: Vec<String> = agent.resume().map(|event| line(&event)).collect().await;
    assert!(events.contains(&"assistant I see.".to_owned()), "{events:?}");
    assert_eq!(transcript(&agent), ["user it is noon", "assistant I see. "]);
    assert!(!agent.has_unanswered_message());
}

#[tokio::test]
async fn message_to_a_working_agent_reaches_the_next_request() {
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")]), says("ok")]);
    let slot: Arc<OnceLock<Agent>> = Arc::default();
    let (inside, delivered) = (slot.clone(), Arc::new(Mutex::new(None)));
    let log = delivered.clone();
    let act = move |_: &str| {
        let agent: &Agent = inside.get().unwrap();
        *log.lock().unwrap() = Some(agent.add_message(message("it is noon")).unwrap());
        // The person takes back only messages of the person.
        let _ = agent.steer("not there").unwrap();
        assert_eq!(agent.take_queued().steering, ["not there".into()]);
        ToolOutput::text("done")
    };
    let agent = script.agent().tool(tool("echo", act)).build().unwrap();
    slot.set(agent.clone()).unwrap();
    let events: Vec<String> = agent.prompt("go").map(|event| line(&event)).collect().await;
    assert_eq!(*delivered.lock().unwrap(), Some(MessageDelivery::Queued(QueueDelivery::Running)));
    let custom: Vec<_> = events.iter().filter(|line| line.contains("custom_message")).collect();
    assert_eq!(custom.len(), 1, "{events:?}");
    // The lists of the queue have the messages of the person.
    assert!(!events.iter().any(|line| line.contains("queue_update") && line.contains("noon")), "{events:?}");
    let expect = ["user go", "assistant  echo{}", "tool t1 done", "user it is noon", "assistant ok "];
    assert_eq!(transcript(&agent), expect);
    assert_eq!(recorded(&agent), [r#"clock reminder it is noon {"hour":12}"#]);
    // Another reader of the session sees the same conversation.
    agent.reload().unwrap();
    assert_eq!(transcript(&agent), expect);
}

#[tokio::test]
async fn queued_message_joins_the_next_prompt() {
    let script = Script::new(vec![says("one"), says("two")]);
    let agent = script.agent().build().unwrap();
    let _ = agent.next_turn(message("first")).unwrap();
    assert!(!agent.has_unanswered_message());
    assert_eq!(recorded(&agent), [] as [String; 0]);
    agent.prompt("go").finish().await.unwrap();
    assert_eq!(transcript(&agent), ["user first", "user go", "assistant one "]);
    let _ = agent.follow_up(message("then")).unwrap();
    assert!(agent.has_unanswered_message());
    agent.resume().finish().await.unwrap();
    assert_eq!(transcript(&agent)[3..], ["user then", "assistant two "]);
    assert_eq!(recorded(&agent).len(), 2);
}

#[tokio::test]
async fn message_without_content_is_refused() {
    let agent = Script::new(Vec::new()).agent().build().unwrap();
    let refused = agent.add_message(message(" ")).unwrap_err();
    assert!(matches!(refused, AddMessageError::Queue(QueueError::Empty)), "{refused:?}");
    assert_eq!(agent.session().leaf(), None);
}

#[tokio::test]
async fn message_during_a_compaction_waits_for_the_next_run() {
    let script = Script::new(vec![says("one"), says("two"), says("a summary"), says("three")]);
    let agent = whenever(script.agent(), |agent, event| {
        if matches!(event, AgentEvent::CompactionStart { .. }) {
            let delivered = agent.add_message(message("it is noon"));
            assert_eq!(delivered.unwrap(), MessageDelivery::Queued(QueueDelivery::Idle));
        }
    });
    agent.prompt("go ".repeat(50)).finish().await.unwrap();
    agent.prompt("more").finish().await.unwrap();
    agent.compact(CancellationToken::new(), None).await.unwrap();
    assert_eq!(recorded(&agent), [] as [String; 0]);
    agent.resume().finish().await.unwrap();
    assert_eq!(recorded(&agent), [r#"clock reminder it is noon {"hour":12}"#]);
}

/// Adds a message about each prompt.
struct Reminder(&'static str);

#[async_trait]
impl BeforeAgentStart for Reminder {
    async fn before_agent_start(&self, _: &CancellationToken, start: &AgentStart) -> AgentStartAdditions {
        message(&format!("{} for {:?}", self.0, joined_text(&start.prompt))).into()
    }
}

#[tokio::test]
async fn messages_of_hooks_follow_the_prompt_once() {
    let failure = ModelError::new(ModelErrorKind::Rejected, "no");
    let fails = Answer { items: vec![Err(failure)], hangs: false };
    let script = Script::new(vec![fails, calls(vec![call("t1", "echo", "{}")]), says("ok"), says("again")]);
    let slot: Arc<OnceLock<Agent>> = Arc::default();
    let inside = slot.clone();
    let steer = move |_: &str| {
        let _ = inside.get().unwrap().steer("wait").unwrap();
        ToolOutput::text("done")
    };
    let agent = script.agent().before_agent_start(Reminder("one")).before_agent_start(Reminder("two"));
    let agent = agent.tool(tool("echo", steer)).build().unwrap();
    slot.set(agent.clone()).unwrap();
    let events: Vec<String> = agent.prompt("go").map(|event| line(&event)).collect().await;
    let at = |part: &str| events.iter().position(|line| line.contains(part)).unwrap();
    assert!(at("user go") < at("one for") && at("two for") < at("model_request"), "{events:?}");
    let first = ["user go", "user one for \"go\"", "user two for \"go\""];
    assert_eq!(script.requests.lock().unwrap()[0].messages.len(), first.len());
    assert_eq!(transcript(&agent)[..3], first);
    // A run that goes on with the prompt, and a message on the way, add nothing.
    agent.resume().finish().await.unwrap();
    let expect = ["assistant  echo{}", "tool t1 done", "user wait", "assistant ok "];
    assert_eq!(transcript(&agent)[..7], [&first[..], &expect].concat());
    // A run for a queued message is a new one.
    let _ = agent.follow_up("next").unwrap();
    agent.resume().finish().await.unwrap();
    let expect = ["user next", "user one for \"next\"", "user two for \"next\"", "assistant again "];
    assert_eq!(transcript(&agent)[7..], expect);
    assert_eq!(recorded(&agent).len(), 4);
}
