//! Tests of a session that moves while its old file cannot be read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tempfile::TempDir;

use super::{Fault, Faulty, FaultyDisk, What};
use crate::session::entry::Name;
use crate::session::{Durability, Session, SessionError, SessionRepair, recover};

/// Simulates another program that changes the session's file. Reading fails from the `at`th time on, or only that time.
fn spoiled(path: &Path, at: usize, fault: Fault) -> (Session, usize) {
    let faulty = Arc::new(Faulty::new(What::Read, fault, at));
    let session = Session::open_on(Arc::new(FaultyDisk(Arc::clone(&faulty))), path).unwrap();
    std::fs::write(path, [std::fs::read(path).unwrap(), b"{}\n".to_vec()].concat()).unwrap();
    (session, faulty.calls.load(Ordering::Relaxed))
}

#[test]
fn does_not_move_without_unreadable_entries() {
    let dir = TempDir::new().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let append = |session: &Session, name: &str| {
        runtime.block_on(session.append(Name { name: name.to_owned() }, Durability::Now))
    };
    let session = Session::create(dir.path(), Path::new("/project"));
    append(&session, "left").unwrap();
    session.move_to(None).unwrap();
    append(&session, "gone on with").unwrap();
    let path = session.path().unwrap();
    drop(session);
    let sound = std::fs::read(&path).unwrap();
    let (session, reads) = spoiled(&path, usize::MAX, Fault::Broken);
    drop(session);
    std::fs::write(&path, sound).unwrap();
    let (session, _) = spoiled(&path, reads, Fault::Broken);
    let error = append(&session, "third").unwrap_err();
    let SessionError::NotSynced(why) = &error else { panic!("{error:?}") };
    assert!(why.to_string().starts_with("cannot read"), "{error}");
    assert_eq!((session.take_repairs(), session.path()), (vec![], Some(path)));
    append(&session, "fourth").unwrap();
    let recovered = recover(&std::fs::read(session.path().unwrap()).unwrap());
    assert_eq!((recovered.entries.len(), recovered.repairs), (4, vec![]));
    assert!(matches!(&session.take_repairs()[..], [SessionRepair::Moved { .. }]));
}

#[test]
fn moves_without_reading_when_all_entries_are_in_memory() {
    let dir = TempDir::new().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let disk = Arc::new(FaultyDisk(Arc::new(Faulty::new(What::Read, Fault::ForEver, 0))));
    let session = Session::create_on(disk, dir.path(), Path::new("/project"));
    for _ in 0..2 {
        runtime.block_on(session.append(Name { name: "n".to_owned() }, Durability::Now)).unwrap();
        std::fs::remove_file(session.path().unwrap()).unwrap();
    }
    runtime.block_on(session.append(Name { name: "n".to_owned() }, Durability::Now)).unwrap();
    let recovered = recover(&std::fs::read(session.path().unwrap()).unwrap());
    assert_eq!((recovered.entries.len(), recovered.repairs), (3, vec![]));
}
