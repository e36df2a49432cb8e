//! A process that repeatedly swaps a directory with a link to another directory while files are written in it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use haft_tools::{Environment, HostEnvironment, ParentPolicy};
use serde_json::json;

use super::ToolSession;
use super::writer::FILE;
use crate::row::skip;
use crate::runner;
use crate::world::World;

/// The first argument of a process that swaps two names until its input ends and prints the number of swaps.
pub(crate) const RACER: &str = "race";

/// The smallest number of swaps of a race. The racer creates a file after this number.
const SWAPS: usize = 100;
const RACED: &str = "raced";

/// The smallest number of successful and of rejected writes in a race.
const EACH: (usize, usize) = (20, 500);

/// The pauses between swaps: up to this many doublings of a microsecond, so that swaps hit a write at any step, and
/// some miss it. The number is odd, so that both names get every pause.
const RESTS: usize = 13;

/// The shortest pause that sleeps.
const SLEEP: Duration = Duration::from_micros(128);

/// The longest race, for machines on which few writes succeed or fail. The row has two races.
const PATIENCE: Duration = Duration::from_secs(runner::PATIENCE.as_secs() / 3);

/// Runs the racer process.
pub(crate) fn run_racer(one: &Path, other: &Path) -> ExitCode {
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    std::thread::spawn(move || {
        _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::Relaxed);
    });
    let mut swaps = 0_usize;
    while !over.load(Ordering::Relaxed) {
        if let Err(error) = exchange(one, other) {
            eprintln!("cannot swap: {error}");
            return ExitCode::FAILURE;
        }
        swaps += 1;
        if swaps == SWAPS
            && let Err(error) = fs::write(one.with_file_name(RACED), "")
        {
            eprintln!("cannot create the file of the race: {error}");
            return ExitCode::FAILURE;
        }
        pause_for(Duration::from_micros(1 << (swaps % RESTS)));
    }
    println!("{swaps}");
    ExitCode::SUCCESS
}

