//! One prompt, from exec to exit, with a model that answers at once: the cost of `haft -p` itself.
//!
//! Base: the minimal client, which sends the same requests and reads the answers. haft's absolute limits (time to the
//! first request, memory, CPU for 50 shell calls) are additional figures. The cost of an extension is a difference.

mod extensions;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::children::{ChildProgram, find_haft};
use crate::method::{Comparison, RepetitionPlan, compare};
use crate::model::{ModelScript, ModelServer};
use crate::peers::{self, client};
use crate::report::{LineGoal, Report, Unit};
use crate::watch::WatchedProgram;

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 8 };

/// The plan for 50 shell calls, which take long.
const CALLS_PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 2 };

const CALLS: usize = 50;

const VERSION: LineGoal = LineGoal { goal: 2e-3, gate: 4e-3 };
const FIRST_REQUEST: LineGoal = LineGoal { goal: 5e-3, gate: 10e-3 };
const WHOLE: LineGoal = LineGoal { goal: 10e-3, gate: 20e-3 };
const MEMORY: LineGoal = LineGoal { goal: 10.0 * 1024.0 * 1024.0, gate: 16.0 * 1024.0 * 1024.0 };
const CALLS_CPU: LineGoal = LineGoal { goal: 0.25, gate: 0.5 };

pub(super) fn measure(report: &mut Report) -> Result<()> {
    let Some(haft) = find_haft()? else {
        report.skip("haft is not built; run `cargo build --release -p haft`");
        return Ok(());
    };
    let bench = OneShotBench::new(haft)?;
    version(report, &bench)?;
    prompt(report, &bench)?;
    measure_calls(report, &bench)?;
    extensions::measure(report, &bench)
}

/// haft, a model server, and a directory for both.
struct OneShotBench {
    haft: PathBuf,
    model: ModelServer,
    dir: TempDir,
}

impl OneShotBench {
    fn new(haft: PathBuf) -> Result<Self> {
        let model = ModelServer::start(ModelScript::with_shell_tool("bash", 0))?;
        let dir = tempfile::tempdir().context("create a directory")?;
        for name in ["work", "home"] {
            std::fs::create_dir(dir.path().join(name)).context("create a directory")?;
        }
        Ok(Self { haft, model, dir })
    }

    /// Returns a run of haft with this home directory.
    fn haft_run(&self, home: &str, args: &[&str]) -> WatchedProgram {
        let home = self.dir.path().join(home);
        let env = [
            ("HOME", text(self.dir.path())),
            ("HAFT_HOME", text(&home)),
            ("ANTHROPIC_API_KEY", "sk-bench".to_owned()),
            ("ANTHROPIC_BASE_URL", self.model.base_url()),
        ];
        self.watched_run(self.haft.clone(), args, &env)
    }

    /// Returns a run of one prompt with this home directory.
    fn prompt_run(&self, home: &str) -> WatchedProgram {
        self.haft_run(home, &["-p", "--provider", "anthropic", "hello"])
    }

    /// Returns a run of the minimal client with the requests of haft's last run.
    fn client_run(&self, name: &str) -> Result<WatchedProgram> {
        let dir = self.dir.path().join(name);
        std::fs::create_dir(&dir).context("create a directory")?;
        for (number, request) in self.model.take_requests().iter().enumerate() {
            std::fs::write(dir.join(number.to_string()), &request.bytes).context("save a request")?;
        }
        let address = self.model.base_url().trim_start_matches("http://").to_owned();
        let env = [(client::REQUESTS, text(&dir)), (client::ADDRESS, address)];
        self.run_in_role(peers::CLIENT, &env)
    }

    fn run_in_role(&self, role: &str, env: &[(&str, String)]) -> Result<WatchedProgram> {
        let ChildProgram { path, args } = ChildProgram::in_role(role)?;
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Ok(self.watched_run(path, &args, env))
    }

    fn watched_run(&self, program: PathBuf, args: &[&str], env: &[(&str, String)]) -> WatchedProgram {
        let path = std::env::var("PATH").unwrap_or_default();
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        WatchedProgram {
            program,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: env.chain([("PATH".to_owned(), path)]).collect(),
            cwd: self.dir.path().join("work"),
        }
    }

