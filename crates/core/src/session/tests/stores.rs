//! Tests of finding sessions by project, id and time.

use std::fs;
use std::path::Path;

use haft_protocol::content::ContentBlock;
use haft_protocol::message::{Message, Rfc3339Time};
use tempfile::TempDir;

use super::lines::tags;
use crate::session::entry::*;
use crate::session::store::{SessionStore, read};
use crate::session::{Durability, Session, SessionError};

fn user(text: &str) -> EntryBody {
    Message::User { content: vec![ContentBlock::text(text)], time: Rfc3339Time("t".to_owned()) }.into()
}

async fn said(session: &Session, body: impl Into<EntryBody>) -> crate::session::EntryId {
    session.append(body, Durability::Soon).await.unwrap()
}

#[tokio::test]
async fn finds_sessions_by_project_and_id() {
    let dir = TempDir::new().unwrap();
    let store = SessionStore::new(dir.path().join("sessions"));
    assert_eq!(store.list_all().unwrap(), []);
    let (one, two) = (store.create(Path::new("/a/b")), store.create(Path::new("/a-b")));
    said(&one, user("hello")).await;
    said(&two, user("there")).await;
    // The session was never written, so it does not exist.
    drop(store.create(Path::new("/a/b")));
    let found = store.list(Path::new("/a/b")).unwrap();
    assert_eq!(found.iter().map(|found| found.id).collect::<Vec<_>>(), [one.id()]);
    assert_eq!(store.list_all().unwrap().len(), 2);
    assert_eq!(store.latest(Path::new("/a-b")).unwrap().unwrap().id, two.id());
    assert_eq!(store.find(&one.id().to_string()[..12]).unwrap().path, one.path().unwrap());
    let error = store.find("x").unwrap_err();
    assert_eq!(error.to_string(), "no session matches \"x\"");
    assert!(matches!(store.find(""), Err(SessionError::NotFound { .. })));
    let name =
        |cwd: &str| store.project_dir(Path::new(cwd)).file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!([name("/a/b"), name("/")], ["a-b-ffa0fc0c", "root-2a0c975e"]);
}

#[tokio::test]
async fn summary_contains_the_fields_of_a_list() {
    let dir = TempDir::new().unwrap();
    let store = SessionStore::new(dir.path());
    let session = store.create(Path::new("/project"));
    said(&session, user("hello")).await;
    said(&session, Name { name: "old".to_owned() }).await;
    said(&session, Name { name: "new".to_owned() }).await;
    said(&session, tags([("work", Some("")), ("ticket", Some("HA-1")), ("old", Some(""))])).await;
    said(&session, tags([("ticket", Some("HA-7")), ("old", None)])).await;
    said(&session, user(&"x".repeat(600_000))).await;
    let summary = store.latest(Path::new("/project")).unwrap().unwrap().summary().unwrap();
    assert_eq!((summary.name.as_deref(), summary.first_text.as_deref()), (Some("new"), Some("hello")));
    assert_eq!((summary.cwd.as_str(), summary.messages), ("/project", 2));
    let expect = [("ticket", "HA-7"), ("work", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(summary.tags, expect.into());
    assert!(summary.last.unwrap().0 >= summary.created.0);
}

#[tokio::test]
async fn fork_has_one_branch_in_its_own_file() {
    let dir = TempDir::new().unwrap();
    let store = SessionStore::new(dir.path());
    let session = store.create(Path::new("/project"));
    let first = said(&session, user("first")).await;
    let second = said(&session, user("second")).await;
    session.move_to(Some(first)).unwrap();
    said(&session, user("other")).await;
    // A line of a newer version, with a field that this version does not know.
    let path = session.path().unwrap();
    let known = fs::read_to_string(&path).unwrap();
    drop(session);
    fs::write(&path, known.replace("\"message\":{", "\"new\":[1, 2],\"message\":{")).unwrap();
    let found = store.latest(Path::new("/project")).unwrap().unwrap();
    let fork = found.fork(Some(second)).unwrap();
    assert_eq!(fork.leaf(), Some(second));
    assert_eq!(fork.branch().len(), 2);
    let origin = fork.header().forked_from.unwrap();
    assert_eq!((origin.session, origin.entry), (found.id, Some(second)));
    let copy = fork.path().unwrap();
    assert!(fs::read_to_string(&copy).unwrap().contains("\"new\":[1, 2]"));
    said(&fork, user("third")).await;
    assert_eq!(read(&found.path).unwrap().entries.len(), 3);
    assert_eq!(read(&copy).unwrap().entries.len(), 3);
    assert!(matches!(found.fork(Some(crate::session::EntryId::from(7))), Err(SessionError::NoEntry(_))));
}

/// The program was killed while the session moved.
#[tokio::test]
async fn removing_a_session_removes_only_its_unfinished_copies() {
    let dir = TempDir::new().unwrap();
    let store = SessionStore::new(dir.path());
    let copy_of = async |session: &Session| {
        let entry = said(session, user("first")).await;
        let origin = ForkOrigin { session: session.id(), entry: Some(entry) };
        let header = SessionHeader { id: Default::default(), forked_from: Some(origin), ..session.header() };
        let copy = session.path().unwrap().with_file_name(format!("{}.moving", header.id));
        fs::write(&copy, header.to_line().unwrap()).unwrap();
        copy
    };
    let (session, other) = (store.create(Path::new("/project")), store.create(Path::new("/project")));
    let (left, made, others) = (copy_of(&session).await, copy_of(&session).await, copy_of(&other).await);
    let lock = fs::File::open(&made).unwrap();
    lock.lock().unwrap();
    let id = session.id().to_string();
    drop(session);
    store.find(&id).unwrap().remove().unwrap();
    assert!(!left.exists() && made.exists() && others.exists());
    assert_eq!(store.list_all().unwrap().len(), 1);
}

#[tokio::test]
async fn does_not_remove_session_in_use() {
    let dir = TempDir::new().unwrap();
    let store = SessionStore::new(dir.path());
    let session = store.create(Path::new("/project"));
    said(&session, user("first")).await;
    let found = store.latest(Path::new("/project")).unwrap().unwrap();
    assert!(matches!(found.clone().remove(), Err(SessionError::Locked { .. })));
    drop(session);
    fs::write(found.path.with_extension("torn-1"), "x").unwrap();
    found.remove().unwrap();
    assert_eq!(fs::read_dir(store.project_dir(Path::new("/project"))).unwrap().count(), 0);
}
