//! Tests of failures at critical moments: no message is lost, and servers accept the transcript.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use haft_core::compact::PendingCompaction;
use haft_core::error::TurnErrorKind;
use haft_core::hooks::{BeforeCompact, CancellationToken, CompactDecision};
use haft_core::model::{ModelError, ModelErrorKind, ModelEvent, ModelId, ThinkingLevel};
use haft_core::session::entry::{EntryBody, SessionEntry};
use haft_core::session::{NOT_RUN, Session};
use haft_core::tool::ToolOutput;
use haft_core::{Agent, Prompt};
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{AssistantBlock, AssistantMessage, Message, Rfc3339Time, StopCause};

use crate::fake::{Answer, Script, answer, call, calls, run, says, tool, transcript};

/// Creates a session below `dir` whose directory is missing while the entries that `gone` selects are written, counted
/// from 0.
fn session(dir: &Path, gone: impl Fn(usize) -> bool + Send + Sync + 'static) -> Session {
    let (here, away) = (dir.join("sessions"), dir.join("away"));
    std::fs::create_dir(&here).unwrap();
    let (entries, session) = (AtomicUsize::new(0), Session::create(&here, Path::new("/work")));
    session.with_clock(move || {
        let (is_gone, gone) = (away.exists(), gone(entries.fetch_add(1, Ordering::SeqCst)));
        if gone && !is_gone {
            std::fs::rename(&here, &away).unwrap();
            std::fs::write(&here, "").unwrap();
        } else if is_gone && !gone {
            std::fs::remove_file(&here).unwrap();
            std::fs::rename(&away, &here).unwrap();
        }
        Rfc3339Time("T".into())
    })
}

fn user(text: &str) -> Message {
    Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("T".into()) }
}

fn said(content: Vec<AssistantBlock>) -> Message {
    Message::Assistant(AssistantMessage::new(content, Rfc3339Time("T".into())))
}

/// Creates about 3,000 tokens of old conversation.
fn old() -> Vec<Message> {
    let text = "x".repeat(400);
    let pair = || [user(&text), said(vec![AssistantBlock::Text { text: text.clone() }])];
    (0..15).flat_map(|_| pair()).collect()
}

#[track_caller]
fn check_unsaved(outcome: Result<(), haft_core::error::TurnError>) {
    let kind = outcome.unwrap_err().kind;
    assert!(matches!(kind, TurnErrorKind::Session { .. }), "{kind:?}");
}

#[tokio::test]
async fn call_whose_start_cannot_be_saved_has_an_error_result() {
    let dir = tempfile::tempdir().unwrap();
    // Entry 3 is the start of the first call.
    let session = session(dir.path(), |entry| entry == 3);
    let two = || vec![call("t1", "echo", "{}"), call("t2", "echo", "{}")];
    let script = Script::new(vec![calls(two()), says("ok")]);
    let echo = tool("echo", |_| ToolOutput::text("done"));
    let agent = script.agent().session(session).tool(echo).build().unwrap();
    let (events, outcome) = run(&agent).await;
    check_unsaved(outcome);
    let results: Vec<_> = events.iter().filter(|line| line.starts_with("result")).collect();
    assert_eq!(results, [&format!("result t1 error {NOT_RUN}"), "result t2 done"]);
    run(&agent).await.1.unwrap();
    let results = [format!("tool t1 error {NOT_RUN}"), "tool t2 done".into()];
    assert_eq!(transcript(&agent)[2..], [&results[..], &["user go".into(), "assistant ok ".into()]].concat());
    assert_eq!(*agent.messages(), agent.session().context().messages);
}

#[tokio::test]
async fn queued_messages_survive_unsaved_settings() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script::new(vec![says("one"), says("two")]);
    let agent = script.agent().session(session(dir.path(), |entry| entry == 3)).build().unwrap();
    run(&agent).await.1.unwrap();
    agent.set_thinking(ThinkingLevel::High);
    let _ = agent.next_turn("first this").unwrap();
    let _ = agent.steer("and this").unwrap();
    check_unsaved(run(&agent).await.1);
    let waiting = agent.queued_messages();
    assert_eq!((waiting.next_turn, waiting.steering), (vec!["first this".into()], vec!["and this".into()]));
    run(&agent).await.1.unwrap();
    assert_eq!(transcript(&agent)[2..5], ["user first this", "user and this", "user go"]);
}

#[tokio::test]
async fn undelivered_messages_return_to_their_queue() {
    let dir = tempfile::tempdir().unwrap();
    let script = Script::new(vec![says("one")]);
    let gone = |entry: usize| entry == 3 || entry == 4;
    let agent = script.agent().session(session(dir.path(), gone)).build().unwrap();
    run(&agent).await.1.unwrap();
    for text in ["a", "b"] {
        let _ = agent.follow_up(text).unwrap();
    }
    check_unsaved(agent.resume().finish().await);
    let all = |texts: [&str; 2]| texts.map(Prompt::from).to_vec();
    assert_eq!(
        (agent.queued_messages().steering, agent.queued_messages().follow_up),
        (vec![], all(["a", "b"]))
    );
    let _ = agent.next_turn("c").unwrap();
    let _ = agent.steer("d").unwrap();
    check_unsaved(agent.resume().finish().await);
    let waiting = agent.queued_messages();
    assert_eq!((waiting.next_turn, waiting.steering), (vec!["c".into()], vec!["d".into()]));
    assert_eq!(waiting.follow_up, all(["a", "b"]));
}

/// Sets a window that the old conversation nearly fills.
fn small(mut script: Script) -> Script {
    script.window = Some(8_000);
    script
}

