//! The measured goals: `haft-faults goal [--full] [--report FILE] [ID…]` prints each figure with its target.
//!
//! A row of the matrix checks that something holds; a goal measures how well. Everything runs as in the program: one
//! thread for agent and extensions, the launcher in between, the deadlines of the product. Latencies are compared with
//! those without the disturbance in alternating pairs, because machines differ and their load changes. Each goal is
//! measured in a separate process.
//!
//! A busy machine does not fail a goal. A latency has a target, which is printed, and a higher limit, which fails the
//! goal. A latency between the two is reported as `slow`.
//!
//! `ci` also runs the goals that do not depend on the load of the machine, with reduced counts.

mod chains;
mod client;
mod figure;
mod hostile;
mod install;
mod kill;
mod neighbors;
mod observers;
mod refusals;
#[cfg(target_os = "linux")]
mod sandbox;
mod screen;
mod soak;
mod starts;
mod terminal;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use haft_host::Timeouts;

use crate::report::{ReportEntry, ReportOutcome, RunReport};
use crate::runner::kill_tagged;
use crate::world::{RunMode, WorldSetup};
pub(crate) use figure::GoalFigure;
pub(crate) use kill::{HOST, play_host};
#[cfg(target_os = "linux")]
pub(crate) use sandbox::{PROBE, run_probes};

/// The first argument of a process that measures goals.
pub(crate) const GOAL: &str = "goal";

/// The environment variable of a process that measures one goal for another process.
const ALONE: &str = "HAFT_GOAL_ALONE";

/// The beginning of a line that reports an error.
const ERROR: &str = "error:";

/// A goal with a number.
struct MeasuredGoal {
    id: &'static str,
    title: &'static str,
    /// True if the goal measures latency, which depends on the load of the machine.
    is_latency: bool,
    measure: fn(&GoalContext) -> Result<Vec<GoalFigure>>,
}

const GOALS: &[MeasuredGoal] = &[
    MeasuredGoal {
        id: "G5",
        title: "latency next to extensions that crash, flood and fill logs",
        is_latency: true,
        measure: neighbors::measure,
    },
    MeasuredGoal {
        id: "G6",
        title: "24 hours of reloads, events and calls",
        is_latency: false,
        measure: soak::measure,
    },
    MeasuredGoal {
        id: "G7",
        title: "processes that outlive a host, and the duration of a shutdown",
        is_latency: false,
        measure: kill::measure,
    },
    MeasuredGoal {
        id: "G8",
        title: "the cost of silent extensions: at the start, as observers, as gates",
        is_latency: true,
        measure: |place| Ok([starts::measure(place)?, observers::measure(place)?].concat()),
    },
    #[cfg(target_os = "linux")]
    MeasuredGoal {
        id: "G9",
        title: "actions of a program in a sandbox",
        is_latency: false,
        measure: sandbox::measure,
    },
    MeasuredGoal {
        id: "G10",
        title: "programs that an untrusted project executes, with and without a terminal",
        is_latency: false,
        measure: hostile::measure,
    },
    MeasuredGoal {
        id: "G11",
        title: "gates: every executed call was checked, and a failed gate blocks",
        is_latency: false,
        measure: |place| Ok([chains::measure(place)?, refusals::measure(place)?].concat()),
    },
    MeasuredGoal {
        id: "G12",
        title: "terminal commands in hostile text",
        is_latency: false,
        measure: terminal::measure,
    },
    MeasuredGoal {
        id: "G13",
        title: "attacks on an installation",
        is_latency: false,
        measure: install::measure,
    },
    MeasuredGoal {
        id: "G14",
        title: "resources that `haft rpc` keeps after ten thousand prompts",
        is_latency: false,
        measure: client::measure,
    },
];

/// The directory of a measurement, and its depth.
pub(crate) struct GoalContext {
    mode: RunMode,
    tag: String,
    dir: PathBuf,
}

impl GoalContext {
    /// Returns the reduced or the full amount.
    fn amount<T>(&self, reduced: T, full: T) -> T {
        if self.mode.full { full } else { reduced }
    }

    /// Creates the setup of a world with a canary, the deadlines of the product, and no transcripts.
    fn setup(&self, name: &str) -> Result<WorldSetup> {
        let mut setup = WorldSetup::new(self.mode, &self.tag, self.dir.join(name))?;
        setup.config.timeouts = Timeouts::default();
        setup.config.env.set.retain(|(variable, _)| variable != "HAFT_TRANSCRIPT");
        Ok(setup)
    }

