//! Tests in which each system call fails once, or permanently.

mod moving;
mod unreadable;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

use crate::session::disk::{Disk, DiskFile, FileStatus, RealDisk};
use crate::session::entry::*;
use crate::session::{Durability, EntryId, RecoveredSession, Session, SessionError, SessionRepair, recover};

/// The effect of a failing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The disk is full.
    Full,
    /// The disk is broken.
    Broken,
    /// Only half of the data is written.
    Short,
    /// Only half of the data is written, and it cannot be cut off.
    Ragged,
    /// All calls fail from here on.
    ForEver,
    /// The sync succeeds, but only after the test allows it.
    Late,
}

/// The real file system, except for the call of one kind and number.
struct Faulty {
    calls: AtomicUsize,
    at: usize,
    fault: Fault,
    what: What,
    /// True if no file can be created after a call has failed.
    full: bool,
    /// Reports that a sync is about to end, and waits for permission.
    hold: Option<(Sender<()>, Mutex<Receiver<()>>)>,
    /// The content of each file that survives a power failure.
    durable: Mutex<HashMap<Identity, Vec<u8>>>,
}

type Identity = Option<(u64, u64)>;

/// The kind of calls that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Write,
    Read,
    Sync,
    Create,
    Rename,
    Thread,
}

impl Faulty {
    fn new(what: What, fault: Fault, at: usize) -> Self {
        Self {
            calls: AtomicUsize::new(0),
            at,
            fault,
            what,
            full: false,
            hold: None,
            durable: Mutex::default(),
        }
    }

    /// Returns the fault if this call fails.
    fn fails(&self, what: What) -> Option<Fault> {
        if self.full && what == What::Create && self.calls.load(Ordering::Relaxed) > self.at {
            return Some(Fault::Full);
        }
        if what != self.what {
            return None;
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        (call == self.at || self.fault == Fault::ForEver && call >= self.at).then_some(self.fault)
    }

    fn error(&self, fault: Fault) -> io::Error {
        match fault {
            Fault::Full => io::ErrorKind::StorageFull.into(),
            Fault::Broken | Fault::Short | Fault::Ragged | Fault::ForEver | Fault::Late => {
                io::Error::other("broken")
            }
        }
    }
}

#[derive(Clone)]
struct FaultyDisk(Arc<Faulty>);

struct FaultyFile {
    file: Arc<dyn DiskFile>,
    faulty: Arc<Faulty>,
    /// The offset up to which data is on disk or was lost by a failed sync that is not reported again.
    clean: Mutex<usize>,
}

impl FaultyFile {
    fn around(file: Arc<dyn DiskFile>, faulty: &Arc<Faulty>) -> Arc<dyn DiskFile> {
        Arc::new(Self { file, faulty: Arc::clone(faulty), clean: Mutex::default() })
    }

