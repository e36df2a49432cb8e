//! Tests that reading from the end of a file and reading the whole file agree.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::lines::{chain, file, samples};
use crate::session::entry::*;
use crate::session::{EntryId, Session, SessionError, line};

/// Opens a session with these entries.
fn opened(dir: &TempDir, entries: &[SessionEntry]) -> Session {
    let path = dir.path().join("0000000000000000000000000000feed.jsonl");
    fs::write(&path, file(entries)).unwrap();
    Session::open(&path).unwrap()
}

fn ids(session: &Session) -> Vec<u128> {
    session.branch().iter().map(|entry| u128::from_str_radix(&entry.id.to_string(), 16).unwrap()).collect()
}

/// Creates messages of several kilobytes, so that reading takes several steps.
fn long(count: usize) -> Vec<SessionEntry> {
    let text = "x".repeat(3000);
    chain((0..count).map(|at| Name { name: format!("{at} {text}") }.into()).collect())
}

fn compaction(first_kept: Option<u128>) -> EntryBody {
    let EntryBody::Compaction(sample) = samples().remove(7) else { panic!("not a compaction") };
    Compaction { first_kept: first_kept.map(EntryId::from), ..sample }.into()
}

#[test]
fn reads_branch_to_its_root() {
    let dir = TempDir::new().unwrap();
    assert_eq!(ids(&opened(&dir, &long(500))), Vec::from_iter(1..=500));
    assert_eq!(ids(&opened(&dir, &[])), []);
}

#[test]
fn reads_other_branches_on_demand() {
    let dir = TempDir::new().unwrap();
    let mut entries = long(400);
    entries[200].parent = Some(EntryId::from(100));
    let session = opened(&dir, &entries);
    assert_eq!(ids(&session), Vec::from_iter((1..=100).chain(201..=400)));
    assert!(session.entry(EntryId::from(150)).is_none());
    session.move_to(Some(EntryId::from(150))).unwrap();
    assert_eq!(ids(&session), Vec::from_iter(1..=150));
    let error = session.move_to(Some(EntryId::from(401))).unwrap_err();
    assert!(matches!(error, SessionError::NoEntry(_)));
}

#[test]
fn branch_begins_at_the_first_kept_entry() {
    let dir = TempDir::new().unwrap();
    let mut entries = long(300);
    entries[250].body = compaction(Some(241));
    entries[150].body = compaction(None);
    assert_eq!(ids(&opened(&dir, &entries)), Vec::from_iter(241..=300));
    entries[250].body = compaction(None);
    assert_eq!(ids(&opened(&dir, &entries)), Vec::from_iter(251..=300));
    // The kept entry is not an ancestor, so no ancestor is kept.
    entries[250].body = compaction(Some(299));
    assert_eq!(ids(&opened(&dir, &entries)), Vec::from_iter(251..=300));
}

#[test]
fn reads_line_longer_than_a_step() {
    let dir = TempDir::new().unwrap();
    let mut entries = long(5);
    entries[2].body = Name { name: "x".repeat(2_000_000) }.into();
    assert_eq!(ids(&opened(&dir, &entries)), Vec::from_iter(1..=5));
}

#[test]
fn reads_damaged_file_as_a_whole() {
    let dir = TempDir::new().unwrap();
    let mut entries = long(300);
    entries[299].parent = Some(EntryId::from(9999));
    let session = opened(&dir, &entries);
    assert_eq!(ids(&session), Vec::from_iter(1..=300));
    assert_eq!(session.take_repairs().len(), 1);
}

#[test]
fn empty_file_starts_a_new_session() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("0000000000000000000000000000feed.jsonl");
    fs::write(&path, b"{\"type\":\"sess").unwrap();
    let session = Session::open(&path).unwrap();
    drop(session.append(Name { name: "x".to_owned() }, crate::session::Durability::Soon));
    drop(session);
    let bytes = fs::read(&path).unwrap();
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap();
    assert_eq!(line::read_header(first).unwrap().id.to_string(), path.file_stem().unwrap().to_str().unwrap());
    assert_eq!(Session::open(&path).unwrap().branch().len(), 1);
    assert!(Path::new(&path).with_extension("torn-1").exists());
}
