//! Tests of the session during a run: records before tools start, reports of repairs, content on disk at the end, and
//! partial answers.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use haft_core::error::TurnErrorKind;
use haft_core::model::{ModelError, ModelErrorKind, ModelEvent};
use haft_core::session::entry::{Compaction, CustomMessage, EntryBody, ToolStart};
use haft_core::session::{Durability, Session};
use haft_core::tool::ToolOutput;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::{Message, Rfc3339Time, StopCause};

use crate::fake::{Answer, Script, call, calls, run, says, tool, transcript};

fn started(session: &Session) -> Vec<String> {
    let start = |body: &EntryBody| match body {
        EntryBody::ToolStart(ToolStart { call_id, .. }) => Some(call_id.to_string()),
        _ => None,
    };
    session.branch().iter().filter_map(|entry| start(&entry.body)).collect()
}

#[tokio::test]
async fn concurrent_calls_are_recorded_together_and_start_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/work"));
    let ids: Vec<String> = (0..20).map(|number| format!("t{number:02}")).collect();
    let many = ids.iter().enumerate().map(|(n, id)| call(id, "echo", &format!(r#"{{"n":{n}}}"#))).collect();
    let seen: Arc<Mutex<Vec<(String, usize)>>> = Arc::default();
    let (log, order) = (session.clone(), seen.clone());
    let echo = tool("echo", move |args| {
        order.lock().unwrap().push((args.to_owned(), started(&log).len()));
        ToolOutput::text("x")
    });
    let script = Script::new(vec![calls(many), says("ok")]);
    let agent = script.agent().session(session.clone()).tool(echo).build().unwrap();
    run(&agent).await.1.unwrap();
    let seen = seen.lock().unwrap();
    let order: Vec<String> = seen.iter().map(|(args, _)| args.clone()).collect();
    assert_eq!(order, (0..20).map(|n| format!(r#"{{"n":{n}}}"#)).collect::<Vec<_>>());
    // The first sixteen starts are recorded before the first call runs, the rest when there is room.
    assert_eq!((seen[0].1, seen[19].1, started(&session)), (16, 20, ids));
}

#[tokio::test]
async fn reports_moved_session_immediately() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/work"));
    let (old, log) = (session.path().unwrap(), session.clone());
    let breaks = tool("break", move |_| {
        std::fs::remove_file(log.path().unwrap()).unwrap();
        ToolOutput::text("it is gone")
    });
    let script = Script::new(vec![calls(vec![call("t1", "break", "{}")]), says("ok")]);
    let agent = script.agent().session(session.clone()).tool(breaks).build().unwrap();
    let (events, outcome) = run(&agent).await;
    outcome.unwrap();
    let (id, path) = (session.id(), session.path().unwrap());
    assert_ne!(path, old);
    let place = |what: &str| events.iter().position(|line| line.starts_with(what)).unwrap();
    let repaired = place(r#"{"type":"session_repaired""#);
    assert!(events[repaired].contains(&id.to_string()), "{}", events[repaired]);
    assert!(events[repaired].contains("the file was deleted or renamed"), "{}", events[repaired]);
    let session_event = format!(r#"{{"type":"session","id":"{id}","path":"{}"}}"#, path.display());
    assert_eq!(events[repaired + 1], session_event);
    assert!(repaired < place("delta ok"), "{events:#?}");
    assert_eq!(
        (session.take_repairs(), Session::open_read_only(&path).unwrap().context().messages.len()),
        (vec![], 4)
    );
}

#[tokio::test]
async fn next_run_reports_incomplete_last_line() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/work"));
    let path = session.path().unwrap();
    let agent = Script::new(vec![says("one")]).agent().session(session).build().unwrap();
    run(&agent).await.1.unwrap();
    drop(agent);
    std::fs::write(&path, [std::fs::read(&path).unwrap(), b"{\"type\":".to_vec()].concat()).unwrap();
    let session = Session::open(&path).unwrap();
    let agent = Script::new(vec![says("two")]).agent().session(session).build().unwrap();
    let (events, _) = run(&agent).await;
    assert!(events[0].contains("session_repaired") && events[0].contains("torn"), "{events:#?}");
}

#[tokio::test]
async fn run_is_on_disk_when_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/work"));
    let script = Script::new(vec![calls(vec![call("t1", "echo", "{}")])]);
    let echo = tool("echo", |_| ToolOutput::text("x"));
    let agent = script.agent().session(session.clone()).tool(echo).max_steps(1).build().unwrap();
    let mut work = agent.prompt("go");
    while let Some(event) = work.next().await {
        if matches!(event, AgentEvent::Done) {
            assert!(session.flush().now_or_never().is_some(), "the result of the call is not synced");
        }
    }
    assert!(matches!(work.finish().await.unwrap_err().kind, TurnErrorKind::MaxSteps { .. }));
}

/// Creates an answer that starts, and then fails.
fn fails(text: &str) -> Answer {
    let broken = ModelError::new(ModelErrorKind::Connection, "the connection broke");
    Answer { items: vec![Ok(ModelEvent::Text(text.into())), Err(broken)], hangs: false }
}

fn stops(session: &Session) -> Vec<StopCause> {
    session.branch().iter().filter_map(|entry| Some(entry.body.answer()?.stop)).collect()
}

#[tokio::test]
async fn keeps_partial_answer_of_a_failed_request() {
    let session = Session::in_memory(Path::new("/work"));
    let script = Script::new(vec![fails("half an ans"), says("ok")]);
    let agent = script.agent().session(session.clone()).build().unwrap();
    let (events, outcome) = run(&agent).await;
    assert!(matches!(outcome.unwrap_err().kind, TurnErrorKind::Model(_)));
    assert!(!events.iter().any(|line| line.starts_with("assistant ")), "it is no answer: {events:#?}");
    assert_eq!(transcript(&agent), ["user go", "assistant half an ans "]);
    run(&agent).await.1.unwrap();
    assert_eq!(stops(&session), [StopCause::Error, StopCause::End]);
    assert_eq!(*agent.messages(), session.context().messages);
}

#[tokio::test]
async fn keeps_only_the_answer_of_the_next_attempt() {
    let retry = ModelEvent::Retry {
        attempt: 2,
        delay: std::time::Duration::ZERO,
        message: "busy".into(),
        max_attempts: 4,
        kind: ModelErrorKind::RateLimited,
    };
    let mut answer = fails("second");
    answer.items.splice(0..0, [Ok(ModelEvent::Text("first".into())), Ok(retry)]);
    let agent = Script::new(vec![answer]).agent().build().unwrap();
    run(&agent).await.1.unwrap_err();
    assert_eq!(transcript(&agent), ["user go", "assistant second "]);
}

#[tokio::test]
async fn resume_replaces_a_failed_answer() {
    let dir = tempfile::tempdir().unwrap();
    let session = Session::create(dir.path(), Path::new("/work"));
    let path = session.path().unwrap();
    let script = Script::new(vec![fails("half an ans"), fails("again h"), says("ok")]);
    let agent = script.agent().session(session).build().unwrap();
    run(&agent).await.1.unwrap_err();
    agent.resume().finish().await.unwrap_err();
    drop(agent);
    // Another process reads the same entries.
    let session = Session::open(&path).unwrap();
    let agent = script.agent().session(session.clone()).build().unwrap();
    assert_eq!(transcript(&agent), ["user go", "assistant again h "]);
    agent.resume().finish().await.unwrap();
    assert_eq!(transcript(&agent), ["user go", "assistant ok "]);
    let said: Vec<usize> =
        script.requests.lock().unwrap().iter().map(|request| request.messages.len()).collect();
    assert_eq!((said, stops(&session)), (vec![1, 1, 1], vec![StopCause::End]));
    let all = haft_core::session::recover(&std::fs::read(&path).unwrap()).entries;
    assert_eq!(all.iter().filter(|entry| entry.body.answer().is_some()).count(), 3, "nothing is deleted");
    assert_eq!(*agent.messages(), session.context().messages);
}

/// Resumes after a partial answer that is followed by this entry; returns the outcome and the last message sent to the
/// model.
async fn goes_on_behind(body: EntryBody) -> (Result<(), TurnErrorKind>, Vec<String>) {
    let session = Session::in_memory(Path::new("/work"));
    let script = Script::new(vec![fails("half an ans"), says("ok")]);
    let agent = script.agent().session(session.clone()).build().unwrap();
    run(&agent).await.1.unwrap_err();
    let first =
        session.branch().iter().find(|entry| matches!(entry.body, EntryBody::MessageEntry(_))).unwrap().id;
    let body = match body {
        EntryBody::Compaction(summary) => summary.with_first_kept(first).into(),
        body => body,
    };
    let behind = session.append(body, Durability::Now).await.unwrap();
    agent.reload().unwrap();
    let outcome = agent.resume().finish().await.map_err(|error| error.kind);
    assert!(
        session.branch().iter().any(|entry| entry.id == behind),
        "the entry was abandoned with the answer"
    );
    (outcome, transcript(&agent))
}

#[tokio::test]
async fn keeps_entries_after_a_failed_answer() {
    let summary = Compaction::new("notes", 10);
    let (outcome, said) = goes_on_behind(summary.into()).await;
    assert_eq!(outcome, Err(TurnErrorKind::NothingToDo));
    assert!(said[0].contains("notes") && said[2] == "assistant half an ans ", "{said:?}");
    let content = vec![ContentBlock::text("told")];
    let told = CustomMessage::new("ext", "k", content);
    let (outcome, said) = goes_on_behind(EntryBody::CustomMessage(told)).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(said, ["user go", "assistant half an ans ", "user told", "assistant ok "]);
}

#[tokio::test]
async fn reload_applies_external_changes_to_the_session() {
    let session = Session::in_memory(Path::new("/work"));
    let hangs = Answer { items: vec![Ok(ModelEvent::Text("h".into()))], hangs: true };
    let script = Script::new(vec![says("one"), says("two"), hangs]);
    let agent = script.agent().session(session.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    let leaf =
        session.branch().iter().find(|entry| matches!(entry.body, EntryBody::MessageEntry(_))).unwrap().id;
    session.move_to(Some(leaf)).unwrap();
    let content = vec![ContentBlock::text("more")];
    let more = Message::User { content, time: Rfc3339Time("T".into()) };
    session.append(more, Durability::Now).await.unwrap();
    agent.reload().unwrap();
    assert_eq!(transcript(&agent), ["user go", "user more"]);
    agent.resume().finish().await.unwrap();
    assert_eq!(transcript(&agent), ["user go", "user more", "assistant two "]);
    assert_eq!(*agent.messages(), session.context().messages);
    let mut work = agent.prompt("go");
    while !matches!(work.next().await, Some(AgentEvent::TextDelta { .. })) {}
    assert_eq!(agent.reload(), Err(TurnErrorKind::Busy));
}
