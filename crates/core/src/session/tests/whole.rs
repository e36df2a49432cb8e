//! Tests of all branches of a session, forks, and abandoned branches.

use std::fs;
use std::path::Path;

use haft_protocol::content::ContentBlock;
use haft_protocol::message::{Message, Rfc3339Time};
use tempfile::TempDir;

use super::lines::{chain, file, header};
use crate::session::entry::*;
use crate::session::{Durability, EntryId, Session, SessionError, store};

fn user(text: &str) -> EntryBody {
    Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("t".to_owned()) }.into()
}

fn model() -> EntryBody {
    ModelChange { provider: "p".to_owned(), model: "m".to_owned() }.into()
}

fn summary() -> EntryBody {
    let compaction = Compaction {
        summary: "all well".to_owned(),
        first_kept: None,
        tokens_before: 1000,
        files_read: Vec::new(),
        files_modified: Vec::new(),
        by: None,
        answer: None,
        used: None,
        settings: SessionSettings::default(),
    };
    compaction.into()
}

async fn said(session: &Session, body: impl Into<EntryBody>) -> EntryId {
    session.append(body, Durability::Soon).await.unwrap()
}

fn ids(session: &Session) -> Vec<EntryId> {
    session.entries().unwrap().iter().map(|entry| entry.id).collect()
}

/// Appends `first`, then `second` and `other` after it; `other` is the leaf.
async fn branched(session: &Session) -> [EntryId; 3] {
    let first = said(session, user("first")).await;
    let second = said(session, user("second")).await;
    session.move_to(Some(first)).unwrap();
    [first, second, said(session, user("other")).await]
}

/// Checks the properties of a fork, which are the same for every storage.
async fn check(session: &Session) -> Session {
    let [first, second, other] = branched(session).await;
    let fork = session.fork(Some(second)).unwrap();
    assert_eq!((ids(&fork), fork.leaf()), (vec![first, second], Some(second)));
    let SessionHeader { id, cwd, forked_from, .. } = fork.header();
    assert_ne!(id, session.id());
    assert_eq!((cwd, forked_from.unwrap().session), (session.header().cwd, session.id()));
    assert_eq!(forked_from.unwrap().entry, Some(second));
    assert_eq!(ids(&session.fork(None).unwrap()), [first, other], "it ends with the leaf");
    // Original and fork are independent.
    let third = said(&fork, user("third")).await;
    let fourth = said(session, user("fourth")).await;
    assert_eq!(ids(&fork), [first, second, third]);
    assert_eq!(ids(session), [first, second, other, fourth]);
    let unknown = EntryId::from(7);
    assert!(matches!(session.fork(Some(unknown)), Err(SessionError::NoEntry(id)) if id == unknown));
    // The fork of an empty session contains only its origin.
    session.move_to(None).unwrap();
    let empty = session.fork(None).unwrap();
    assert_eq!((ids(&empty), empty.leaf()), (vec![], None));
    assert_eq!(empty.header().forked_from.unwrap().entry, None);
    said(&empty, user("anew")).await;
    fork
}

#[tokio::test]
async fn fork_of_session_in_memory_is_in_memory() {
    let session = Session::in_memory(Path::new("/project")).with_clock(|| Rfc3339Time("noon".to_owned()));
    let fork = check(&session).await;
    assert_eq!(fork.path(), None);
    let [_, _, third] = fork.branch().try_into().unwrap();
    assert_eq!(third.time.0, "noon");
}

#[tokio::test]
async fn fork_of_a_file_is_a_file_beside_it() {
    let dir = TempDir::new().unwrap();
    let session =
        Session::create(dir.path(), Path::new("/project")).with_clock(|| Rfc3339Time("noon".to_owned()));
    let fork = check(&session).await;
    let path = fork.path().unwrap();
    assert_eq!(path.parent(), Some(dir.path()));
    assert_eq!(fork.branch().last().unwrap().time.0, "noon");
    // Both sessions are open, and each file has its own content.
    assert!(matches!(Session::open(&path), Err(SessionError::Locked { .. })));
    drop(fork);
    assert_eq!(Session::open(&path).unwrap().branch().len(), 3);
    assert_eq!(store::read(&session.path().unwrap()).unwrap().entries.len(), 4);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "with the forks of the leaf and of the root");
}

#[tokio::test]
async fn fork_of_session_without_a_file_has_none_yet() {
    let dir = TempDir::new().unwrap();
    let inside = dir.path().join("project");
    let session = Session::create(&inside, Path::new("/project"));
    let settings = said(&session, model()).await;
    let fork = session.fork(None).unwrap();
    assert_eq!((ids(&fork), fork.header().forked_from.unwrap().entry), (vec![settings], Some(settings)));
    assert!(matches!(session.fork(Some(EntryId::from(7))), Err(SessionError::NoEntry(_))));
    assert!(!inside.exists());
    said(&fork, user("first")).await;
    let path = fork.path().unwrap();
    drop(fork);
    assert_eq!((path.parent(), session.path().unwrap().exists()), (Some(&*inside), false));
    let opened = Session::open(&path).unwrap();
    assert_eq!(opened.entries().unwrap().len(), 2);
    assert_eq!(opened.header().forked_from.unwrap().session, session.id());
}

#[tokio::test]
async fn fork_contains_summarized_entries() {
    let dir = TempDir::new().unwrap();
    for session in [Session::in_memory("/p".as_ref()), Session::create(dir.path(), "/p".as_ref())] {
        let all = [said(&session, user("first")).await, said(&session, summary()).await];
        let fork = session.fork(None).unwrap();
        assert_eq!((ids(&fork), fork.context()), (all.to_vec(), session.context()));
    }
}

