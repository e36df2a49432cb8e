//! Somebody who swaps a directory for a link that leads elsewhere, over and over, while files are written in it.

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

/// The first argument of a process that swaps two names until its input ends, and prints how often it did.
pub(crate) const RACER: &str = "race";

/// Fewer swaps are no race. The racer makes a file when it has done so many.
const SWAPS: usize = 100;
const RACED: &str = "raced";

/// Least number of writes that succeed, and of writes that are refused, before a race is over.
const EACH: (usize, usize) = (20, 500);

/// Between two swaps there are up to so many doublings of a microsecond: a write is hit at any of its steps, and now and
/// then at none. Odd, so that each of the two is in its place for every time.
const RESTS: usize = 13;

/// The shortest rest that is slept.
const SLEEP: Duration = Duration::from_micros(128);

/// The longest race, on a machine on which hardly anything is written or refused. The row has two of them.
const PATIENCE: Duration = Duration::from_secs(runner::PATIENCE.as_secs() / 3);

/// The process itself.
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
            eprintln!("cannot say that there was a race: {error}");
            return ExitCode::FAILURE;
        }
        pause_for(Duration::from_micros(1 << (swaps % RESTS)));
    }
    println!("{swaps}");
    ExitCode::SUCCESS
}

/// Long rests leave the processor to others; sleeping for a short one would make it long.
fn pause_for(time: Duration) {
    if time >= SLEEP {
        // sleep: the fault itself, at every moment of a write
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

/// The tools may write in the working directory only.
pub(super) async fn stays_below_root(world: &mut World) -> Result<()> {
    let mut race = SwapRace::begin(world)?;
    let environment = HostEnvironment::new(&race.work).with_backup_dir(world.dir.join("backups"));
    let session = ToolSession::with_environment(environment.with_root(&race.work)?);
    let mut tally = WriteTally::default();
    let path = format!("dir/{FILE}");
    while race.goes_on(&tally) {
        let new = format!("dir/new-{}/deep/{FILE}", tally.attempts() % 64);
        let line = json!([{"old_text": "line", "new_text": "line"}]);
        tally.read(session.call("read", json!({"path": path})).await?.is_ok());
        tally.count(session.call("write", json!({"path": path, "content": "a line"})).await?.is_ok());
        tally.count(session.call("edit", json!({"path": path, "edits": line})).await?.is_ok());
        tally.count(session.call("write", json!({"path": new, "content": "new"})).await?.is_ok());
    }
    race.end(world, &tally)
}

/// They may write anywhere, and follow links; but what was found to be inside is written inside.
pub(super) async fn follows_links_inside(world: &mut World) -> Result<()> {
    let mut race = SwapRace::begin(world)?;
    let environment = HostEnvironment::new(&race.work).with_backup_dir(world.dir.join("backups"));
    let mut tally = WriteTally::default();
    while race.goes_on(&tally) {
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

/// The tally of the tries.
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

/// A race that is on.
struct SwapRace {
    work: PathBuf,
    outside: PathBuf,
    before: Vec<SystemTime>,
    racer: Child,
    start: Instant,
    /// Least number of writes that succeed, and of writes that are refused.
    each: usize,
}

impl SwapRace {
    fn begin(world: &World) -> Result<Self> {
        if !cfg!(target_os = "linux") {
            return skip("renameat2, to swap two names at once");
        }
        let work = world.dir.join("work").canonicalize()?;
        let outside = world.dir.join("outside");
        for (dir, text) in [(&work.join("dir"), "a line"), (&outside, "theirs")] {
            fs::create_dir_all(dir)?;
            fs::write(dir.join(FILE), text)?;
        }
        std::os::unix::fs::symlink(&outside, work.join("link"))?;
        let before = change_times(&outside)?;
        #[expect(clippy::disallowed_methods, reason = "the racer, which is no extension")]
        let mut racer = Command::new(std::env::current_exe()?);
        racer.args([Path::new(RACER), &work.join("dir"), &work.join("link")]);
        let racer = racer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("start the racer")?;
        let each = world.amount(EACH.0, EACH.1);
        Ok(Self { work, outside, before, racer, start: Instant::now(), each })
    }

    /// Both must have happened often enough: a write, and that one was refused.
    fn goes_on(&self, tally: &WriteTally) -> bool {
        let is_over = tally.written.min(tally.refused) >= self.each && self.work.join(RACED).exists();
        !is_over && self.start.elapsed() < PATIENCE
    }

    /// Nothing was made, changed or removed outside, not even for a moment; and there was a race.
    fn end(&mut self, world: &World, tally: &WriteTally) -> Result<()> {
        drop(self.racer.stdin.take());
        let mut swaps = String::new();
        self.racer.stdout.take().context("the racer's output")?.read_to_string(&mut swaps)?;
        ensure!(self.racer.wait()?.success(), "the racer failed");
        let swaps: usize = swaps.trim().parse().context("count the swaps")?;
        let WriteTally { written, refused, reads } = *tally;
        let figures = format!("{swaps} swaps, {written} written, {refused} refused, {reads} read");
        world.mark(&figures)?;
        world.report_finding(&figures);
        ensure!(
            fs::read_to_string(self.outside.join(FILE))? == "theirs",
            "the file outside is changed: {figures}"
        );
        let names = fs::read_dir(&self.outside)?.count();
        ensure!(names == 1, "{} things were made outside: {figures}", names - 1);
        ensure!(change_times(&self.outside)? == self.before, "something was outside for a moment: {figures}");
        if swaps < SWAPS || written == 0 || refused == 0 {
            bail!("no race: {figures}");
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

/// When the directory and the file in it were changed last.
fn change_times(outside: &Path) -> Result<Vec<SystemTime>> {
    let changed = |path: &Path| fs::metadata(path)?.modified();
    Ok(vec![changed(outside)?, changed(&outside.join(FILE))?])
}
