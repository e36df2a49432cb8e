//! haft beside other agents, each as its user runs it: one prompt, 50 shell calls, and a hook before every call.
//!
//! All speak to the same model on loopback. Two take turns, ABBA; a peer's figures are the base, haft's the candidate. Each
//! run gets a fresh home, and counts with everything it started. What is not on the PATH, or does not do what was asked,
//! is skipped and named with the last that it said.

mod claude;
mod codex;
mod gemini;
mod haft;
mod opencode;
mod pi;
mod zot;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::children::Program;
use crate::method::{Comparison, Plan, compare};
use crate::model::{LAST_WORD, Model, Script};
use crate::peers::EMPTY;
use crate::report::{Report, Unit};
use crate::watch::{Ended, Watched, last_lines};

const ONE_SHOT: Plan = Plan { repetitions: 3, pairs: 3 };
/// Of 50 calls, which take seconds with some.
const CALLS_PLAN: Plan = Plan { repetitions: 1, pairs: 3 };
const CALLS: usize = 50;

/// Every agent but haft, which comes with the build.
const PEERS: &[Agent] = &[zot::AGENT, codex::AGENT, claude::AGENT, opencode::AGENT, gemini::AGENT, pi::AGENT];

/// An agent with a command line.
struct Agent {
    /// Also of its program.
    name: &'static str,
    /// Its tool that runs a command.
    tool: &'static str,
    /// Returns that tool's arguments for a command.
    args: fn(&str) -> Value,
    /// Makes its home, and says how a prompt is run in it.
    set_up: fn(&Home) -> Result<Invocation>,
}

/// A throw-away home for one kind of run.
struct Home {
    /// The user's home.
    dir: PathBuf,
    /// Where the agent works.
    work: PathBuf,
    /// The model's address, without a path.
    url: String,
    /// True if there is a hook before each tool call. It lets every call pass.
    hooked: bool,
}

/// The invocation of an agent: besides `PATH` and `HOME`, which all get.
struct Invocation {
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Home {
    /// Writes a file below the home.
    fn write(&self, name: &str, text: impl AsRef<str>) -> Result<PathBuf> {
        let path = self.dir.join(name);
        let dir = path.parent().unwrap_or(&self.dir);
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&path, text.as_ref()))
            .with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// The program of hooks that are programs: one that ends at once.
    fn hook(&self) -> Result<Option<Program>> {
        self.hooked.then(|| Program::own(EMPTY)).transpose()
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).to_string_lossy().into_owned()
    }
}

/// One agent in one home.
struct Contender<'a> {
    agent: &'a Agent,
    model: &'a Model,
    watched: Watched,
    _dir: TempDir,
}

impl<'a> Contender<'a> {
    fn new(agent: &'a Agent, program: &Path, model: &'a Model, hooked: bool) -> Result<Self> {
        let dir = tempfile::tempdir().context("make a directory")?;
        let (home, work) = (dir.path().join("home"), dir.path().join("work"));
        for dir in [&home, &work] {
            std::fs::create_dir(dir).context("make a directory")?;
        }
        let home = Home { dir: home, work, url: model.url(), hooked };
        let invocation = (agent.set_up)(&home)?;
        let path = std::env::var("PATH").context("no PATH")?;
        let common = [("PATH", path), ("HOME", home.path("")), ("TERM", "dumb".to_owned())];
        let env = common.into_iter().chain(invocation.env);
        let watched = Watched {
            program: program.to_owned(),
            args: invocation.args,
            env: env.map(|(name, value)| (name.to_owned(), value)).collect(),
            cwd: home.work.clone(),
        };
        Ok(Self { agent, model, watched, _dir: dir })
    }

    /// A whole run with this many shell calls: seconds, seconds of CPU, and the memory of its largest process.
    fn run(&self, calls: usize) -> Result<[f64; 3]> {
        self.model.set(Script { calls, tool: self.agent.tool, args: self.agent.args });
        self.model.take_requests();
        let Ended { used, said } = self.watched.run()?;
        let requests = self.model.take_requests();
        let (asked, came) = (calls + 1, requests.len());
        if !used.success || !said.contains(LAST_WORD) || came < asked {
            bail!("{came} of {asked} requests came; it said: {}", last_lines(&said));
        }
        Ok([used.wall, used.cpu, used.peak])
    }
}

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let Some(haft) = crate::children::haft()? else {
        report.skip("haft is not built: cargo build --release -p haft");
        return Ok(());
    };
    let model = Model::start(Script::shell("bash", 0))?;
    let plain = Contender::new(&haft::AGENT, &haft, &model, false)?;
    let found = compare(report.plan(ONE_SHOT), || plain.run(0), || plain.run(0))?;
    let mut sound = [true; 3];
    for ((name, unit), (found, sound)) in METRICS.into_iter().zip(found.into_iter().zip(&mut sound)) {
        *sound = report.control(&format!("control, {name}"), unit, found);
    }
    let hooked = Contender::new(&haft::AGENT, &haft, &model, true)?;
    hook(report, &plain, &hooked)?;
    for agent in PEERS {
        let Ok(program) = haft_launch::find_program(agent.name) else {
            report.skip(format!("{} is not on the PATH", agent.name));
            continue;
        };
        if let Err(error) = beside(report, agent, &program, &plain, sound) {
            report.skip(format!("{}: {error:#}", agent.name));
        }
    }
    Ok(())
}

const METRICS: [(&str, Unit); 3] = [("wall", Unit::Seconds), ("CPU", Unit::Seconds), ("peak", Unit::Bytes)];

/// A peer against haft, then the peer's hook.
fn beside(
    report: &mut Report,
    agent: &Agent,
    program: &Path,
    haft: &Contender<'_>,
    sound: [bool; 3],
) -> Result<()> {
    let peer = Contender::new(agent, program, haft.model, false)?;
    // Whatever a first run in a fresh home does is not what its user waits for every day.
    peer.run(0).context("one prompt")?;
    for (what, calls, plan) in [("one", 0, ONE_SHOT), ("50 calls", CALLS, CALLS_PLAN)] {
        let found = compare(report.plan(plan), || peer.run(calls), || haft.run(calls)).context(what)?;
        for ((name, unit), (found, sound)) in METRICS.into_iter().zip(found.into_iter().zip(sound)) {
            report.line(&format!("{}, {what}, {name}", agent.name), unit, found, None, sound);
        }
    }
    let hooked = Contender::new(agent, program, haft.model, true)?;
    hooked.run(0).context("one prompt with a hook")?;
    hook(report, &peer, &hooked).context("hook")
}

/// Measures the cost of a hook before each call: the difference of two runs, by the calls.
fn hook(report: &mut Report, plain: &Contender<'_>, hooked: &Contender<'_>) -> Result<()> {
    let [wall, cpu, _] = compare(report.plan(CALLS_PLAN), || plain.run(CALLS), || hooked.run(CALLS))?;
    let name = plain.agent.name;
    report.figure(&format!("{name}, hook, wall a call"), Unit::Seconds, each(wall), None);
    report.figure(&format!("{name}, hook, CPU a call"), Unit::Seconds, each(cpu), None);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn each(found: Comparison) -> f64 {
    (found.candidate - found.base) / CALLS as f64
}

fn words(args: &[&str]) -> Vec<String> {
    args.iter().map(|&arg| arg.to_owned()).collect()
}
