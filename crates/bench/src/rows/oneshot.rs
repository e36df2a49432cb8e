//! One prompt, from exec to exit, with a model that answers at once: what `haft -p` itself costs.
//!
//! Base: the least client, which sends what haft sent and reads the answer. What haft promises of itself (time to the
//! first request, memory, CPU for 50 shell calls) are figures beside it; what an extension adds is a difference.

mod extensions;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::children::{Program, haft};
use crate::method::{Comparison, Plan, compare};
use crate::model::{Model, Script};
use crate::peers::{self, client};
use crate::report::{Goal, Report, Unit};
use crate::watch::Watched;

const PLAN: Plan = Plan { repetitions: 5, pairs: 8 };

/// Of 50 shell calls, which take long.
const CALLS_PLAN: Plan = Plan { repetitions: 5, pairs: 2 };

const CALLS: usize = 50;

const VERSION: Goal = Goal { goal: 2e-3, gate: 4e-3 };
const FIRST_REQUEST: Goal = Goal { goal: 5e-3, gate: 10e-3 };
const WHOLE: Goal = Goal { goal: 10e-3, gate: 20e-3 };
const MEMORY: Goal = Goal { goal: 10.0 * 1024.0 * 1024.0, gate: 16.0 * 1024.0 * 1024.0 };
const CALLS_CPU: Goal = Goal { goal: 0.25, gate: 0.5 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let Some(haft) = haft()? else {
        report.skip("haft is not built: cargo build --release -p haft");
        return Ok(());
    };
    let bench = Bench::new(haft)?;
    version(report, &bench)?;
    prompt(report, &bench)?;
    calls(report, &bench)?;
    extensions::measure(report, &bench)
}

/// haft, the model, and a place for both.
struct Bench {
    haft: PathBuf,
    model: Model,
    dir: TempDir,
}

impl Bench {
    fn new(haft: PathBuf) -> Result<Self> {
        let model = Model::start(Script::shell("bash", 0))?;
        let dir = tempfile::tempdir().context("make a directory")?;
        for name in ["work", "home"] {
            std::fs::create_dir(dir.path().join(name)).context("make a directory")?;
        }
        Ok(Self { haft, model, dir })
    }

    /// A run of haft whose home is this directory.
    fn haft(&self, home: &str, args: &[&str]) -> Watched {
        let home = self.dir.path().join(home);
        let env = [
            ("HOME", text(self.dir.path())),
            ("HAFT_HOME", text(&home)),
            ("ANTHROPIC_API_KEY", "sk-bench".to_owned()),
            ("ANTHROPIC_BASE_URL", self.model.url()),
        ];
        self.watched(self.haft.clone(), args, &env)
    }

    /// A prompt, in that home.
    fn prompt(&self, home: &str) -> Watched {
        self.haft(home, &["-p", "--provider", "anthropic", "hello"])
    }

    /// The least client with what the last run of haft sent.
    fn client(&self, name: &str) -> Result<Watched> {
        let dir = self.dir.path().join(name);
        std::fs::create_dir(&dir).context("make a directory")?;
        for (number, request) in self.model.take_requests().iter().enumerate() {
            std::fs::write(dir.join(number.to_string()), &request.bytes).context("keep a request")?;
        }
        let address = self.model.url().trim_start_matches("http://").to_owned();
        let env = [(client::REQUESTS, text(&dir)), (client::ADDRESS, address)];
        self.own(peers::CLIENT, &env)
    }

    fn own(&self, role: &str, env: &[(&str, String)]) -> Result<Watched> {
        let Program { path, args } = Program::own(role)?;
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Ok(self.watched(path, &args, env))
    }

    fn watched(&self, program: PathBuf, args: &[&str], env: &[(&str, String)]) -> Watched {
        let path = std::env::var("PATH").unwrap_or_default();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        Watched {
            program,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: env.chain([("PATH".to_owned(), path)]).collect(),
            cwd: self.dir.path().join("work"),
        }
    }

