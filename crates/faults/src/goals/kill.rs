//! G7: processes that outlive a killed host, and the duration of a shutdown with fifty extensions that ignore the
//! request.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_host::Host;

use super::figure::{SortedTimes, format_ms};
use super::{GoalContext, GoalFigure};
use crate::misbehavior::misbehaving_spec;
use crate::oracle::tagged_processes;
use crate::runner::kill_tagged;
use crate::world::RunMode;

/// The first argument of a process that runs a host until it is killed.
pub(crate) const HOST: &str = "host";

/// The number of killed hosts.
const ROUNDS: (usize, usize) = (8, 200);

/// One extension that reads its input, one that ignores input and signals, one with a child in its process group, one
/// with a daemon in a separate session.
const KINDS: &[&str] = &["good", "deaf", "heir", "daemonize"];

/// The smallest number of processes of such a host: the four extensions, the canary, the child and the daemon.
const PROCESSES: usize = 7;

/// The longest wait until all processes are gone. Processes that remain would never end, because none of them exits by
/// itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// The observation time without guardians, as a multiple of the time that the processes with guardians took to end.
const LONGER: u32 = 3;

/// The interval between two checks.
const LOOK: Duration = Duration::from_millis(5);

/// The number of extensions that ignore the request to shut down.
const STUBBORN: usize = 50;

/// The longest shutdown of all of them. In parallel it takes the 3 s of one extension; one after the other, 150 s.
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
        std::fs::remove_dir_all(&dir).context("remove the directory of the round")?;
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
            "processes left without guardians, one round",
            control.left,
            "more than 0",
            control.left > 0,
        ),
    ];
    figures.extend(measure_stubborn(place)?);
    Ok(figures)
}

/// The extensions of one killed host.
struct KilledHost {
    /// The number of processes that remained.
    left: usize,
    /// The time until all processes were gone, if they were.
    took: Duration,
}

impl KilledHost {
    fn watch(place: &GoalContext, dir: &Path, guarded: bool, patience: Duration) -> Result<Self> {
        let mut host = HostProcess::start(place, dir, guarded)?;
        let before = tagged_processes(&place.tag).len();
        ensure!(before >= PROCESSES, "only {before} processes were started");
        host.kill()?;
        let start = Instant::now();
        let left = loop {
            let left = tagged_processes(&place.tag).len();
            if left == 0 || start.elapsed() > patience {
                break left;
            }
            // sleep: between two checks
            std::thread::sleep(LOOK);
        };
        let took = start.elapsed();
        kill_tagged(&place.tag);
        Ok(Self { left, took })
    }
}

/// A host in a separate process, which is killed on drop.
struct HostProcess(Child);

impl HostProcess {
    /// Starts the host and waits until its extensions run.
    fn start(place: &GoalContext, dir: &Path, guarded: bool) -> Result<Self> {
        let binary = std::env::current_exe().context("find the path of this binary")?;
        #[expect(clippy::disallowed_methods, reason = "starts this program, not an extension")]
        let mut command = Command::new(binary);
        command.arg(HOST).arg(&place.tag).arg(dir).arg(if guarded { "guarded" } else { "unguarded" });
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("start a host")?;
        let stdout = child.stdout.take().context("the host has no output pipe")?;
        let host = Self(child);
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("read the output of the host")?;
        ensure!(line.trim() == READY, "the host printed {line:?}");
        Ok(host)
    }

    fn kill(&mut self) -> Result<()> {
        self.0.kill().context("kill the host")?;
        self.0.wait().context("wait for the host").map(drop)
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        _ = self.kill();
    }
}

const READY: &str = "ready";

/// Runs a host with an extension of every kind until it is killed.
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

/// Measures a host with many extensions that ignore the request to shut down.
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
    let what = format!("shutdown of {STUBBORN} extensions that ignore the request");
    Ok(vec![
        GoalFigure::new(what, format_ms(took), "75 s; one after the other 150 s", took <= END),
        GoalFigure::new("processes left after it", left, "0", left == 0),
    ])
}
