//! A session that has to move does so beside whoever appends to it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tempfile::TempDir;

use crate::session::disk::{Disk, DiskFile, RealDisk, Seen};
use crate::session::entry::Name;
use crate::session::{Durability, EntryId, Repair, Session, SessionError, recover};

/// Longer than any machine needs for a moment's work.
const PATIENCE: Duration = Duration::from_secs(20);

type Appended = BoxFuture<'static, Result<EntryId, SessionError>>;

/// A disk on which the second file is made only when it may be.
struct Slow {
    made: AtomicUsize,
    making: Sender<String>,
    may: Mutex<Receiver<()>>,
}

impl Disk for Slow {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        if self.made.fetch_add(1, Ordering::SeqCst) > 0 {
            self.making.send(path.extension().unwrap().to_str().unwrap().to_owned()).unwrap();
            self.may.lock().unwrap().recv().unwrap();
        }
        RealDisk.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        RealDisk.open(path)
    }

    fn look(&self, path: &Path) -> io::Result<Seen> {
        RealDisk.look(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
}

fn name(name: &str) -> Name {
    Name { name: name.to_owned() }
}

#[test]
fn whoever_appends_while_a_session_moves_is_not_held_up_and_waits_for_the_new_file() {
    let dir = TempDir::new().unwrap();
    let ((making, begun), (go, may)) = (channel(), channel());
    let disk = Slow { made: AtomicUsize::new(0), making, may: Mutex::new(may) };
    let session = Session::create_on(Arc::new(disk), dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    let old = session.path().unwrap();
    std::fs::remove_file(&old).unwrap();
    let (inside, (appended, done)) = (session.clone(), channel::<(Appended, Appended)>());
    let appends = std::thread::spawn(move || {
        // The first of them finds out; neither may be acknowledged before there is a file.
        let found = inside.append(name("second"), Durability::Soon).boxed();
        assert_eq!(begun.recv_timeout(PATIENCE).as_deref(), Ok("moving"), "nobody makes a file");
        let behind = inside.append(name("third"), Durability::Soon).boxed();
        appended.send((found, behind)).unwrap();
    });
    let (mut found, mut behind) = done.recv_timeout(PATIENCE).expect("who appends is held up");
    appends.join().unwrap();
    for owed in [&mut found, &mut behind] {
        assert!(owed.now_or_never().is_none(), "acknowledged, and nowhere on the disk");
    }
    assert_eq!((session.branch().len(), session.path(), session.take_repairs()), (3, Some(old), vec![]));
    go.send(()).unwrap();
    runtime.block_on(found).unwrap();
    runtime.block_on(behind).unwrap();
    assert!(matches!(&session.take_repairs()[..], [Repair::Moved { .. }]));
    let recovered = recover(&std::fs::read(session.path().unwrap()).unwrap());
    assert_eq!((recovered.entries.len(), recovered.repairs), (3, vec![]));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "the copy has its own name alone");
}

#[test]
fn what_was_given_is_kept_when_the_session_is_closed_while_it_moves() {
    let dir = TempDir::new().unwrap();
    let session = Session::create(dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    std::fs::remove_file(session.path().unwrap()).unwrap();
    let owed = session.append(name("second"), Durability::Soon);
    drop(session);
    runtime.block_on(owed).unwrap();
    let file = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    assert_eq!(recover(&std::fs::read(file).unwrap()).entries.len(), 2);
}

#[test]
fn what_is_on_the_disk_already_is_not_synced_again() {
    let dir = TempDir::new().unwrap();
    let session = Session::create(dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let is_nothing = || session.flush().now_or_never().is_some();
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    assert!(is_nothing());
    runtime.block_on(session.append(name("second"), Durability::Soon)).unwrap();
    assert!(!is_nothing());
    runtime.block_on(session.flush()).unwrap();
    assert!(is_nothing());
}