    /// Seconds to the first request and to the end, seconds of CPU, and the most memory.
    fn asked(&self, run: &Watched) -> Result<[f64; 4]> {
        self.model.take_requests();
        let used = run.succeed()?;
        let requests = self.model.take_requests();
        let first = requests.first().context("the model was not asked")?;
        Ok([first.at - used.at, used.wall, used.cpu, used.peak])
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn version(report: &mut Report, bench: &Bench) -> Result<()> {
    let ended = |run: &Watched| Ok([run.succeed()?.wall]);
    let (empty, haft) = (bench.own(peers::EMPTY, &[])?, bench.haft("home", &["--version"]));
    let [found] = compare(report.plan(PLAN), || ended(&empty), || ended(&empty))?;
    let sound = report.control("control, empty program", Unit::Seconds, found);
    let [found] = compare(report.plan(PLAN), || ended(&empty), || ended(&haft))?;
    report.line("haft --version", Unit::Seconds, found, None, sound);
    report.figure("haft --version", Unit::Seconds, found.candidate, Some(VERSION));
    Ok(())
}

fn prompt(report: &mut Report, bench: &Bench) -> Result<()> {
    let haft = bench.prompt("home");
    bench.model.take_requests();
    haft.succeed()?;
    let client = bench.client("one")?;
    let control = compare(report.plan(PLAN), || bench.asked(&client), || bench.asked(&client))?;
    let names = ["first request", "whole run", "CPU", "peak memory"];
    let units = [Unit::Seconds, Unit::Seconds, Unit::Seconds, Unit::Bytes];
    let mut sound = [true; 4];
    for ((name, unit), (found, sound)) in names.iter().zip(units).zip(control.into_iter().zip(&mut sound)) {
        *sound = report.control(&format!("control, {name}"), unit, found);
    }
    let found = compare(report.plan(PLAN), || bench.asked(&client), || bench.asked(&haft))?;
    for ((name, unit), (found, sound)) in names.iter().zip(units).zip(found.into_iter().zip(sound)) {
        report.line(&format!("haft -p, {name}"), unit, found, None, sound);
    }
    let [first, whole, _, peak] = found.map(|found: Comparison| found.candidate);
    report.figure("exec to first request", Unit::Seconds, first, Some(FIRST_REQUEST));
    report.figure("exec to end", Unit::Seconds, whole, Some(WHOLE));
    report.figure("peak memory", Unit::Bytes, peak, Some(MEMORY));
    Ok(())
}

fn calls(report: &mut Report, bench: &Bench) -> Result<()> {
    bench.model.set(Script::shell("bash", CALLS));
    let haft = bench.prompt("home");
    bench.model.take_requests();
    haft.succeed()?;
    let client = bench.client("many")?;
    let asked = |run: &Watched| -> Result<[f64; 3]> {
        bench.model.take_requests();
        let used = run.succeed()?;
        let requests = bench.model.take_requests().len();
        ensure!(requests == CALLS + 1, "the model was asked {requests} times, not {}", CALLS + 1);
        Ok([used.wall, used.cpu, used.peak])
    };
    let [_, cpu, _] = compare(report.plan(CALLS_PLAN), || asked(&client), || asked(&client))?;
    let sound = report.control("control, 50 calls, CPU", Unit::Seconds, cpu);
    let [wall, cpu, peak] = compare(report.plan(CALLS_PLAN), || asked(&client), || asked(&haft))?;
    report.line("50 shell calls, wall", Unit::Seconds, wall, None, sound);
    report.line("50 shell calls, CPU", Unit::Seconds, cpu, None, sound);
    report.line("50 shell calls, peak", Unit::Bytes, peak, None, sound);
    report.figure("50 shell calls, CPU", Unit::Seconds, cpu.candidate, Some(CALLS_CPU));
    bench.model.set(Script::shell("bash", 0));
    Ok(())
}