/// Creates an answer after which the context is full.
fn fills() -> Answer {
    let mut full = answer(Some("long"), vec![], StopCause::End);
    let Some(Ok(ModelEvent::Done(done))) = full.items.last_mut() else { panic!("an answer ends") };
    done.usage.input = 7_000;
    full
}

#[tokio::test]
async fn queued_messages_survive_cancelled_final_compaction() {
    for waits in [true, false] {
        let hangs = Answer { items: vec![], hangs: true };
        let script = small(Script::new(vec![fills(), hangs]));
        let agent = script.agent().messages(old()).build().unwrap();
        let mut work = agent.prompt("go");
        while !matches!(work.next().await, Some(AgentEvent::CompactionStart { .. })) {}
        if waits {
            let _ = agent.steer("now").unwrap();
            let _ = agent.follow_up("later").unwrap();
        }
        work.cancellation_token().cancel();
        let outcome = work.finish().await.map_err(|error| error.kind);
        let queued = agent.take_queued();
        assert_eq!(transcript(&agent).last().unwrap(), "assistant long ");
        if waits {
            assert_eq!(outcome, Err(TurnErrorKind::Aborted), "the reported delivery changed");
            assert_eq!((queued.steering, queued.follow_up), (vec!["now".into()], vec!["later".into()]));
        } else {
            assert_eq!(outcome, Ok(()), "the work was done");
        }
    }
}

/// Writes the summary; then the user aborts.
struct Last(Arc<AtomicBool>);

#[async_trait]
impl BeforeCompact for Last {
    async fn before_compact(&self, _: &CancellationToken, _: &PendingCompaction) -> CompactDecision {
        self.0.store(true, Ordering::SeqCst);
        CompactDecision::Replace { summary: "short".into(), first_kept: None }
    }
}

#[tokio::test]
async fn written_compaction_cannot_be_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let (written, cancel) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
    let (now, stop) = (written.clone(), cancel.clone());
    let session = Session::create(dir.path(), Path::new("/work")).with_clock(move || {
        if now.load(Ordering::SeqCst) {
            stop.cancel();
        }
        Rfc3339Time("T".into())
    });
    let script = small(Script::default());
    let agent = script.agent().session(session).messages(old()).before_compact(Last(written));
    let agent = agent.build().unwrap();
    let done = agent.compact(cancel.clone(), None).await.unwrap();
    assert!(cancel.is_cancelled());
    assert_eq!(done.summary, "short");
    assert!(transcript(&agent)[0].contains("short"));
}

fn overflow() -> Result<ModelEvent, ModelError> {
    Err(ModelError::new(ModelErrorKind::Overflow, "too long"))
}

fn answers(agent: &Agent) -> Vec<String> {
    let model = |entry: &SessionEntry| match &entry.body {
        EntryBody::MessageEntry(said) => said.answer.as_ref().map(|answer| answer.model.clone()),
        _ => None,
    };
    agent.session().branch().iter().filter_map(|entry| model(entry)).collect()
}

#[tokio::test]
async fn answer_after_an_overflow_names_its_model() {
    let info = |model: &str| ModelId { provider: "script".into(), model: model.into() };
    let fallback =
        ModelEvent::Fallback { from: info("test"), to: info("other"), message: "overloaded".into() };
    let other = ModelEvent::Answering(info("other"));
    let first = Answer { items: vec![Ok(fallback), Ok(other), overflow()], hangs: false };
    let script = small(Script::new(vec![first, says("notes"), says("ok")]));
    let agent = script.agent().messages(old()).build().unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(answers(&agent), ["test"]);
}

#[tokio::test]
async fn answer_is_recorded_for_the_model_named_by_the_stream() {
    let who = ModelId { provider: "script".into(), model: "other".into() };
    let mut answer = says("ok");
    answer.items.insert(0, Ok(ModelEvent::Answering(who)));
    let script = Script::new(vec![answer, says("ok")]);
    let agent = script.agent().build().unwrap();
    run(&agent).await.1.unwrap();
    run(&agent).await.1.unwrap();
    assert_eq!(answers(&agent), ["other", "test"]);
}

#[tokio::test]
async fn does_not_retry_after_the_first_piece() {
    let begun = Answer { items: vec![Ok(ModelEvent::Text("half".into())), overflow()], hangs: false };
    let script = small(Script::new(vec![begun, says("notes"), says("ok")]));
    let agent = script.agent().messages(old()).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert!(matches!(outcome.unwrap_err().kind, TurnErrorKind::Model(_)));
    assert_eq!(events.iter().filter(|line| line.contains("assistant_start")).count(), 1);
    assert_eq!(script.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn completes_calls_of_an_initial_transcript() {
    let two = [call("t1", "echo", "{}"), call("t2", "echo", "{}")];
    let asks = || said(two.iter().cloned().map(AssistantBlock::ToolCall).collect());
    let result = |id: &str| {
        let output = ToolOutput::text("x");
        Message::Tool(haft_protocol::message::ToolMessage::new(
            haft_protocol::ids::ToolCallId::new(id),
            "echo",
            output.content,
            Rfc3339Time("T".into()),
        ))
    };
    let script = Script::new(vec![says("ok")]);
    let given = vec![result("t0"), asks(), result("t2"), user("stop"), asks()];
    let agent = script.agent().messages(given).build().unwrap();
    run(&agent).await.1.unwrap();
    let missing = |id: &str| format!("tool {id} error {NOT_RUN}");
    let asked = || "assistant  echo{} echo{}".to_owned();
    let lines = [
        asked(),
        missing("t1"),
        "tool t2 x".into(),
        "user stop".into(),
        asked(),
        missing("t1"),
        missing("t2"),
        "user go".into(),
        "assistant ok ".into(),
    ];
    assert_eq!(transcript(&agent), lines);
    assert_eq!(*agent.messages(), agent.session().context().messages);
}
