//! Group S: the files of sessions, while their writers are killed.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use haft_core::session::store::read;
use haft_core::session::{Session, SessionError};
use haft_protocol::defence::{Defence, take_down};

use crate::row::{CASE, Case, Row};
use crate::world::World;
use crate::writer::WRITER;

/// Bytes of an entry: one that is mostly written at once, and one that is often cut.
const SIZES: [usize; 2] = [2 * 1024, 300 * 1024];

/// Rounds of each size.
const ROUNDS: (usize, usize) = (30, 500);

/// Torn ends that all rounds together must have met: fewer would show little.
const TORN: (usize, usize) = (3, 500);

/// A file larger than this is not gone on with: every round reads all of it.
const LARGE: u64 = 4 << 20;

/// The longest time between the first acknowledgement and the end, in microseconds.
const LIVES: u64 = 2_000;

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "S-01",
        title: "haft is killed while it writes a session",
        cases: &[Case { play: |world| Box::pin(killed(world)), ..CASE }],
        undefend: Some(|_| take_down(Defence::TornTails)),
    },
    Row {
        id: "S-06",
        title: "two write one session",
        cases: &[Case { play: |world| Box::pin(two(world)), ..CASE }],
        undefend: Some(|_| take_down(Defence::SessionLock)),
    },
];

async fn killed(world: &mut World) -> Result<()> {
    world.mark("killed")?;
    let (rounds, least) = (world.amount(ROUNDS.0, ROUNDS.1), world.amount(TORN.0, TORN.1));
    let dir = world.dir.join("sessions");
    let torn = tokio::task::spawn_blocking(move || -> Result<usize> {
        let mut torn = 0;
        for size in SIZES {
            torn += Loop::new(&dir, size).run(rounds)?;
        }
        Ok(torn)
    });
    let torn = torn.await.context("the loop panicked")??;
    ensure!(torn >= least, "only {torn} torn ends were met, and {least} would show something");
    Ok(())
}

async fn two(world: &mut World) -> Result<()> {
    world.mark("two writers")?;
    let dir = world.dir.join("sessions");
    tokio::task::spawn_blocking(move || -> Result<()> {
        let mut writer = Writer::start(&dir, SIZES[0])?;
        writer.acknowledged()?;
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
struct Loop {
    dir: PathBuf,
    size: usize,
    /// The file that is gone on with, and what was acknowledged of it.
    file: Option<PathBuf>,
    acknowledged: HashSet<String>,
}

impl Loop {
    fn new(dir: &Path, size: usize) -> Self {
        Self { dir: dir.join(size.to_string()), size, file: None, acknowledged: HashSet::new() }
    }

    /// How many torn ends were met.
    fn run(mut self, rounds: usize) -> Result<usize> {
        fs::create_dir_all(&self.dir).context("make the directory of sessions")?;
        let mut torn = 0;
        for round in 1..=rounds {
            torn +=
                usize::from(self.round().with_context(|| format!("round {round} of {} bytes", self.size))?);
        }
        Ok(torn)
    }

    /// Starts a writer, kills it, and looks for everything that was ever acknowledged. Whether the end was torn.
    fn round(&mut self) -> Result<bool> {
        let mut writer = Writer::start(self.file.as_deref().unwrap_or(&self.dir), self.size)?;
        self.acknowledged.insert(writer.acknowledged()?);
        std::thread::sleep(Duration::from_micros(random() % LIVES));
        self.acknowledged.extend(writer.kill()?);
        let file = std::mem::take(&mut writer.file);
        let bytes = fs::read(&file).context("read the session")?;
        // As the next one finds it.
        drop(Session::open(&file).context("open it again")?);
        let there: HashSet<String> = read(&file)?.entries.iter().map(|entry| entry.id.to_string()).collect();
        let lost = self.acknowledged.difference(&there).count();
        ensure!(lost == 0, "{lost} acknowledged entries are lost, of {}", self.acknowledged.len());
        self.file = (bytes.len() as u64 <= LARGE).then_some(file.clone());
        if self.file.is_none() {
            self.acknowledged.clear();
            fs::remove_file(&file).context("remove what was looked at")?;
        }
        Ok(!bytes.ends_with(b"\n"))
    }
}

/// A process that writes a session.
struct Writer {
    child: Child,
    said: BufReader<ChildStdout>,
    file: PathBuf,
}

impl Writer {
    fn start(place: &Path, size: usize) -> Result<Self> {
        let binary = std::env::current_exe().context("find this binary")?;
        #[expect(clippy::disallowed_methods, reason = "this program again, which is no extension")]
        let mut command = Command::new(binary);
        command.arg(WRITER).arg(place).arg(size.to_string()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().context("start a writer")?;
        let said = BufReader::new(child.stdout.take().context("no standard output")?);
        let mut writer = Self { child, said, file: PathBuf::new() };
        writer.file = PathBuf::from(writer.line()?.context("the writer ended at once")?);
        Ok(writer)
    }

    /// The next id.
    fn acknowledged(&mut self) -> Result<String> {
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

impl Drop for Writer {
    fn drop(&mut self) {
        // One that is gone already is what this wants.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}