#[tokio::test]
async fn read_only_session_can_be_forked_unless_newer() {
    let dir = TempDir::new().unwrap();
    let session = Session::create(dir.path(), Path::new("/project"));
    let [first, second, other] = branched(&session).await;
    let reader = Session::open_read_only(&session.path().unwrap()).unwrap();
    assert_eq!(ids(&reader), [first, second, other]);
    assert_eq!(ids(&reader.fork(Some(second)).unwrap()), [first, second]);
    let fork = reader.fork(None).unwrap();
    assert_eq!((ids(&fork), fork.is_read_only()), (vec![first, other], false));
    reader.move_to(None).unwrap();
    said(&reader.fork(None).unwrap(), user("anew")).await;
    let path = dir.path().join("0000000000000000000000000000feed.jsonl");
    let newer = SessionHeader { format_version: FORMAT_VERSION + 1, ..header() };
    fs::write(&path, newer.to_line().unwrap()).unwrap();
    let newer = Session::open(&path).unwrap();
    assert!(matches!(newer.fork(None), Err(SessionError::Newer { .. })));
}

#[tokio::test]
async fn reads_all_branches_without_keeping_them() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("0000000000000000000000000000feed.jsonl");
    let mut lines = chain((0..400).map(|at| Name { name: at.to_string() }.into()).collect());
    lines[200].parent = Some(EntryId::from(100));
    fs::write(&path, file(&lines)).unwrap();
    let session = Session::open(&path).unwrap();
    let last = said(&session, user("last")).await;
    let expect = Vec::from_iter((1..=400).map(EntryId::from).chain([last]));
    assert_eq!(ids(&session), expect);
    assert!(session.entry(EntryId::from(150)).is_none());
    assert_eq!((session.leaf(), session.take_repairs()), (Some(last), vec![]));
    // A branch that was read later is not placed after entries that follow it.
    session.move_to(Some(EntryId::from(150))).unwrap();
    assert_eq!(ids(&session), expect);
    assert_eq!(session.fork(None).unwrap().branch().len(), 150);
}

/// No caller waits until the session moves.
#[tokio::test]
async fn returns_entries_that_are_in_no_file_yet() {
    let dir = TempDir::new().unwrap();
    let session = Session::create(dir.path(), Path::new("/project"));
    let [first, second, other] = branched(&session).await;
    fs::remove_file(session.path().unwrap()).unwrap();
    let waits = session.append(user("owed"), Durability::Soon);
    let owed = session.leaf().unwrap();
    assert_eq!(ids(&session), [first, second, other, owed]);
    assert_eq!(ids(&session.fork(None).unwrap()), [first, other, owed]);
    assert_eq!(waits.await.unwrap(), owed);
}

#[tokio::test]
async fn clear_abandons_entries_and_drops_those_in_memory() {
    let dir = TempDir::new().unwrap();
    let (kept, gone) = (Session::create(dir.path(), "/p".as_ref()), Session::in_memory("/p".as_ref()));
    for (session, left) in [(&kept, 3), (&gone, 0)] {
        let [first, ..] = branched(session).await;
        session.clear().unwrap();
        assert_eq!((session.leaf(), session.branch(), session.context()), Default::default());
        assert_eq!(session.entries().unwrap().len(), left);
        assert_eq!(session.entry(first).is_some(), left > 0);
        assert_eq!(session.move_to(Some(first)).is_ok(), left > 0);
        session.clear().unwrap();
        let anew = said(session, user("anew")).await;
        assert_eq!((session.branch()[0].parent, session.leaf()), (None, Some(anew)));
    }
    // Opening the file continues after the last message.
    let path = kept.path().unwrap();
    drop(kept);
    assert_eq!(Session::open(&path).unwrap().branch().len(), 1);
}

fn name(name: &str) -> Name {
    Name { name: name.to_owned() }
}

#[tokio::test]
async fn newest_name_counts_on_any_branch() {
    let dir = TempDir::new().unwrap();
    for session in [Session::in_memory(Path::new("/w")), Session::create(dir.path(), Path::new("/w"))] {
        assert_eq!(session.name().unwrap(), None);
        said(&session, name("old")).await;
        let first = said(&session, user("first")).await;
        said(&session, name("new")).await;
        session.move_to(Some(first)).unwrap();
        assert_eq!(session.name().unwrap().as_deref(), Some("new"));
        // A copy contains the entries of its branch.
        assert_eq!(session.fork(Some(first)).unwrap().name().unwrap().as_deref(), Some("old"));
        session.clear().unwrap();
        assert_eq!(session.name().unwrap().as_deref(), Some("new"));
        said(&session, name("")).await;
        assert_eq!(session.name().unwrap(), None);
    }
}

#[tokio::test]
async fn finds_name_in_the_file() {
    let dir = TempDir::new().unwrap();
    let session = Session::create(dir.path(), Path::new("/w"));
    said(&session, name("old")).await;
    said(&session, name("new")).await;
    said(&session, user("first")).await;
    // Entries before the summary are not in memory after the session is opened again.
    said(&session, summary()).await;
    let path = session.path().unwrap();
    drop(session);
    let session = Session::open(&path).unwrap();
    assert!(session.branch().iter().all(|entry| !matches!(entry.body, EntryBody::Name(_))));
    assert_eq!(session.name().unwrap().as_deref(), Some("new"));
    assert_eq!(Session::open_read_only(&path).unwrap().name().unwrap().as_deref(), Some("new"));
    // The name is cached from here on.
    fs::remove_file(&path).unwrap();
    assert_eq!(session.name().unwrap().as_deref(), Some("new"));
}
