//! Group S: session files, with writers that are killed, and of any length.

mod large;

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_core::session::{Session, SessionError, SessionRepair};

use crate::defense::{self, Defense, take_down};
use crate::row::{CASE, FaultCase, FaultRow};
use crate::world::World;
use crate::writer::WRITER;

/// The bytes of an entry that is usually written at once.
const SHORT: usize = 2 * 1024;

/// The bytes of an entry that is often torn.
const LONG: usize = 300 * 1024;

/// The number of rounds of each size.
const ROUNDS: (usize, usize) = (15, 1_000);

/// The number of torn ends that all rounds together must produce. Rounds with long entries are added until this number
/// is reached. They use a file system in memory if possible: it writes page by page, while a disk writes large pieces
/// without interruption.
const TORN: (usize, usize) = (8, 500);

/// The largest number of rounds for one torn end; with one processor, torn ends are rare.
const PATIENCE: usize = 400;

/// The directory of a file system in memory.
const MEMORY: &str = "/dev/shm";

/// One of this many rounds with long entries ends at a random moment of the next two entries, like all rounds with
/// short entries. The others end when the file grows, because creating an entry takes longer than writing it.
const ANYWHERE: usize = 4;

/// The longest wait for the file to grow.
const GROWS_WITHIN: Duration = Duration::from_millis(50);

