//! haft compared with other agents in their usual configuration: one prompt, 50 shell calls, and a hook before each
//! call.
//!
//! All agents use the same model server on loopback. Two agents alternate in the order A B B A; the other agent's
//! figures are the base, haft's the candidate. Each run gets a fresh home directory and includes all its child
//! processes. An agent that is not on the PATH or fails is skipped, and the report shows its last output.

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

use crate::children::ChildProgram;
use crate::method::{Comparison, RepetitionPlan, compare};
use crate::model::{LAST_WORD, ModelScript, ModelServer};
use crate::peers::EMPTY;
use crate::report::{Report, Unit};
use crate::watch::{FinishedRun, WatchedProgram, last_lines};

const ONE_SHOT: RepetitionPlan = RepetitionPlan { repetitions: 3, pairs: 3 };
/// The plan for 50 calls, which take seconds with some agents.
const CALLS_PLAN: RepetitionPlan = RepetitionPlan { repetitions: 1, pairs: 3 };
const CALLS: usize = 50;

/// All agents except haft, which belongs to the build.
const PEERS: &[PeerAgent] =
    &[zot::AGENT, codex::AGENT, claude::AGENT, opencode::AGENT, gemini::AGENT, pi::AGENT];

/// An agent with a command line.
struct PeerAgent {
    /// The name of the agent and of its program.
    name: &'static str,
    /// The tool that runs a command.
    tool: &'static str,
    /// Returns that tool's arguments for a command.
    args: fn(&str) -> Value,
    /// Sets up the home directory and returns the invocation for a prompt.
    set_up: fn(&AgentHome) -> Result<AgentInvocation>,
}

/// A temporary home directory for one kind of run.
struct AgentHome {
    /// The user's home directory.
    dir: PathBuf,
    /// The working directory of the agent.
    work: PathBuf,
    /// The model's address, without a path.
    url: String,
    /// True if a hook runs before each tool call. The hook allows every call.
    hooked: bool,
}

/// The invocation of an agent, without `PATH` and `HOME`, which all agents get.
struct AgentInvocation {
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl AgentHome {
    /// Writes a file below the home directory.
    fn write(&self, name: &str, text: impl AsRef<str>) -> Result<PathBuf> {
        let path = self.dir.join(name);
        let dir = path.parent().unwrap_or(&self.dir);
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&path, text.as_ref()))
            .with_context(|| format!("write {}", path.display()))?;
        Ok(path)
    }

    /// Returns the program for hooks that are programs: it exits at once.
    fn hook_program(&self) -> Result<Option<ChildProgram>> {
        self.hooked.then(|| ChildProgram::in_role(EMPTY)).transpose()
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).to_string_lossy().into_owned()
    }
}

/// One agent with its home directory.
struct InstalledAgent<'a> {
    agent: &'a PeerAgent,
    model: &'a ModelServer,
    watched: WatchedProgram,
    _dir: TempDir,
}

impl<'a> InstalledAgent<'a> {
    fn new(agent: &'a PeerAgent, program: &Path, model: &'a ModelServer, hooked: bool) -> Result<Self> {
        let dir = tempfile::tempdir().context("create a directory")?;
        let (home, work) = (dir.path().join("home"), dir.path().join("work"));
        for dir in [&home, &work] {
            std::fs::create_dir(dir).context("create a directory")?;
        }
        let home = AgentHome { dir: home, work, url: model.base_url(), hooked };
        let invocation = (agent.set_up)(&home)?;
        let path = std::env::var("PATH").context("PATH is not set")?;
        let common = [("PATH", path), ("HOME", home.path("")), ("TERM", "dumb".to_owned())];
        let env = common.into_iter().chain(invocation.env);
        let watched = WatchedProgram {
            program: program.to_owned(),
            args: invocation.args,
            env: env.map(|(name, value)| (name.to_owned(), value)).collect(),
            cwd: home.work.clone(),
        };
        Ok(Self { agent, model, watched, _dir: dir })
    }