    /// Returns the seconds to the first request and to the end, the CPU seconds, and the peak memory.
    fn measure_run(&self, run: &WatchedProgram) -> Result<[f64; 4]> {
        self.model.take_requests();
        let used = run.run_successfully()?;
        let requests = self.model.take_requests();
        let first = requests.first().context("the model server received no request")?;
        Ok([first.at - used.at, used.wall, used.cpu, used.peak])
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn version(report: &mut Report, bench: &OneShotBench) -> Result<()> {
    let ended = |run: &WatchedProgram| Ok([run.run_successfully()?.wall]);
    let (empty, haft) = (bench.run_in_role(peers::EMPTY, &[])?, bench.haft_run("home", &["--version"]));
    let [found] = compare(report.plan_for_effort(PLAN), || ended(&empty), || ended(&empty))?;
    let sound = report.add_control("control, empty program", Unit::Seconds, found);
    let [found] = compare(report.plan_for_effort(PLAN), || ended(&empty), || ended(&haft))?;
    report.add_comparison("haft --version", Unit::Seconds, found, None, sound);
    report.add_figure("haft --version", Unit::Seconds, found.candidate, Some(VERSION));
    Ok(())
}

fn prompt(report: &mut Report, bench: &OneShotBench) -> Result<()> {
    let haft = bench.prompt_run("home");
    bench.model.take_requests();
    haft.run_successfully()?;
    let client = bench.client_run("one")?;
    let control =
        compare(report.plan_for_effort(PLAN), || bench.measure_run(&client), || bench.measure_run(&client))?;
    let names = ["first request", "whole run", "CPU", "peak memory"];
    let units = [Unit::Seconds, Unit::Seconds, Unit::Seconds, Unit::Bytes];
    let mut sound = [true; 4];
    for ((name, unit), (found, sound)) in names.iter().zip(units).zip(control.into_iter().zip(&mut sound)) {
        *sound = report.add_control(&format!("control, {name}"), unit, found);
    }
    let found =
        compare(report.plan_for_effort(PLAN), || bench.measure_run(&client), || bench.measure_run(&haft))?;
    for ((name, unit), (found, sound)) in names.iter().zip(units).zip(found.into_iter().zip(sound)) {
        report.add_comparison(&format!("haft -p, {name}"), unit, found, None, sound);
    }
    let [first, whole, _, peak] = found.map(|found: Comparison| found.candidate);
    report.add_figure("exec to first request", Unit::Seconds, first, Some(FIRST_REQUEST));
    report.add_figure("exec to end", Unit::Seconds, whole, Some(WHOLE));
    report.add_figure("peak memory", Unit::Bytes, peak, Some(MEMORY));
    Ok(())
}

fn measure_calls(report: &mut Report, bench: &OneShotBench) -> Result<()> {
    bench.model.set(ModelScript::with_shell_tool("bash", CALLS));
    let haft = bench.prompt_run("home");
    bench.model.take_requests();
    haft.run_successfully()?;
    let client = bench.client_run("many")?;
    let asked = |run: &WatchedProgram| -> Result<[f64; 3]> {
        bench.model.take_requests();
        let used = run.run_successfully()?;
        let requests = bench.model.take_requests().len();
        ensure!(
            requests == CALLS + 1,
            "the model server received {requests} requests instead of {}",
            CALLS + 1
        );
        Ok([used.wall, used.cpu, used.peak])
    };
    let [_, cpu, _] = compare(report.plan_for_effort(CALLS_PLAN), || asked(&client), || asked(&client))?;
    let sound = report.add_control("control, 50 calls, CPU", Unit::Seconds, cpu);
    let [wall, cpu, peak] = compare(report.plan_for_effort(CALLS_PLAN), || asked(&client), || asked(&haft))?;
    report.add_comparison("50 shell calls, wall", Unit::Seconds, wall, None, sound);
    report.add_comparison("50 shell calls, CPU", Unit::Seconds, cpu, None, sound);
    report.add_comparison("50 shell calls, peak", Unit::Bytes, peak, None, sound);
    report.add_figure("50 shell calls, CPU", Unit::Seconds, cpu.candidate, Some(CALLS_CPU));
    bench.model.set(ModelScript::with_shell_tool("bash", 0));
    Ok(())
}
