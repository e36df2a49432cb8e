//! Tests of entries whose id the caller chose.

use std::fs;
use std::path::Path;
use std::sync::Barrier;

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use tempfile::TempDir;

use super::lines::{chain, file, tags};
use crate::session::entry::*;
use crate::session::{Durability, EntryId, Session, SessionError, store};

fn id(number: u128) -> EntryId {
    EntryId::from(number)
}

fn name(name: &str) -> EntryBody {
    Name { name: name.to_owned() }.into()
}

/// Returns one body of each type that extensions append.
fn bodies() -> [EntryBody; 4] {
    let (owner, kind) = ("todo".to_owned(), "list".to_owned());
    let details = RawJson::parse(r#"{"open":1}"#).ok();
    let content = vec![ContentBlock::text("one open")];
    [
        Custom { owner: owner.clone(), kind: kind.clone(), data: RawJson::empty_object(), answer: None }
            .into(),
        CustomMessage { owner, kind, content, display: true, details }.into(),
        Label { target: id(1), label: Some("open".to_owned()) }.into(),
        tags([("todo", Some("1"))]).into(),
    ]
}

#[tokio::test]
async fn entry_has_the_id_of_the_caller() {
    let dir = TempDir::new().unwrap();
    for session in [Session::in_memory(Path::new("/w")), Session::create(dir.path(), Path::new("/w"))] {
        for (body, at) in bodies().into_iter().zip(1..) {
            session.append_with_id(id(at), body, Durability::Now).await.unwrap();
            assert_eq!(session.leaf(), Some(id(at)));
        }
        let is_expected = |session: &Session| {
            let branch = session.branch();
            let bodies = branch.iter().map(|entry| entry.body.clone());
            let ids = branch.iter().map(|entry| (entry.id, entry.parent));
            assert!(bodies.eq(self::bodies()));
            assert!(ids.eq((1..=4).map(|at| (id(at), (at > 1).then(|| id(at - 1))))));
        };
        is_expected(&session);
        let Some(path) = session.path() else { continue };
        drop(session);
        is_expected(&Session::open(&path).unwrap());
    }
}

/// Checks that an entry with this id is rejected and changes nothing.
async fn check_duplicate(session: &Session, taken: EntryId) {
    let path = session.path();
    let state = |session: &Session| {
        let bytes = path.as_ref().map(|path| fs::read(path).unwrap_or_default());
        (session.leaf(), session.tags().unwrap(), session.entries().unwrap(), bytes)
    };
    let before = state(session);
    let lost = tags([("lost", Some("x"))]);
    let error = session.append_with_id(taken, lost, Durability::Now).await.unwrap_err();
    assert!(matches!(error, SessionError::DuplicateId(found) if found == taken), "{error}");
    assert_eq!(error.to_string(), format!("the session already has an entry {taken}; choose another id"));
    assert!(state(session) == before, "{taken}");
}

#[tokio::test]
async fn rejects_id_of_an_entry_in_memory() {
    let dir = TempDir::new().unwrap();
    for session in [Session::in_memory(Path::new("/w")), Session::create(dir.path(), Path::new("/w"))] {
        let random = session.append(name("a"), Durability::Soon).await.unwrap();
        session.append_with_id(id(1), name("b"), Durability::Soon).await.unwrap();
        session.move_to(Some(random)).unwrap();
        for taken in [random, id(1)] {
            check_duplicate(&session, taken).await;
        }
        session.append_with_id(id(2), name("c"), Durability::Soon).await.unwrap();
        assert_eq!(session.entries().unwrap().len(), 3);
    }
}

/// The entries of other branches and those before a summary are not in memory.
#[tokio::test]
async fn rejects_id_that_is_only_in_the_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("0000000000000000000000000000feed.jsonl");
    let mut lines = chain((0..400).map(|at| name(&at.to_string())).collect());
    lines[200].parent = Some(id(100));
    let written = String::from_utf8(file(&lines)).unwrap();
    for text in [written.replace("\":", "\" : "), written] {
        fs::write(&path, text).unwrap();
        let session = Session::open(&path).unwrap();
        assert!(session.entry(id(150)).is_none());
        check_duplicate(&session, id(150)).await;
        // The header has the id of the session.
        check_duplicate(&session, id(0xfeed)).await;
        session.append_with_id(id(401), name("last"), Durability::Soon).await.unwrap();
        check_duplicate(&session, id(401)).await;
        drop(session);
        let read = store::read(&path).unwrap();
        assert_eq!((read.entries.len(), read.repairs.len()), (401, 0));
    }
}

#[tokio::test]
async fn writes_nothing_if_the_ids_cannot_be_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("0000000000000000000000000000feed.jsonl");
    fs::write(&path, file(&chain(vec![name("a"), name("b")]))).unwrap();
    let session = Session::open(&path).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10).unwrap();
    let error = session.append_with_id(id(7), name("c"), Durability::Now).await.unwrap_err();
    assert!(matches!(error, SessionError::Io { .. }), "{error}");
    assert_eq!((session.leaf(), fs::metadata(&path).unwrap().len()), (Some(id(2)), 10));
}

#[test]
fn one_of_two_callers_gets_the_id() {
    let session = Session::in_memory(Path::new("/w"));
    let begin = Barrier::new(2);
    let append = || {
        begin.wait();
        futures::executor::block_on(session.append_with_id(id(1), name("x"), Durability::Now)).is_ok()
    };
    let outcomes = std::thread::scope(|scope| {
        let other = scope.spawn(append);
        [append(), other.join().unwrap()]
    });
    assert_eq!((outcomes.iter().filter(|ok| **ok).count(), session.branch().len()), (1, 1));
}