    /// Marks everything since the last sync as clean: on disk or lost.
    fn cleaned(&self, kept: bool) -> io::Result<()> {
        let seen = self.file.file_status()?;
        let length = usize::try_from(seen.length).unwrap();
        let bytes = crate::session::disk::read_range(self.file.as_ref(), 0, seen.length)?;
        let mut clean = self.clean.lock().unwrap();
        let mut durable = self.faulty.durable.lock().unwrap();
        let on_disk = durable.entry(seen.identity).or_default();
        on_disk.resize(length, 0);
        if kept && *clean < length {
            on_disk[*clean..].copy_from_slice(&bytes[*clean..]);
        }
        *clean = length;
        Ok(())
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        match self.0.fails(What::Create) {
            Some(fault) => Err(self.0.error(fault)),
            None => Ok(FaultyFile::around(RealDisk.create(path)?, &self.0)),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(FaultyFile::around(RealDisk.open(path)?, &self.0))
    }

    fn file_status(&self, path: &Path) -> io::Result<FileStatus> {
        RealDisk.file_status(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.0.fails(What::Rename) {
            Some(fault) => Err(self.0.error(fault)),
            None => RealDisk.rename(from, to),
        }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        match self.0.fails(What::Sync) {
            Some(fault) => Err(self.0.error(fault)),
            None => RealDisk.sync_dir(dir),
        }
    }

    fn start_thread(&self, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        match self.0.fails(What::Thread) {
            Some(fault) => Err(self.0.error(fault)),
            None => RealDisk.start_thread(work),
        }
    }
}

impl DiskFile for FaultyFile {
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.faulty.fails(What::Write) {
            None => self.file.write(bytes),
            Some(Fault::Short | Fault::Ragged) => self.file.write(&bytes[..bytes.len() / 2]),
            Some(fault) => Err(self.faulty.error(fault)),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        match self.faulty.fault {
            Fault::Ragged => Err(io::Error::other("broken")),
            Fault::Full | Fault::Broken | Fault::Short | Fault::ForEver | Fault::Late => {
                self.file.truncate(length)
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.faulty.fails(What::Sync) {
            Some(fault) => {
                if let Some((fails, may)) = &self.faulty.hold {
                    fails.send(()).unwrap();
                    may.lock().unwrap().recv().unwrap();
                }
                let kept = fault == Fault::Late;
                self.cleaned(kept)?;
                if kept { Ok(()) } else { Err(self.faulty.error(fault)) }
            }
            None => self.cleaned(true),
        }
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.faulty.fails(What::Read) {
            Some(fault) => Err(self.faulty.error(fault)),
            None => self.file.read_at(buffer, offset),
        }
    }

    fn file_status(&self) -> io::Result<FileStatus> {
        self.file.file_status()
    }

    fn unlock(&self) {
        self.file.unlock();
    }
}

/// The number of entries that a run writes.
const ENTRIES: usize = 8;

/// The result of a run.
struct Ran {
    /// The acknowledged entries, in order.
    acknowledged: Vec<EntryId>,
    errors: Vec<SessionError>,
    repairs: Vec<SessionRepair>,
    /// The content of the session's file at the end.
    recovered: RecoveredSession,
    /// The number of counted calls; the file could be opened again without a repair.
    calls: usize,
}

/// Writes some entries while one call fails.
fn run(what: What, fault: Fault, at: usize) -> Ran {
    let dir = TempDir::new().unwrap();
    let faulty = Arc::new(Faulty::new(what, fault, at));
    let disk = Arc::new(FaultyDisk(Arc::clone(&faulty)));
    let session = Session::create_on(disk, dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut acknowledged, mut errors) = (Vec::new(), Vec::new());
    for number in 0..ENTRIES {
        let durability = if number % 3 == 2 { Durability::Soon } else { Durability::Now };
        let body = Name { name: format!("{number} {}", "x".repeat(500)) };
        match runtime.block_on(session.append(body, durability)) {
            Ok(id) => acknowledged.push(id),
            Err(error) => errors.push(error),
        }
    }
    let (path, repairs) = (session.path().unwrap(), session.take_repairs());
    drop(session);
    let recovered = recover(&std::fs::read(path).unwrap_or_default());
    Ran { acknowledged, errors, repairs, recovered, calls: faulty.calls.load(Ordering::Relaxed) }
}

/// Checks that every acknowledged entry exists and follows an existing entry, and that only expected repairs are
/// needed.
#[track_caller]
fn check(ran: &Ran, what: &str) {
    let there: Vec<EntryId> = ran.recovered.entries.iter().map(|entry| entry.id).collect();
    let lost: Vec<_> = ran.acknowledged.iter().filter(|id| !there.contains(id)).collect();
    assert!(lost.is_empty(), "{what}: lost {lost:?}; {:?}", ran.errors);
    let order: Vec<_> = there.iter().filter(|id| ran.acknowledged.contains(id)).collect();
    assert_eq!(order, ran.acknowledged.iter().collect::<Vec<_>>(), "{what}");
    let lost_parent = |repair: &&SessionRepair| {
        matches!(repair, SessionRepair::Reattached { .. } | SessionRepair::NoHeader { .. })
    };
    assert_eq!(ran.recovered.repairs.iter().find(lost_parent), None, "{what}");
}

#[test]
fn failed_write_is_not_acknowledged_and_next_one_can_succeed() {
    for fault in [Fault::Full, Fault::Broken, Fault::Short, Fault::Ragged] {
        for at in 0..ENTRIES {
            let (ran, what) = (run(What::Write, fault, at), format!("{fault:?} at {at}"));
            check(&ran, &what);
            assert_eq!(
                (ran.errors.len(), ran.acknowledged.len()),
                (1, ENTRIES - 1),
                "{what}: {:?}",
                ran.errors
            );
            assert!(matches!(ran.errors[0], SessionError::Io { .. }), "{what}");
            assert_eq!(ran.repairs, [], "{what}");
            // Half a line that could not be cut off becomes a separate, invalid line.
            let bad = usize::from(fault == Fault::Ragged && at > 0);
            assert_eq!(
                (ran.recovered.entries.len(), ran.recovered.repairs.len()),
                (ENTRIES - 1, bad),
                "{what}"
            );
        }
    }
}

#[test]
fn full_disk_loses_no_acknowledged_entry() {
    for at in 0..ENTRIES {
        let (ran, what) = (run(What::Write, Fault::ForEver, at), format!("at {at}"));
        check(&ran, &what);
        assert_eq!((ran.acknowledged.len(), ran.recovered.entries.len()), (at, at), "{what}");
    }
}

#[test]
fn session_moves_to_another_file_after_a_failed_sync() {
    let calls = run(What::Sync, Fault::Broken, usize::MAX).calls;
    assert!(calls > 4, "{calls}");
    for at in 0..calls {
        let (ran, what) = (run(What::Sync, Fault::Broken, at), format!("at {at}"));
        check(&ran, &what);
        assert_eq!((ran.repairs.len(), ran.errors.len()), (1, 0), "{what}: {:?}", ran.errors);
        let expect = |repair: &SessionRepair| matches!(repair, SessionRepair::Moved { reason, .. } if reason == "broken");
        assert!(ran.repairs.iter().all(expect), "{what}: {:?}", ran.repairs);
    }
}

#[test]
fn acknowledges_no_durable_entry_when_syncs_keep_failing() {
    for at in 0..4 {
        let ran = run(What::Sync, Fault::ForEver, at);
        check(&ran, &format!("at {at}"));
        assert!(!ran.errors.is_empty());
        assert!(ran.acknowledged.len() < ENTRIES, "at {at}");
    }
}

#[test]
fn retries_creating_the_file() {
    let ran = run(What::Create, Fault::Full, 0);
    check(&ran, "create");
    assert_eq!((ran.errors.len(), ran.acknowledged.len()), (1, ENTRIES - 1));
}

/// The system reports a lost page only once: the next sync of the same file succeeds.
#[test]
fn does_not_acknowledge_write_during_a_failing_sync() {
    let dir = TempDir::new().unwrap();
    let ((fails, failing), (go, may)) = (channel(), channel());
    let hold = Some((fails, Mutex::new(may)));
    let faulty = Faulty { full: true, hold, ..Faulty::new(What::Sync, Fault::Broken, 2) };
    let session =
        Session::create_on(Arc::new(FaultyDisk(Arc::new(faulty))), dir.path(), Path::new("/project"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let name = |name: &str| Name { name: name.to_owned() };
    runtime.block_on(session.append(name("first"), Durability::Now)).unwrap();
    let during = session.append(name("during"), Durability::Now);
    failing.recv().unwrap();
    let behind = session.append(name("behind"), Durability::Now);
    go.send(()).unwrap();
    for written in [runtime.block_on(during), runtime.block_on(behind)] {
        assert!(matches!(written, Err(SessionError::NotSynced(_))), "{written:?}");
    }
    assert!(runtime.block_on(session.flush()).is_err());
    let later = runtime.block_on(session.append(name("later"), Durability::Soon));
    assert!(matches!(later, Err(SessionError::NotSynced(_))), "{later:?}");
    assert_eq!(session.branch().len(), 4);
}

#[test]
fn writes_nothing_when_the_sync_thread_cannot_start() {
    let ran = run(What::Thread, Fault::Broken, 0);
    check(&ran, "thread");
    assert!(matches!(&ran.errors[..], [SessionError::Io { .. }]), "{:?}", ran.errors);
    let there: Vec<EntryId> = ran.recovered.entries.iter().map(|entry| entry.id).collect();
    assert_eq!((there, ran.acknowledged.len()), (ran.acknowledged, ENTRIES - 1));
}

/// A durable entry survives a power failure, whether or not another file can be created.
#[cfg(unix)]
#[test]
fn durable_entries_survive_a_power_failure() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (full, at) in [false, true].into_iter().flat_map(|full| (0..8).map(move |at| (full, at))) {
        let dir = TempDir::new().unwrap();
        let faulty = Arc::new(Faulty { full, ..Faulty::new(What::Sync, Fault::Broken, at) });
        let disk = Arc::new(FaultyDisk(Arc::clone(&faulty)));
        let session = Session::create_on(disk, dir.path(), Path::new("/project"));
        let mut acknowledged = Vec::new();
        for _ in 0..ENTRIES {
            // Two concurrent calls, like the starts of two tools.
            let two = [(); 2].map(|()| session.append(Name { name: "n".to_owned() }, Durability::Now));
            acknowledged.extend(two.into_iter().filter_map(|one| runtime.block_on(one).ok()));
        }
        let identity =
            session.path().and_then(|path| RealDisk.file_status(&path).ok()).and_then(|seen| seen.identity);
        let left = faulty.durable.lock().unwrap().get(&identity).cloned().unwrap_or_default();
        let there: Vec<EntryId> = recover(&left).entries.iter().map(|entry| entry.id).collect();
        let lost = acknowledged.iter().filter(|id| !there.contains(id)).count();
        assert_eq!(lost, 0, "sync {at}, full: {full}");
    }
}
