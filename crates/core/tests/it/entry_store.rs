//! Tests of sessions in a store of the embedding program.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use haft_core::error::TurnErrorKind;
use haft_core::session::entry::Name;
use haft_core::session::{Durability, EntryStore, Session, SessionError};

use crate::fake::{Script, run, says};

/// Lines in memory, whose next append can fail.
#[derive(Default)]
struct Lines {
    lines: Mutex<Vec<u8>>,
    fails: AtomicBool,
}

impl Lines {
    fn line_kinds(&self) -> Vec<String> {
        let lines = self.load_lines().unwrap();
        let lines = String::from_utf8(lines).unwrap();
        let kind = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].to_string();
        lines.lines().map(|line| kind(line).trim_matches('"').to_owned()).collect()
    }
}

impl EntryStore for Lines {
    fn load_lines(&self) -> io::Result<Vec<u8>> {
        Ok(self.lines.lock().unwrap().clone())
    }

    fn append_lines(&self, lines: &[u8]) -> io::Result<()> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(io::Error::other("the database is away"));
        }
        self.lines.lock().unwrap().extend_from_slice(lines);
        Ok(())
    }
}

fn open_session(store: &Arc<Lines>) -> Session {
    Session::in_store(Arc::clone(store) as Arc<dyn EntryStore>, Path::new("/work")).unwrap()
}

