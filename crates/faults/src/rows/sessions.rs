//! Group S: the files of sessions, while their writers are killed, and however long they are.

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

use crate::defence::{self, Defence, take_down};
use crate::row::{CASE, FaultCase, FaultRow};
use crate::world::World;
use crate::writer::WRITER;

/// Bytes of an entry that is mostly written at once.
const SHORT: usize = 2 * 1024;

/// Bytes of an entry that is often cut.
const LONG: usize = 300 * 1024;

/// Rounds of each size.
const ROUNDS: (usize, usize) = (15, 1_000);

/// Torn ends that all rounds together must have met: fewer would show little. Rounds with long entries are added until
/// there are so many, in a file system in memory if there is one: it writes page by page, where a disk's has large pieces
/// that are not interrupted.
const TORN: (usize, usize) = (8, 500);

/// Rounds for one torn end, at most: on a machine with one processor they are rare.
const PATIENCE: usize = 400;

/// A file system in memory.
const MEMORY: &str = "/dev/shm";

/// One round of so many with long entries ends at any moment of the next two entries, as all with short ones do. The others end
/// when the file grows, because making an entry takes longer than writing it.
const ANYWHERE: usize = 4;

/// The longest wait for that.
const GROWS_WITHIN: Duration = Duration::from_millis(50);

/// A file larger than this is not gone on with: every round reads all of it.
const LARGE: u64 = 3 << 19;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "S-01",
        title: "haft is killed while it writes a session",
        cases: &[FaultCase { play: |world| Box::pin(survives_kills(world)), ..CASE }],
        undefend: Some(|_| take_down(Defence::TornTails)),
    },
    FaultRow {
        id: "S-06",
        title: "two write one session",
        cases: &[FaultCase { play: |world| Box::pin(refuses_second_writer(world)), ..CASE }],
        undefend: Some(|_| take_down(Defence::SessionLock)),
    },
    FaultRow {
        id: "S-10",
        title: "a session is very long, has a line of 8 MiB and entries of unknown types, or is of a newer format",
        cases: &[FaultCase { play: |world| Box::pin(large::opens_large_session(world)), ..CASE }],
        undefend: Some(|_| take_down(Defence::SessionTail)),
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
    let RoundFindings { rounds, torn, acknowledged } = found.await.context("the loop panicked")??;
    ensure!(torn >= least, "only {torn} torn ends were met in {rounds} rounds; {least} would show something");
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
        ensure!(matches!(second, Err(SessionError::Locked { .. })), "the second one was let in: {second:?}");
        let looked = Session::open_read_only(&writer.file).context("look at it")?;
        ensure!(!looked.branch().is_empty(), "whoever looks sees nothing");
        writer.kill()?;
        Session::open(&writer.file).context("open it after the first one was killed")?;
        Ok(())
    })
    .await
    .context("it panicked")?
}

/// Rounds with one size.
struct KillLoop {
    dir: PathBuf,
    size: usize,
    /// The file that is gone on with, and what was acknowledged of it.
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

/// A directory in memory, or a usual one; gone in the end.
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
        // There may be nothing.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl KillLoop {
    fn new(dir: &Path, size: usize) -> Self {
        let (dir, acknowledged) = (dir.join(size.to_string()), HashSet::new());
        Self { dir, size, file: None, acknowledged, found: RoundFindings::default() }
    }

    /// So many rounds, and more until there were so many torn ends.
    fn run(mut self, rounds: usize, torn: usize) -> Result<RoundFindings> {
        fs::create_dir_all(&self.dir).context("make the directory of sessions")?;
        while self.found.rounds < rounds || (self.found.torn < torn && self.found.rounds < torn * PATIENCE) {
            self.found.rounds += 1;
            let torn = self
                .run_round()
                .with_context(|| format!("round {} of {} bytes", self.found.rounds, self.size))?;
            self.found.torn += usize::from(torn);
        }
        Ok(self.found)
    }

    /// Starts a writer, kills it, and looks for everything that was ever acknowledged. Whether the end was torn.
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
            fs::remove_file(&file).context("remove what was looked at")?;
        }
        Ok(torn)
    }

    /// As the next one finds it: no branch was begun, so all of it is one.
    fn check_entries(&self, file: &Path) -> Result<()> {
        let session = Session::open(file).context("open it again")?;
        let there: HashSet<String> = session.branch().iter().map(|entry| entry.id.to_string()).collect();
        let lost = self.acknowledged.difference(&there).count();
        ensure!(lost == 0, "{lost} acknowledged entries are lost, of {}", self.acknowledged.len());
        let mut repairs = session.take_repairs();
        repairs.retain(|repair| !matches!(repair, SessionRepair::TornTail { .. }));
        ensure!(repairs.is_empty(), "more than the end was torn: {repairs:?}");
        Ok(())
    }
}

/// Waits until a file grows: it is in the middle of a write then.
fn wait_for_growth(file: &Path) -> Result<()> {
    let (start, length) = (Instant::now(), || fs::metadata(file).map(|found| found.len()));
    let before = length().context("look at the session")?;
    while length()? == before && start.elapsed() < GROWS_WITHIN {}
    Ok(())
}

/// Waits without sleeping: whoever sleeps wakes too late.
fn spin_for(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Returns the length of a file, and true if its end is not a whole line.
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
        let binary = std::env::current_exe().context("find this binary")?;
        #[expect(clippy::disallowed_methods, reason = "this program again, which is no extension")]
        let mut command = Command::new(binary);
        command.arg(WRITER).arg(place).arg(size.to_string()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command.envs(defence::inherited());
        let mut child = command.spawn().context("start a writer")?;
        let said = BufReader::new(child.stdout.take().context("no standard output")?);
        let mut writer = Self { child, said, file: PathBuf::new() };
        writer.file = PathBuf::from(writer.line()?.context("the writer ended at once")?);
        Ok(writer)
    }

    /// The next id.
    fn next_acknowledged(&mut self) -> Result<String> {
        self.line()?.context("the writer ended by itself")
    }

    fn line(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        self.said.read_line(&mut line).context("read from the writer")?;
        // One that was cut says nothing.
        Ok(line.strip_suffix('\n').map(str::to_owned))
    }

    /// Kills it; what else it had said.
    fn kill(&mut self) -> Result<Vec<String>> {
        self.child.kill().context("kill the writer")?;
        self.child.wait().context("wait for its end")?;
        std::iter::from_fn(|| self.line().transpose()).collect()
    }
}

impl Drop for SessionWriter {
    fn drop(&mut self) {
        // One that is gone already is what this wants.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Below one, each time another.
fn random_fraction() -> f64 {
    let bits = RandomState::new().hash_one(()) >> 32;
    f64::from(u32::try_from(bits).unwrap_or_default()) / f64::from(u32::MAX)
}