    /// Creates a runtime like the program's.
    fn runtime() -> Result<tokio::runtime::Runtime> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("create a runtime")
    }
}

/// Measures these goals, or all of them. A reduced run of all goals skips those that depend on the load of the machine.
pub(crate) fn run(mode: RunMode, ids: &[&str], report: Option<&Path>) -> ExitCode {
    let named = |goal: &&MeasuredGoal| match ids {
        [] => mode.full || !goal.is_latency,
        ids => ids.contains(&goal.id),
    };
    let goals: Vec<&MeasuredGoal> = GOALS.iter().filter(named).collect();
    let unknown = ids.iter().find(|id| !GOALS.iter().any(|goal| goal.id == **id));
    let outcome = match (unknown, ids, goals.as_slice()) {
        (Some(id), _, _) => Err(anyhow::anyhow!("unknown goal {id}")),
        (None, [_], [goal]) if std::env::var_os(ALONE).is_some() => measure_one(goal, mode),
        (None, _, goals) => measure_each(goals, mode, report),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{ERROR} {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures each goal in a separate process, so that memory use does not carry over.
fn measure_each(goals: &[&MeasuredGoal], mode: RunMode, report: Option<&Path>) -> Result<bool> {
    let mut report = RunReport::new(report)?;
    for goal in goals {
        report.add(measure_in_process(goal, mode)?)?;
    }
    print!("{}", report.render_lists());
    Ok(report.is_good())
}

/// Measures a goal in a separate process and prints its output. The entry's reason consists of the lines about missed
/// and skipped figures.
fn measure_in_process(goal: &MeasuredGoal, mode: RunMode) -> Result<ReportEntry> {
    let (binary, start) = (std::env::current_exe().context("find the path of this binary")?, Instant::now());
    #[expect(clippy::disallowed_methods, reason = "starts this program, not an extension")]
    let mut command = Command::new(binary);
    command.args([GOAL, goal.id]).args(mode.flags()).env(ALONE, "1").stdout(Stdio::piped());
    let mut child = command.spawn().context("start this program")?;
    let said = BufReader::new(child.stdout.take().context("the process has no output pipe")?);
    let (mut missed, mut skipped, mut figures) = (Vec::new(), Vec::new(), 0);
    for line in said.lines() {
        let line = line.context("read the output of a goal")?;
        println!("{line}");
        let said = line.trim();
        figures += usize::from(said.starts_with(figure::MET));
        if said.starts_with(figure::MISSED) || said.starts_with(ERROR) {
            missed.push(said.to_owned());
        } else if said.starts_with(figure::SKIPPED) {
            skipped.push(said.to_owned());
        }
    }
    let met = child.wait().context("wait for this program")?.success();
    let (outcome, reasons) = match (met, figures) {
        (false, _) => (ReportOutcome::Failed, missed),
        (true, 0) => (ReportOutcome::Skipped, skipped),
        (true, _) => (ReportOutcome::Ok, skipped),
    };
    let flags: String = mode.flags().iter().map(|flag| format!("{flag} ")).collect();
    let repeat = format!("cargo xtask faults --goals {flags}{}", goal.id);
    Ok(ReportEntry::new(goal.id, outcome, start.elapsed(), reasons.join("; "), repeat))
}

fn measure_one(goal: &MeasuredGoal, mode: RunMode) -> Result<bool> {
    let counts = if mode.full { "full" } else { "reduced" };
    println!("{:<4} {} ({counts} counts)", goal.id, goal.title);
    let binary = std::env::current_exe().context("find the path of this binary")?;
    let dir = binary.ancestors().nth(2).unwrap_or(Path::new("target")).join("faults").join(goal.id);
    // Remove the results of an earlier run.
    _ = std::fs::remove_dir_all(&dir);
    let tag = format!("{}-{}", goal.id, std::process::id());
    let place = GoalContext { mode, tag, dir };
    let start = Instant::now();
    let measured = (goal.measure)(&place);
    kill_tagged(&place.tag);
    let figures = measured.with_context(|| format!("measure {}", goal.id))?;
    if figures.is_empty() {
        bail!("{} measured nothing", goal.id);
    }
    figures.iter().for_each(|figure| println!("     {figure}"));
    println!("     in {:.0} s", start.elapsed().as_secs_f64());
    let met = figures.iter().all(|figure| !figure.is_missed());
    if met {
        // The files are only useful after a failure.
        _ = std::fs::remove_dir_all(&place.dir);
    }
    Ok(met)
}
