//! Tests of a session that moves while other callers append to it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use haft_test_support::PATIENCE;
use tempfile::TempDir;

use super::{Fault, Faulty, FaultyDisk, What};
use crate::session::disk::{Disk, DiskFile, FileStatus, RealDisk};
use crate::session::entry::Name;
use crate::session::{Durability, EntryId, Session, SessionError, SessionRepair, recover};

type Appended = BoxFuture<'static, Result<EntryId, SessionError>>;

/// A disk that delays the creation of the second file until the test allows it.
struct Slow {
    disk: Arc<dyn Disk>,
    made: AtomicUsize,
    making: Sender<String>,
    may: Mutex<Receiver<()>>,
}

impl Slow {
    /// Wraps another disk. Returns the receiver that reports the creation of a file and the sender that allows it.
    fn around(disk: impl Disk + 'static) -> (Arc<Self>, Receiver<String>, Sender<()>) {
        let ((making, begun), (go, may)) = (channel(), channel());
        let (disk, may) = (Arc::new(disk), Mutex::new(may));
        (Arc::new(Self { disk, made: AtomicUsize::new(0), making, may }), begun, go)
    }
}

impl Disk for Slow {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        if self.made.fetch_add(1, Ordering::SeqCst) > 0 {
            self.making.send(path.extension().unwrap().to_str().unwrap().to_owned()).unwrap();
            self.may.lock().unwrap().recv().unwrap();
        }
        self.disk.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open(path)
    }

    fn file_status(&self, path: &Path) -> io::Result<FileStatus> {
        self.disk.file_status(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.disk.sync_dir(dir)
    }
}

fn name(name: &str) -> Name {
    Name { name: name.to_owned() }
}

