//! The measured goals: `haft-faults goal [--full] [--report FILE] [ID…]` prints each figure beside its
//! target.
//!
//! A row of the matrix asks whether something holds; a goal says how well. Everything runs as in the program: one
//! thread for agent and extensions, the launcher in between, the deadlines of the product. Latencies are compared with
//! those of the same minute without the disturbance, in pairs that take turns, because machines differ and so do
//! minutes. Each goal is measured in a process of its own.
//!
//! No goal is missed because the machine is busy: a latency has a target, which is printed, and beside it a limit with
//! room for a busy neighbour, beyond which it is missed. What is between the two is `slow`.
//!
//! A goal that is independent of how busy the machine is also runs in `ci`, with reduced counts.

mod chains;
mod client;
mod figure;
mod hostile;
mod install;
mod kill;
mod neighbours;
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

use crate::report::{Entry, Outcome, Report};
use crate::runner::kill_tagged;
use crate::world::{Mode, Setup};
pub(crate) use figure::Figure;
pub(crate) use kill::{HOST, play_host};
#[cfg(target_os = "linux")]
pub(crate) use sandbox::{PROBE, probe};

/// The first argument of a process that measures goals.
pub(crate) const GOAL: &str = "goal";

/// The variable by which a process knows that it measures one goal for another process.
const ALONE: &str = "HAFT_GOAL_ALONE";

/// The beginning of a line that reports an error.
const ERROR: &str = "error:";

/// A promise with a number.
struct Goal {
    id: &'static str,
    title: &'static str,
    /// True if it says how quick something is, which a busy machine spoils.
    is_latency: bool,
    measure: fn(&Place) -> Result<Vec<Figure>>,
}

const GOALS: &[Goal] = &[
    Goal {
        id: "G5",
        title: "neighbours of extensions that crash, flood and fill logs",
        is_latency: true,
        measure: neighbours::measure,
    },
    Goal {
        id: "G6",
        title: "24 hours of reloads, events and calls",
        is_latency: false,
        measure: soak::measure,
    },
    Goal {
        id: "G7",
        title: "what outlives a host, and how long an end takes",
        is_latency: false,
        measure: kill::measure,
    },
    Goal {
        id: "G8",
        title: "what silent extensions cost: at the start, as observers, as gates",
        is_latency: true,
        measure: |place| Ok([starts::measure(place)?, observers::measure(place)?].concat()),
    },
    #[cfg(target_os = "linux")]
    Goal {
        id: "G9",
        title: "what a program in a sandbox can do",
        is_latency: false,
        measure: sandbox::measure,
    },
    Goal {
        id: "G10",
        title: "what a project that nobody trusts has executed, with a terminal and without",
        is_latency: false,
        measure: hostile::measure,
    },
    Goal {
        id: "G11",
        title: "gates: what is executed was seen, and a failed gate blocks",
        is_latency: false,
        measure: |place| Ok([chains::measure(place)?, refusals::measure(place)?].concat()),
    },
    Goal {
        id: "G12",
        title: "what a terminal obeys of hostile text",
        is_latency: false,
        measure: terminal::measure,
    },
    Goal { id: "G13", title: "attacks on an installation", is_latency: false, measure: install::measure },
    Goal {
        id: "G14",
        title: "what ten thousand prompts of a client leave in the program that it drives",
        is_latency: false,
        measure: client::measure,
    },
];

/// Where a goal is measured, and how thoroughly.
pub(crate) struct Place {
    mode: Mode,
    tag: String,
    dir: PathBuf,
}

impl Place {
    /// Returns an amount for the depth of the run.
    fn amount<T>(&self, reduced: T, full: T) -> T {
        if self.mode.full { full } else { reduced }
    }

    /// A world that is not started yet: a canary, the deadlines of the product, and nothing written that the product
    /// would not write.
    fn setup(&self, name: &str) -> Result<Setup> {
        let mut setup = Setup::new(self.mode, &self.tag, self.dir.join(name))?;
        setup.config.timeouts = Timeouts::default();
        setup.config.env.set.retain(|(variable, _)| variable != "HAFT_TRANSCRIPT");
        Ok(setup)
    }

    /// Like the program's.
    fn runtime() -> Result<tokio::runtime::Runtime> {
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("make a runtime")
    }
}

/// Measures these goals, or all of them; of all, only those that a busy machine does not spoil if the run is a reduced
/// one.
pub(crate) fn run(mode: Mode, ids: &[&str], report: Option<&Path>) -> ExitCode {
    let named = |goal: &&Goal| match ids {
        [] => mode.full || !goal.is_latency,
        ids => ids.contains(&goal.id),
    };
    let goals: Vec<&Goal> = GOALS.iter().filter(named).collect();
    let unknown = ids.iter().find(|id| !GOALS.iter().any(|goal| goal.id == **id));
    let outcome = match (unknown, ids, goals.as_slice()) {
        (Some(id), _, _) => Err(anyhow::anyhow!("there is no goal {id}")),
        (None, [_], [goal]) if std::env::var_os(ALONE).is_some() => one(goal, mode),
        (None, _, goals) => each(goals, mode, report),
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

/// Each in a process of its own: what one leaves in memory is not the next one's.
fn each(goals: &[&Goal], mode: Mode, report: Option<&Path>) -> Result<bool> {
    let mut report = Report::new(report)?;
    for goal in goals {
        report.add(alone(goal, mode)?)?;
    }
    print!("{}", report.lists());
    Ok(report.is_good())
}

/// Measures a goal in a process of its own, and prints what it prints. The reason of its entry is made of the lines that
/// say what was missed, or not measured.
fn alone(goal: &Goal, mode: Mode) -> Result<Entry> {
    let (binary, start) = (std::env::current_exe().context("find this binary")?, Instant::now());
    #[expect(clippy::disallowed_methods, reason = "this program again, which is no extension")]
    let mut command = Command::new(binary);
    command.args([GOAL, goal.id]).args(mode.flags()).env(ALONE, "1").stdout(Stdio::piped());
    let mut child = command.spawn().context("start this program again")?;
    let said = BufReader::new(child.stdout.take().context("its output")?);
    let (mut missed, mut skipped, mut figures) = (Vec::new(), Vec::new(), 0);
    for line in said.lines() {
        let line = line.context("read what a goal says")?;
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
        (false, _) => (Outcome::Failed, missed),
        (true, 0) => (Outcome::Skipped, skipped),
        (true, _) => (Outcome::Ok, skipped),
    };
    let flags: String = mode.flags().iter().map(|flag| format!("{flag} ")).collect();
    let repeat = format!("cargo xtask faults --goals {flags}{}", goal.id);
    Ok(Entry::new(goal.id, outcome, start.elapsed(), reasons.join("; "), repeat))
}

fn one(goal: &Goal, mode: Mode) -> Result<bool> {
    let counts = if mode.full { "full" } else { "reduced" };
    println!("{:<4} {} ({counts} counts)", goal.id, goal.title);
    let binary = std::env::current_exe().context("find this binary")?;
    let dir = binary.ancestors().nth(2).unwrap_or(Path::new("target")).join("faults").join(goal.id);
    // What an earlier run left, if anything.
    _ = std::fs::remove_dir_all(&dir);
    let tag = format!("{}-{}", goal.id, std::process::id());
    let place = Place { mode, tag, dir };
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
        // Only of use where something went wrong.
        _ = std::fs::remove_dir_all(&place.dir);
    }
    Ok(met)
}