    /// Runs a prompt with this many shell calls. Returns the seconds, the CPU seconds, and the memory of the largest
    /// process.
    fn run(&self, calls: usize) -> Result<[f64; 3]> {
        self.model.set(ModelScript { calls, tool: self.agent.tool, args: self.agent.args });
        self.model.take_requests();
        let FinishedRun { used, said } = self.watched.run()?;
        let requests = self.model.take_requests();
        let (asked, came) = (calls + 1, requests.len());
        if !used.success || !said.contains(LAST_WORD) || came < asked {
            bail!(
                "the model server received {came} of {asked} requests; output of the agent: {}",
                last_lines(&said)
            );
        }
        Ok([used.wall, used.cpu, used.peak])
    }
}

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let Some(haft) = crate::children::find_haft()? else {
        report.skip("haft is not built; run `cargo build --release -p haft`");
        return Ok(());
    };
    let model = ModelServer::start(ModelScript::with_shell_tool("bash", 0))?;
    let plain = InstalledAgent::new(&haft::AGENT, &haft, &model, false)?;
    let found = compare(report.plan_for_effort(ONE_SHOT), || plain.run(0), || plain.run(0))?;
    let mut sound = [true; 3];
    for ((name, unit), (found, sound)) in METRICS.into_iter().zip(found.into_iter().zip(&mut sound)) {
        *sound = report.add_control(&format!("control, {name}"), unit, found);
    }
    let hooked = InstalledAgent::new(&haft::AGENT, &haft, &model, true)?;
    measure_hook(report, &plain, &hooked)?;
    for agent in PEERS {
        let Ok(program) = haft_launch::find_program(agent.name) else {
            report.skip(format!("{} is not on the PATH", agent.name));
            continue;
        };
        if let Err(error) = compare_with_haft(report, agent, &program, &plain, sound) {
            report.skip(format!("{}: {error:#}", agent.name));
        }
    }
    Ok(())
}

const METRICS: [(&str, Unit); 3] = [("wall", Unit::Seconds), ("CPU", Unit::Seconds), ("peak", Unit::Bytes)];

/// Compares a peer with haft, then measures the peer's hook.
fn compare_with_haft(
    report: &mut Report,
    agent: &PeerAgent,
    program: &Path,
    haft: &InstalledAgent<'_>,
    sound: [bool; 3],
) -> Result<()> {
    let peer = InstalledAgent::new(agent, program, haft.model, false)?;
    // The first run in a fresh home directory is not typical, so it is not measured.
    peer.run(0).context("one prompt")?;
    for (what, calls, plan) in [("one", 0, ONE_SHOT), ("50 calls", CALLS, CALLS_PLAN)] {
        let found =
            compare(report.plan_for_effort(plan), || peer.run(calls), || haft.run(calls)).context(what)?;
        for ((name, unit), (found, sound)) in METRICS.into_iter().zip(found.into_iter().zip(sound)) {
            report.add_comparison(&format!("{}, {what}, {name}", agent.name), unit, found, None, sound);
        }
    }
    let hooked = InstalledAgent::new(agent, program, haft.model, true)?;
    hooked.run(0).context("one prompt with a hook")?;
    measure_hook(report, &peer, &hooked).context("hook")
}

/// Measures the cost of a hook before each call: the difference of two runs, divided by the number of calls.
fn measure_hook(report: &mut Report, plain: &InstalledAgent<'_>, hooked: &InstalledAgent<'_>) -> Result<()> {
    let [wall, cpu, _] =
        compare(report.plan_for_effort(CALLS_PLAN), || plain.run(CALLS), || hooked.run(CALLS))?;
    let name = plain.agent.name;
    report.add_figure(&format!("{name}, hook, wall a call"), Unit::Seconds, cost_per_call(wall), None);
    report.add_figure(&format!("{name}, hook, CPU a call"), Unit::Seconds, cost_per_call(cpu), None);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn cost_per_call(found: Comparison) -> f64 {
    (found.candidate - found.base) / CALLS as f64
}

fn words(args: &[&str]) -> Vec<String> {
    args.iter().map(|&arg| arg.to_owned()).collect()
}
