//! G7: what outlives a host that is killed, and how long the end of fifty takes that ignore the request.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_host::Host;

use super::figure::{SortedTimes, format_ms};
use super::{GoalContext, GoalFigure};
use crate::evil::misbehaving_spec;
use crate::oracle::tagged_processes;
use crate::runner::kill_tagged;
use crate::world::RunMode;

/// The first argument of a process that is a host and waits for its death.
pub(crate) const HOST: &str = "host";

/// Hosts that are killed.
const ROUNDS: (usize, usize) = (8, 200);

/// One that reads its input, one that neither reads nor ends by request, one with a child in its group, one with a
/// daemon in a session of its own.
const KINDS: &[&str] = &["good", "deaf", "heir", "daemonise"];

/// The least number of processes that such a host has started: the four, the canary, the child and the daemon.
const PROCESSES: usize = 7;

/// The longest wait until everything is gone. What would be left then would be left for ever: none of them ends by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Factor by which the processes without guardians are watched longer than the others took to end.
const LONGER: u32 = 3;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// The number of those that ignore the request to end.
const STUBBORN: usize = 50;

/// The longest end of all of them. Together they take the 3 s that each one has; one after the other they take 150 s.
const END: Duration = Duration::from_secs(75);

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let (reduced, full) = ROUNDS;
    let rounds = place.amount(reduced, full);
    let (mut survivors, mut times) = (0, Vec::new());
    for round in 0..rounds {
        let dir = place.dir.join(format!("round-{round}"));
        let killed = KilledHost::watch(place, &dir, true, PATIENCE)?;
        survivors += killed.left;
        times.push(killed.took);
        std::fs::remove_dir_all(&dir).context("remove what is of no use any more")?;
    }
    let times: SortedTimes = times.into_iter().collect();
    let longer = times.longest() * LONGER;
    let control = KilledHost::watch(place, &place.dir.join("unguarded"), false, longer)?;
    let what =
        format!("processes left of hosts that were killed, in {rounds} rounds × {} kinds", KINDS.len());
    let gone = format!(
        "p50 {}, p99 {}, longest {}",
        format_ms(times.p50()),
        format_ms(times.p99()),
        format_ms(times.longest())
    );
    let mut figures = vec![
        GoalFigure::new(what, survivors, "0", survivors == 0),
        GoalFigure::note("until all were gone", gone),
        GoalFigure::new(
            "the same without guardians, one round",
            control.left,
            "more than 0",
            control.left > 0,
        ),
    ];
    figures.extend(measure_stubborn(place)?);
    Ok(figures)
}

/// The fate of the extensions of one killed host.
struct KilledHost {
    /// Processes that were left when the time was over.
    left: usize,
    /// Until all were gone, if they were.
    took: Duration,
}

impl KilledHost {
    fn watch(place: &GoalContext, dir: &Path, guarded: bool, patience: Duration) -> Result<Self> {
        let mut host = HostProcess::start(place, dir, guarded)?;
        let before = tagged_processes(&place.tag).len();
        ensure!(before >= PROCESSES, "only {before} processes had been started");
        host.kill()?;
        let start = Instant::now();
        let left = loop {
            let left = tagged_processes(&place.tag).len();
            if left == 0 || start.elapsed() > patience {
                break left;
            }
            // sleep: between two looks
            std::thread::sleep(LOOK);
        };
        let took = start.elapsed();
        kill_tagged(&place.tag);
        Ok(Self { left, took })
    }
}

/// A host in a process of its own. Killed when it is dropped.
struct HostProcess(Child);

impl HostProcess {
    /// Starts it and waits until its extensions run.
    fn start(place: &GoalContext, dir: &Path, guarded: bool) -> Result<Self> {
        let binary = std::env::current_exe().context("find this binary")?;
        #[expect(clippy::disallowed_methods, reason = "this program again, which is no extension")]
        let mut command = Command::new(binary);
        command.arg(HOST).arg(&place.tag).arg(dir).arg(if guarded { "guarded" } else { "unguarded" });
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("start a host")?;
        let stdout = child.stdout.take().context("its output")?;
        let host = Self(child);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("read what it says")?;
        ensure!(line.trim() == READY, "the host says {line:?}");
        Ok(host)
    }

    fn kill(&mut self) -> Result<()> {
        self.0.kill().context("kill the host")?;
        self.0.wait().context("wait for the host").map(drop)
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // One that is gone already is what this wants.
        _ = self.kill();
    }
}

const READY: &str = "ready";

/// Is a host with an extension of every kind until it is killed.
pub(crate) fn play_host(mode: RunMode, tag: &str, dir: PathBuf, guarded: bool) -> ExitCode {
    let place = GoalContext { mode, tag: tag.to_owned(), dir };
    let outcome =
        GoalContext::runtime().and_then(|runtime| runtime.block_on(wait_for_death(&place, guarded)));
    if let Err(error) = outcome {
        println!("{error:#}");
    }
    ExitCode::FAILURE
}

async fn wait_for_death(place: &GoalContext, guarded: bool) -> Result<()> {
    let mut setup = place.setup("host")?;
    setup.set_env("HAFT_BARE", "1");
    if !guarded {
        setup.config.launcher = None;
    }
    KINDS.iter().for_each(|kind| setup.add(misbehaving_spec(&setup, kind, kind)));
    let host = Host::builder(setup.config).specs(setup.specs).start().await;
    host.wait_until_settled().await;
    println!("{READY}");
    std::future::pending().await
}

/// A host with many that ignore the request to end.
fn measure_stubborn(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let mut setup = place.setup("stubborn")?;
    setup.set_env("HAFT_BARE", "1");
    (0..STUBBORN).for_each(|number| {
        setup.add(misbehaving_spec(&setup, "ignore-sigterm", &format!("stubborn-{number}")))
    });
    let (running, took) = GoalContext::runtime()?.block_on(async {
        let host = Host::builder(setup.config).specs(setup.specs).start().await;
        host.wait_until_settled().await;
        let ready = |state| state == haft_host::ExtensionState::Ready;
        let running = host.statuses().into_iter().filter(|status| ready(status.state.clone())).count();
        let start = Instant::now();
        host.shutdown().await;
        (running, start.elapsed())
    });
    let left = tagged_processes(&place.tag).len();
    ensure!(running == STUBBORN + 1, "only {running} extensions ran");
    let what = format!("graceful end of {STUBBORN} extensions that ignore the request");
    Ok(vec![
        GoalFigure::new(what, format_ms(took), "75 s; one after the other 150 s", took <= END),
        GoalFigure::new("processes left after it", left, "0", left == 0),
    ])
}