/// Waits for the thread of a session that was dropped.
async fn wait_for_lines(store: &Lines) {
    let stored = async {
        while store.line_kinds().is_empty() {
            // sleep: the thread stores the lines within a second
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(haft_test_support::PATIENCE, stored).await.unwrap();
}

fn message_texts(session: &Session) -> Vec<String> {
    let messages = session.context().messages;
    messages.iter().map(|message| haft_protocol::content::joined_text(&shown_content(message))).collect()
}

fn shown_content(message: &haft_protocol::message::Message) -> Vec<haft_protocol::content::ContentBlock> {
    use haft_protocol::content::ContentBlock;
    use haft_protocol::message::Message;
    match message {
        Message::User { content, .. } => content.clone(),
        Message::Assistant(answer) => vec![ContentBlock::text(answer.text())],
        Message::Tool(result) => result.content.clone(),
    }
}

#[tokio::test]
async fn agent_continues_from_the_store() {
    let store = Arc::new(Lines::default());
    let session = open_session(&store);
    let agent = Script::new(vec![says("one")]).agent().session(session.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    session.flush().await.unwrap();
    assert_eq!(store.line_kinds(), ["session", "model_change", "message", "message"]);

    let again = open_session(&store);
    assert_eq!((again.id(), again.leaf(), again.path()), (session.id(), session.leaf(), None));
    assert_eq!(message_texts(&again), ["go", "one"]);
    let agent = Script::new(vec![says("two")]).agent().session(again.clone()).build().unwrap();
    run(&agent).await.1.unwrap();
    again.flush().await.unwrap();
    assert_eq!(message_texts(&open_session(&store)), ["go", "one", "go", "two"]);
    assert_eq!(store.line_kinds().iter().filter(|kind| *kind == "session").count(), 1);
}

#[tokio::test]
async fn session_without_content_leaves_nothing() {
    let store = Arc::new(Lines::default());
    open_session(&store).flush().await.unwrap();
    assert_eq!(store.line_kinds(), [""; 0]);
}

#[tokio::test]
async fn entries_that_the_store_refused_are_stored_later() {
    let store = Arc::new(Lines::default());
    let session = open_session(&store);
    let agent = Script::new(vec![says("one"), says("two")]).agent().session(session.clone()).build().unwrap();
    store.fails.store(true, Ordering::Relaxed);
    let TurnErrorKind::Session { reason } = run(&agent).await.1.unwrap_err().kind else { panic!("another") };
    assert!(reason.contains("the program's store: the database is away"), "{reason}");
    assert!(matches!(session.flush().await, Err(SessionError::Store { .. })));
    assert_eq!(store.line_kinds(), [""; 0]);

    store.fails.store(false, Ordering::Relaxed);
    run(&agent).await.1.unwrap();
    session.flush().await.unwrap();
    assert_eq!(message_texts(&open_session(&store)), message_texts(&session));
    assert_eq!(message_texts(&session), ["go", "go", "two"], "the first prompt was never answered");
    assert_eq!(open_session(&store).entries().unwrap().len(), session.entries().unwrap().len());
}

#[tokio::test]
async fn last_handle_stores_everything() {
    let store = Arc::new(Lines::default());
    let session = open_session(&store);
    session.append(Name { name: "a".into() }, Durability::Soon).await.unwrap();
    drop(session);
    wait_for_lines(&store).await;
    assert_eq!(open_session(&store).name().unwrap().as_deref(), Some("a"));
}

/// Keeps lines as rows, and panics at each append on demand.
#[derive(Default)]
struct Rows {
    rows: Mutex<Vec<String>>,
    panics: AtomicBool,
}

impl EntryStore for Rows {
    fn load_lines(&self) -> io::Result<Vec<u8>> {
        Ok(self.rows.lock().unwrap().join("\n").into_bytes())
    }

    fn append_lines(&self, lines: &[u8]) -> io::Result<()> {
        assert!(!self.panics.load(Ordering::Relaxed), "on purpose");
        let lines = String::from_utf8(lines.to_vec()).unwrap();
        self.rows.lock().unwrap().extend(lines.lines().map(str::to_owned));
        Ok(())
    }
}

#[tokio::test]
async fn rows_without_newlines_lose_no_entry() {
    let store = Arc::new(Rows::default());
    for name in ["a", "b", "c"] {
        let session = Session::in_store(store.clone(), Path::new("/work")).unwrap();
        assert_eq!(session.take_repairs(), []);
        session.append(Name { name: name.into() }, Durability::Now).await.unwrap();
    }
    let session = Session::in_store(store, Path::new("/work")).unwrap();
    assert_eq!((session.entries().unwrap().len(), session.take_repairs()), (3, Vec::new()));
}

#[tokio::test]
async fn panic_of_the_store_is_an_error_of_one_append() {
    let store = Arc::new(Rows::default());
    let session = Session::in_store(store.clone(), Path::new("/work")).unwrap();
    store.panics.store(true, Ordering::Relaxed);
    let refused = session.append(Name { name: "a".into() }, Durability::Now).await;
    assert!(refused.unwrap_err().to_string().contains("on purpose"));
    store.panics.store(false, Ordering::Relaxed);
    session.append(Name { name: "b".into() }, Durability::Now).await.unwrap();
    assert_eq!(Session::in_store(store, Path::new("/work")).unwrap().entries().unwrap().len(), 2);
}

#[tokio::test]
async fn entries_of_a_failed_round_are_stored_with_the_last_handle() {
    let store = Arc::new(Lines::default());
    let session = open_session(&store);
    store.fails.store(true, Ordering::Relaxed);
    assert!(session.append(Name { name: "a".into() }, Durability::Now).await.is_err());
    store.fails.store(false, Ordering::Relaxed);
    drop(session);
    wait_for_lines(&store).await;
    assert_eq!(open_session(&store).name().unwrap().as_deref(), Some("a"));
}

#[tokio::test]
async fn fork_is_saved_in_another_store() {
    let (store, other) = (Arc::new(Lines::default()), Arc::new(Lines::default()));
    let session = open_session(&store);
    let first = session.append(Name { name: "a".into() }, Durability::Now).await.unwrap();
    session.append(Name { name: "b".into() }, Durability::Now).await.unwrap();
    let fork = session.fork(Some(first)).unwrap();
    fork.save_in(Arc::clone(&other) as Arc<dyn EntryStore>).unwrap();
    fork.flush().await.unwrap();
    let again = open_session(&other);
    assert_eq!((again.name().unwrap().as_deref(), again.id()), (Some("a"), fork.id()));
    assert_eq!(again.header().forked_from.map(|origin| origin.session), Some(session.id()));
    assert_eq!(store.line_kinds().len(), 3);
    let taken = session.fork(Some(first)).unwrap().save_in(other.clone());
    assert!(matches!(taken, Err(SessionError::AlreadySaved)), "{taken:?}");
    let twice = fork.save_in(Arc::new(Lines::default()));
    assert!(matches!(twice, Err(SessionError::AlreadySaved)), "{twice:?}");
}
