//! Tests of the tags of a session.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::lines::{chain, file, tags};
use crate::session::entry::*;
use crate::session::store::SessionStore;
use crate::session::{Durability, EntryId, Session, fold_tags, recover, tag_text};

fn map<const N: usize>(tags: [(&str, &str); N]) -> BTreeMap<String, String> {
    tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

async fn add(session: &Session, body: impl Into<EntryBody>) -> EntryId {
    session.append(body, Durability::Soon).await.unwrap()
}

fn label(target: EntryId) -> Label {
    Label { target, label: Some("here".to_owned()) }
}

#[tokio::test]
async fn changes_of_all_branches_are_merged() {
    let dir = TempDir::new().unwrap();
    for session in [Session::in_memory(Path::new("/w")), Session::create(dir.path(), Path::new("/w"))] {
        assert_eq!(session.tags().unwrap(), map([]));
        let first = add(&session, tags([("chat", Some("1")), ("work", Some(""))])).await;
        add(&session, tags([("chat", Some("2")), ("ticket", Some("HA-7"))])).await;
        session.move_to(Some(first)).unwrap();
        add(&session, tags([("work", None), ("unknown", None)])).await;
        assert_eq!(session.tags().unwrap(), map([("chat", "2"), ("ticket", "HA-7")]));
        // A copy contains the entries of its branch.
        assert_eq!(session.fork(None).unwrap().tags().unwrap(), map([("chat", "1")]));
        session.clear().unwrap();
        assert_eq!(session.tags().unwrap(), map([("chat", "2"), ("ticket", "HA-7")]));
        add(&session, Tags { replace: true, ..tags([("new", Some(""))]) }).await;
        assert_eq!(session.tags().unwrap(), map([("new", "")]));
    }
}

#[tokio::test]
async fn finds_tags_that_are_only_in_the_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("0000000000000000000000000000feed.jsonl");
    let mut lines = chain(vec![
        tags([("chat", Some("1")), ("old", Some(""))]).into(),
        tags([("chat", Some("2"))]).into(),
        label(EntryId::from(1)).into(),
    ]);
    lines[2].parent = None;
    fs::write(&path, file(&lines)).unwrap();
    let session = Session::open(&path).unwrap();
    assert!(session.entry(EntryId::from(1)).is_none());
    // A change before the file is read.
    add(&session, tags([("old", None), ("new", Some("x"))])).await;
    assert_eq!(session.tags().unwrap(), map([("chat", "2"), ("new", "x")]));
    add(&session, tags([("new", Some("y"))])).await;
    assert_eq!(session.tags().unwrap(), map([("chat", "2"), ("new", "y")]));
    assert_eq!(Session::open_read_only(&path).unwrap().tags().unwrap(), session.tags().unwrap());
}

/// A list of words was the complete set of tags when it was written.
#[tokio::test]
async fn list_of_words_replaces_earlier_tags() {
    let bytes = include_bytes!("../../../tests/fixtures/sessions/v1/tags-as-words.jsonl");
    let recovered = recover(bytes);
    assert_eq!(recovered.repairs, []);
    assert_eq!(fold_tags(&recovered.entries[..2]), map([("one", ""), ("two", "")]));
    assert_eq!(fold_tags(&recovered.entries), map([("three", "")]));
    let dir = TempDir::new().unwrap();
    let store = SessionStore::new(dir.path());
    let project = store.project_dir(Path::new("/project"));
    fs::create_dir_all(&project).unwrap();
    let path = project.join("0000000000000000000000000000feed.jsonl");
    fs::write(&path, bytes).unwrap();
    let found = store.latest(Path::new("/project")).unwrap().unwrap();
    assert_eq!(found.summary().unwrap().tags, map([("three", "")]));
    let session = Session::open(&path).unwrap();
    add(&session, tags([("four", Some("4"))])).await;
    assert_eq!(session.tags().unwrap(), map([("four", "4"), ("three", "")]));
    // The lines themselves stay as they are.
    assert!(fs::read(&path).unwrap().starts_with(bytes));
}

#[test]
fn shows_the_value_of_a_tag_if_it_has_one() {
    assert_eq!([tag_text("work", ""), tag_text("ticket", "HA-7")], ["work", "ticket=HA-7"]);
}