/// The size in bytes above which a file is replaced by a new one, because every round reads the whole file.
const LARGE: u64 = 3 << 19;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "S-01",
        title: "haft is killed while it writes a session",
        cases: &[FaultCase { play: |world| Box::pin(survives_kills(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::TornTails)),
    },
    FaultRow {
        id: "S-06",
        title: "two processes write one session",
        cases: &[FaultCase { play: |world| Box::pin(refuses_second_writer(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::SessionLock)),
    },
    FaultRow {
        id: "S-10",
        title: "a session is very long, has a line of 8 MiB and entries of unknown types, or is of a newer format",
        cases: &[FaultCase { play: |world| Box::pin(large::opens_large_session(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::SessionTail)),
    },
];

async fn survives_kills(world: &mut World) -> Result<()> {
    world.mark("killed")?;
    let (rounds, least) = (world.amount(ROUNDS.0, ROUNDS.1), world.amount(TORN.0, TORN.1));
    let (dir, tag) = (world.dir.join("sessions"), world.tag.clone());
    let found = tokio::task::spawn_blocking(move || -> Result<RoundFindings> {
        let short = KillLoop::new(&dir, SHORT).run(rounds, 0)?;
        let long = KillLoop::new(&dir, LONG).run(rounds, 0)?;
        let both = short.merge(long);
        let memory = MemoryDir::new(&dir, &tag);
        let more = least.saturating_sub(both.torn);
        Ok(both.merge(KillLoop::new(&memory.0, LONG).run(0, more)?))
    });
    let RoundFindings { rounds, torn, acknowledged } = found.await.context("the kill loop panicked")??;
    ensure!(torn >= least, "only {torn} torn ends occurred in {rounds} rounds; at least {least} are needed");
    world.report_finding(&format!(
        "{rounds} rounds, {torn} torn ends, 0 of {acknowledged} acknowledged entries lost"
    ));
    Ok(())
}

async fn refuses_second_writer(world: &mut World) -> Result<()> {
    world.mark("two writers")?;
    let dir = world.dir.join("sessions");
    tokio::task::spawn_blocking(move || -> Result<()> {
        let mut writer = SessionWriter::start(&dir, SHORT)?;
        writer.next_acknowledged()?;
        let second = Session::open(&writer.file);
        ensure!(
            matches!(second, Err(SessionError::Locked { .. })),
            "the second writer could open the session: {second:?}"
        );
        let looked = Session::open_read_only(&writer.file).context("open the session read-only")?;
        ensure!(!looked.branch().is_empty(), "the read-only session is empty");
        writer.kill()?;
        Session::open(&writer.file).context("open the session after the first writer was killed")?;
        Ok(())
    })
    .await
    .context("the check panicked")?
}

/// Rounds with entries of one size.
struct KillLoop {
    dir: PathBuf,
    size: usize,
    /// The current file, and the acknowledged entries in it.
    file: Option<PathBuf>,
    acknowledged: HashSet<String>,
    found: RoundFindings,
}

/// The findings of the rounds.
#[derive(Default)]
struct RoundFindings {
    rounds: usize,
    torn: usize,
    acknowledged: usize,
}

impl RoundFindings {
    fn merge(self, other: Self) -> Self {
        Self {
            rounds: self.rounds + other.rounds,
            torn: self.torn + other.torn,
            acknowledged: self.acknowledged + other.acknowledged,
        }
    }
}

/// A directory in memory, or on disk if there is none; removed on drop.
struct MemoryDir(PathBuf);

impl MemoryDir {
    fn new(otherwise: &Path, tag: &str) -> Self {
        let memory = Path::new(MEMORY);
        let dir = if memory.is_dir() { memory } else { otherwise };
        Self(dir.join(format!("haft-faults-{tag}")))
    }
}

impl Drop for MemoryDir {
    fn drop(&mut self) {
        // The directory may not exist.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl KillLoop {
    fn new(dir: &Path, size: usize) -> Self {
        let (dir, acknowledged) = (dir.join(size.to_string()), HashSet::new());
        Self { dir, size, file: None, acknowledged, found: RoundFindings::default() }
    }

    /// Runs this many rounds, and more until enough torn ends have occurred.
    fn run(mut self, rounds: usize, torn: usize) -> Result<RoundFindings> {
        fs::create_dir_all(&self.dir).context("create the directory of sessions")?;
        while self.found.rounds < rounds || (self.found.torn < torn && self.found.rounds < torn * PATIENCE) {
            self.found.rounds += 1;
            let torn = self
                .run_round()
                .with_context(|| format!("round {} of {} bytes", self.found.rounds, self.size))?;
            self.found.torn += usize::from(torn);
        }
        Ok(self.found)
    }

    /// Starts a writer, kills it, and checks every acknowledged entry. Returns true if the end was torn.
    fn run_round(&mut self) -> Result<bool> {
        let mut writer = SessionWriter::start(self.file.as_deref().unwrap_or(&self.dir), self.size)?;
        let mut said = vec![writer.next_acknowledged()?];
        let since = Instant::now();
        said.push(writer.next_acknowledged()?);
        match self.size == LONG && !self.found.rounds.is_multiple_of(ANYWHERE) {
            true => wait_for_growth(&writer.file)?,
            false => spin_for(since.elapsed().mul_f64(2.0 * random_fraction())),
        }
        said.extend(writer.kill()?);
        self.found.acknowledged += said.len();
        self.acknowledged.extend(said);
        let file = std::mem::take(&mut writer.file);
        let (length, torn) = end(&file)?;
        self.check_entries(&file)?;
        self.file = (length <= LARGE).then_some(file.clone());
        if self.file.is_none() {
            self.acknowledged.clear();
            fs::remove_file(&file).context("remove the checked session")?;
        }
        Ok(torn)
    }

    /// Checks the entries as the next reader finds them: in one branch.
    fn check_entries(&self, file: &Path) -> Result<()> {
        let session = Session::open(file).context("open the session again")?;
        let there: HashSet<String> = session.branch().iter().map(|entry| entry.id.to_string()).collect();
        let lost = self.acknowledged.difference(&there).count();
        ensure!(lost == 0, "{lost} acknowledged entries of {} are lost", self.acknowledged.len());
        let mut repairs = session.take_repairs();
        repairs.retain(|repair| !matches!(repair, SessionRepair::TornTail { .. }));
        ensure!(repairs.is_empty(), "more than the end was torn: {repairs:?}");
        Ok(())
    }
}

/// Waits until the file grows, which means that a write is in progress.
fn wait_for_growth(file: &Path) -> Result<()> {
    let (start, length) = (Instant::now(), || fs::metadata(file).map(|found| found.len()));
    let before = length().context("read the length of the session")?;
    while length()? == before && start.elapsed() < GROWS_WITHIN {}
    Ok(())
}

/// Waits without sleeping, because a sleeping thread wakes too late.
fn spin_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Returns the length of a file, and true if its last line is incomplete.
fn end(file: &Path) -> Result<(u64, bool)> {
    let mut file = File::open(file).context("open the session")?;
    let length = file.seek(SeekFrom::End(-1)).context("the session is empty")? + 1;
    let mut last = [0];
    file.read_exact(&mut last).context("read the session")?;
    Ok((length, last != *b"\n"))
}

/// A process that writes a session.
struct SessionWriter {
    child: Child,
    said: BufReader<ChildStdout>,
    file: PathBuf,
}

impl SessionWriter {
    fn start(place: &Path, size: usize) -> Result<Self> {
        let binary = std::env::current_exe().context("find the path of this binary")?;
        #[expect(clippy::disallowed_methods, reason = "starts this program, not an extension")]
        let mut command = Command::new(binary);
        command.arg(WRITER).arg(place).arg(size.to_string()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command.envs(defense::inherited());
        let mut child = command.spawn().context("start a writer")?;
        let said = BufReader::new(child.stdout.take().context("the writer has no standard output")?);
        let mut writer = Self { child, said, file: PathBuf::new() };
        writer.file = PathBuf::from(writer.line()?.context("the writer ended before its first line")?);
        Ok(writer)
    }

    /// Returns the next acknowledged id.
    fn next_acknowledged(&mut self) -> Result<String> {
        self.line()?.context("the writer ended before it was killed")
    }

    fn line(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        self.said.read_line(&mut line).context("read from the writer")?;
        // An incomplete line is ignored.
        Ok(line.strip_suffix('\n').map(str::to_owned))
    }

    /// Kills the writer and returns the rest of its output.
    fn kill(&mut self) -> Result<Vec<String>> {
        self.child.kill().context("kill the writer")?;
        self.child.wait().context("wait for the writer")?;
        std::iter::from_fn(|| self.line().transpose()).collect()
    }
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a random number between zero and one.
fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(()) >> 32;
    f64::from(u32::try_from(bits).unwrap_or_default()) / f64::from(u32::MAX)
}