/// Long pauses yield the processor; sleeping for a short pause would make it longer.
fn pause_for(time: Duration) {
    if time >= SLEEP {
        // sleep: part of the fault, at every moment of a write
        return std::thread::sleep(time);
    }
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Checks the tools with a root: they may write only in the working directory.
pub(super) async fn stays_below_root(world: &mut World) -> Result<()> {
    let mut race = SwapRace::begin(world)?;
    let environment = HostEnvironment::new(&race.work).with_backup_dir(world.dir.join("backups"));
    let session = ToolSession::with_environment(environment.with_root(&race.work)?);
    let mut tally = WriteTally::default();
    let path = format!("dir/{FILE}");
    while race.must_continue(&tally) {
        let new = format!("dir/new-{}/deep/{FILE}", tally.attempts() % 64);
        let line = json!([{"old_text": "line", "new_text": "line"}]);
        tally.read(session.call("read", json!({"path": path})).await?.is_ok());
        tally.count(session.call("write", json!({"path": path, "content": "a line"})).await?.is_ok());
        tally.count(session.call("edit", json!({"path": path, "edits": line})).await?.is_ok());
        tally.count(session.call("write", json!({"path": new, "content": "new"})).await?.is_ok());
    }
    race.end(world, &tally)
}

/// Checks the tools without a root: they may follow links, but a path that was resolved inside must be written inside.
pub(super) async fn follows_links_inside(world: &mut World) -> Result<()> {
    let mut race = SwapRace::begin(world)?;
    let environment = HostEnvironment::new(&race.work).with_backup_dir(world.dir.join("backups"));
    let mut tally = WriteTally::default();
    while race.must_continue(&tally) {
        let name =
            if tally.attempts() % 2 == 0 { FILE.to_owned() } else { format!("new-{}", tally.attempts()) };
        let path = race.work.join("dir").join(name);
        let Ok(mut file) = environment.claim(&path, ParentPolicy::Exist).await else { continue };
        let inside = file.key().await.is_ok_and(|key| key.path == path);
        tally.read(inside);
        if inside && file.read(1_000).await.is_ok() {
            tally.count(file.replace(b"a line".to_vec()).await.is_ok());
        }
    }
    race.end(world, &tally)
}

/// The counts of the writes.
#[derive(Default)]
struct WriteTally {
    written: usize,
    refused: usize,
    reads: usize,
}

impl WriteTally {
    fn attempts(&self) -> usize {
        self.written + self.refused
    }

    fn count(&mut self, written: bool) {
        if written {
            self.written += 1;
        } else {
            self.refused += 1;
        }
    }

    fn read(&mut self, done: bool) {
        self.reads += usize::from(done);
    }
}

/// A running race.
struct SwapRace {
    work: PathBuf,
    outside: PathBuf,
    before: Vec<SystemTime>,
    racer: Child,
    start: Instant,
    /// The smallest number of successful and of rejected writes.
    each: usize,
}

impl SwapRace {
    fn begin(world: &World) -> Result<Self> {
        if !cfg!(target_os = "linux") {
            return skip("renameat2, which swaps two names atomically");
        }
        let work = world.dir.join("work").canonicalize()?;
        let outside = world.dir.join("outside");
        for (dir, text) in [(&work.join("dir"), "a line"), (&outside, "theirs")] {
            fs::create_dir_all(dir)?;
            fs::write(dir.join(FILE), text)?;
        }
        std::os::unix::fs::symlink(&outside, work.join("link"))?;
        let before = change_times(&outside)?;
        #[expect(clippy::disallowed_methods, reason = "starts the racer, not an extension")]
        let mut racer = Command::new(std::env::current_exe()?);
        racer.args([Path::new(RACER), &work.join("dir"), &work.join("link")]);
        let racer = racer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("start the racer")?;
        let each = world.amount(EACH.0, EACH.1);
        Ok(Self { work, outside, before, racer, start: Instant::now(), each })
    }

    /// True until enough writes have succeeded and enough were rejected.
    fn must_continue(&self, tally: &WriteTally) -> bool {
        let is_over = tally.written.min(tally.refused) >= self.each && self.work.join(RACED).exists();
        !is_over && self.start.elapsed() < PATIENCE
    }

    /// Checks that nothing outside was created, changed or removed, even temporarily, and that there was a race.
    fn end(&mut self, world: &World, tally: &WriteTally) -> Result<()> {
        drop(self.racer.stdin.take());
        let mut swaps = String::new();
        self.racer.stdout.take().context("the racer has no output pipe")?.read_to_string(&mut swaps)?;
        ensure!(self.racer.wait()?.success(), "the racer failed");
        let swaps: usize = swaps.trim().parse().context("parse the number of swaps")?;
        let WriteTally { written, refused, reads } = *tally;
        let figures = format!("{swaps} swaps, {written} written, {refused} refused, {reads} read");
        world.mark(&figures)?;
        world.report_finding(&figures);
        ensure!(
            fs::read_to_string(self.outside.join(FILE))? == "theirs",
            "the outside file was changed: {figures}"
        );
        let names = fs::read_dir(&self.outside)?.count();
        ensure!(names == 1, "{} outside files were created: {figures}", names - 1);
        ensure!(
            change_times(&self.outside)? == self.before,
            "an outside file existed temporarily: {figures}"
        );
        if swaps < SWAPS || written == 0 || refused == 0 {
            bail!("too few swaps for a race: {figures}");
        }
        Ok(())
    }
}

impl Drop for SwapRace {
    fn drop(&mut self) {
        drop(self.racer.stdin.take());
        _ = self.racer.wait();
    }
}

/// Returns the times of the last change of the directory and of its file.
fn change_times(outside: &Path) -> Result<Vec<SystemTime>> {
    let changed = |path: &Path| fs::metadata(path)?.modified();
    Ok(vec![changed(outside)?, changed(&outside.join(FILE))?])
}