#[test]
fn append_during_a_move_waits_for_the_new_file() {
    let dir = TempDir::new().unwrap();
    let (disk, begun, go) = Slow::around(RealDisk);
    let session = Session::create_on(disk, dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let first = runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    let before = session.id();
    let old = session.path().unwrap();
    std::fs::remove_file(&old).unwrap();
    let (inside, (appended, done)) = (session.clone(), channel::<(Appended, Appended)>());
    let appends = std::thread::spawn(move || {
        // The first of them discovers the loss; neither is acknowledged before there is a file.
        let found = inside.append(name("second"), Durability::Soon).boxed();
        assert_eq!(begun.recv_timeout(PATIENCE).as_deref(), Ok("moving"), "no file is created");
        let behind = inside.append(name("third"), Durability::Soon).boxed();
        appended.send((found, behind)).unwrap();
    });
    let (mut found, mut behind) = done.recv_timeout(PATIENCE).expect("append is blocked");
    appends.join().unwrap();
    for owed in [&mut found, &mut behind] {
        assert!(owed.now_or_never().is_none(), "acknowledged, and nowhere on the disk");
    }
    assert_eq!((session.branch().len(), session.path(), session.take_repairs()), (3, Some(old), vec![]));
    go.send(()).unwrap();
    runtime.block_on(found).unwrap();
    runtime.block_on(behind).unwrap();
    assert!(matches!(&session.take_repairs()[..], [SessionRepair::Moved { .. }]));
    let recovered = recover(&std::fs::read(session.path().unwrap()).unwrap());
    assert_eq!((recovered.entries.len(), recovered.repairs), (3, vec![]));
    // The lost file never had the entries that were added after the loss.
    let origin = recovered.header.unwrap().forked_from.unwrap();
    assert_eq!((origin.session, origin.entry), (before, Some(first)));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the copy has its own name alone");
}

#[test]
fn keeps_entries_when_closed_during_a_move() {
    let dir = TempDir::new().unwrap();
    let (disk, begun, go) = Slow::around(RealDisk);
    let session = Session::create_on(disk, dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    std::fs::remove_file(session.path().unwrap()).unwrap();
    let owed = session.append(name("second"), Durability::Soon);
    begun.recv_timeout(PATIENCE).expect("no file is created");
    // The entry follows the content of the copy, and the session is closed before the copy starts.
    let behind = session.append(name("third"), Durability::Soon);
    drop(session);
    go.send(()).unwrap();
    runtime.block_on(owed).unwrap();
    runtime.block_on(behind).unwrap();
    assert_eq!(entries(&dir), 3);
}

/// Returns the number of entries in the only file.
fn entries(dir: &TempDir) -> usize {
    let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!(file.extension().unwrap(), "jsonl");
    recover(&std::fs::read(file).unwrap()).entries.len()
}

/// The session is closed after the copy failed once. The unsaved entries are still written.
#[test]
fn closed_session_still_saves_pending_entries() {
    let dir = TempDir::new().unwrap();
    let (disk, begun, go) = Slow::around(FaultyDisk(Arc::new(Faulty::new(What::Create, Fault::Full, 1))));
    let session = Session::create_on(disk, dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    std::fs::remove_file(session.path().unwrap()).unwrap();
    let owed = session.append(name("second"), Durability::Soon);
    begun.recv_timeout(PATIENCE).expect("no file is created");
    let behind = session.append(name("third"), Durability::Soon);
    drop(session);
    for () in [(); 2] {
        go.send(()).unwrap();
    }
    assert!(matches!(runtime.block_on(owed), Err(SessionError::NotSynced(_))));
    runtime.block_on(behind).unwrap();
    assert_eq!(entries(&dir), 3);
}

#[test]
fn retries_copy_that_cannot_be_renamed() {
    let dir = TempDir::new().unwrap();
    let disk = FaultyDisk(Arc::new(Faulty::new(What::Rename, Fault::Broken, 0)));
    let session = Session::create_on(Arc::new(disk), dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    std::fs::remove_file(session.path().unwrap()).unwrap();
    let owed = runtime.block_on(session.append(name("second"), Durability::Soon));
    assert!(matches!(owed, Err(SessionError::NotSynced(_))), "{owed:?}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the copy is left");
    runtime.block_on(session.flush()).unwrap();
    assert_eq!(entries(&dir), 2);
}

/// Entries that were appended during the copy cannot be added to it.
#[test]
fn discards_copy_that_cannot_be_continued() {
    let dir = TempDir::new().unwrap();
    // The first file, the copy, and then the entries that are added to the copy.
    let (disk, begun, go) = Slow::around(FaultyDisk(Arc::new(Faulty::new(What::Write, Fault::Full, 2))));
    let session = Session::create_on(disk, dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    let old = session.path();
    std::fs::remove_file(old.as_ref().unwrap()).unwrap();
    let owed = session.append(name("second"), Durability::Soon);
    begun.recv_timeout(PATIENCE).expect("no file is created");
    let behind = session.append(name("third"), Durability::Soon);
    go.send(()).unwrap();
    assert!(matches!(runtime.block_on(owed), Err(SessionError::NotSynced(_))));
    begun.recv_timeout(PATIENCE).expect("no other file is created");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the copy is left");
    assert_eq!((session.path(), session.take_repairs()), (old, vec![]));
    go.send(()).unwrap();
    runtime.block_on(behind).unwrap();
    assert_eq!(entries(&dir), 3);
}

#[test]
fn does_not_sync_synced_entries_again() {
    let dir = TempDir::new().unwrap();
    // The first entry takes two syncs, one of the file and one of its directory; the sync of the second entry is held.
    let ((syncs, syncing), (go, may)) = (channel(), channel());
    let hold = Some((syncs, Mutex::new(may)));
    let disk = FaultyDisk(Arc::new(Faulty { hold, ..Faulty::new(What::Sync, Fault::Late, 2) }));
    let session = Session::create_on(Arc::new(disk), dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let is_nothing = || session.flush().now_or_never().is_some();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    assert!(is_nothing());
    runtime.block_on(session.append(name("second"), Durability::Soon)).unwrap();
    assert!(!is_nothing());
    syncing.recv_timeout(PATIENCE).expect("the second entry is never synced");
    assert!(!is_nothing());
    go.send(()).unwrap();
    runtime.block_on(session.flush()).unwrap();
    assert!(is_nothing());
}
