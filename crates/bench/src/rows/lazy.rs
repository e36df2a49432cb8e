//! Starting many lazy extensions, whose manifests name the uses that start them.
//!
//! Base: list the directories of the extensions and parse each manifest as JSON. The candidate discovers them as the
//! binary does and starts a host with them.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use haft_core::tool::ToolContext;
use haft_host::{ExtensionState, Host, HostConfig};
use haft_packages::discovery::{Discovery, DiscoveryOptions};
use haft_packages::install::lock::{ApprovalMethod, ApprovalStore};
use haft_packages::install::{ExtensionStore, InstallSource};
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::start::WallCpuTimer;
use crate::children::ChildProgram;
use crate::extension_query::{bench_host_config, runtime};
use crate::method::{RepetitionPlan, compare, median};
use crate::peers;
use crate::platform::allow_many_files;
use crate::report::{LineGoal, Report, Unit};

const COUNTS: [usize; 3] = [10, 100, 1000];

const PLAN: RepetitionPlan = RepetitionPlan { repetitions: 5, pairs: 20 };

/// The goal for 100 extensions. With ten, reading the manifests takes less time than starting a host without extensions.
const GOAL: LineGoal = LineGoal { goal: 2.0, gate: 3.0 };

/// The time that an additional unused extension may cost, in seconds.
const EACH: LineGoal = LineGoal { goal: 100e-6, gate: 200e-6 };

const FIRST_USES: usize = 9;

pub(super) fn measure(report: &mut Report) -> Result<()> {
    allow_many_files()?;
    report.set_axis("extensions");
    for count in COUNTS {
        measure_count(report, count)?;
    }
    Ok(())
}

fn measure_count(report: &mut Report, count: usize) -> Result<()> {
    let (home, runtime) = (ExtensionHome::new(count)?, runtime()?);
    let x = f64::from(u32::try_from(count)?);
    let plan = report.plan_for_effort(PLAN);
    let [wall, _] = compare(plan, || home.read(), || home.read())?;
    let sound = report.add_control(&format!("control, {count}"), Unit::Seconds, wall);
    let [wall, _] = compare(plan, || home.read(), || home.time_discovery())?;
    report
        .add_comparison(&format!("discovery of {count}"), Unit::Seconds, wall, None, sound)
        .on_curve("discovery", x);
    let [wall, cpu] = compare(plan, || home.read(), || home.time_start(&runtime))?;
    let goal = (count == 100).then_some(GOAL);
    report
        .add_comparison(&format!("lazy start of {count}"), Unit::Seconds, wall, goal, sound)
        .on_curve("lazy start", x);
    report.add_comparison("the same, own CPU", Unit::Seconds, cpu, None, sound);
    if count > 10 {
        report.add_figure(&format!("each of {count}"), Unit::Seconds, wall.candidate / x, Some(EACH));
    }
    if count == 100 {
        report.add_figure("first use of one", Unit::Seconds, home.first_use(&runtime)?, None);
    }
    Ok(())
}

/// A home directory with installed extensions.
struct ExtensionHome {
    root: TempDir,
    count: usize,
}

impl ExtensionHome {
    fn new(count: usize) -> Result<Self> {
        let root = tempfile::tempdir().context("create a home directory")?;
        for number in 0..count {
            let program =
                ChildProgram::in_role(&peers::role_with_number(peers::TOOLBOX, u32::try_from(number)?))?;
            let dir = root.path().join("sources").join(format!("box-{number}"));
            fs::create_dir_all(&dir)?;
            let about = "Looks at things, lists them, and counts them.";
            let mut manifest = json!({"name": format!("box-{number}"), "version": "1.0.0", "description": about,
                "language": "rust", "exec": program.path, "args": program.args});
            manifest
                .as_object_mut()
                .context("the manifest is not an object")?
                .extend(peers::toolbox_activation(number));
            fs::write(dir.join("extension.json"), manifest.to_string())?;
            let store = ExtensionStore::for_home(root.path(), None);
            store.propose(&InstallSource::Directory(dir))?.accept(ApprovalMethod::Yes, "bench")?;
        }
        Ok(Self { root, count })
    }

    fn extensions_dir(&self) -> PathBuf {
        self.root.path().join("extensions")
    }

    fn search(&self) -> DiscoveryOptions {
        let approved = Some(ApprovalStore::at(self.root.path()));
        let path = std::env::var_os("PATH");
        DiscoveryOptions {
            global: Some(self.extensions_dir()),
            approved,
            path,
            ..DiscoveryOptions::default()
        }
    }

    fn host_config(&self) -> HostConfig {
        let in_home = |name: &str| Some(self.root.path().join(name));
        let mut config = bench_host_config();
        config.state = in_home("state");
        config.logs = in_home("logs");
        config.data = in_home("data");
        config.limits.max_tools_in_all = 3 * self.count;
        config
    }

    async fn host(&self) -> Host {
        let search = self.search();
        Host::builder(self.host_config()).source(move || Discovery::run(&search).into()).start().await
    }

    fn read(&self) -> Result<[f64; 2]> {
        let clock = WallCpuTimer::start();
        let mut read = 0;
        for entry in fs::read_dir(self.root.path().join("sources"))? {
            let text = fs::read(entry?.path().join("extension.json"))?;
            let manifest: MinimalManifest<'_> = serde_json::from_slice(&text)?;
            read += usize::from(!manifest.name.is_empty() && !manifest.exec.is_empty());
        }
        ensure!(read == self.count, "{read} manifests were read");
        Ok(clock.stop())
    }

    fn time_discovery(&self) -> Result<[f64; 2]> {
        let search = self.search();
        let clock = WallCpuTimer::start();
        let found = Discovery::run(&search).specs.len();
        ensure!(found == self.count, "{found} extensions were found");
        Ok(clock.stop())
    }

    fn time_start(&self, runtime: &Runtime) -> Result<[f64; 2]> {
        let config = self.host_config();
        let search = self.search();
        runtime.block_on(async {
            let clock = WallCpuTimer::start();
            let host = Host::builder(config).source(move || Discovery::run(&search).into()).start().await;
            let tools = host.tools().len();
            let times = clock.stop();
            let waiting = host.statuses().iter().filter(|one| one.state == ExtensionState::Idle).count();
            host.shutdown().await;
            ensure!(
                waiting == self.count && tools == 3 * self.count,
                "{waiting} extensions are waiting, with {tools} tools"
            );
            Ok(times)
        })
    }

    /// Measures the time from a call to its result.
    fn first_use(&self, runtime: &Runtime) -> Result<f64> {
        let mut times = Vec::new();
        for _ in 0..FIRST_USES {
            times.push(runtime.block_on(async {
                let host = self.host().await;
                let tool = host.tools().pop().context("no extension registered a tool")?;
                let start = Instant::now();
                let args = RawJson::parse(r#"{"path":"/"}"#)?;
                let call = ToolCall { id: ToolCallId::new("1"), name: tool.spec().name.clone(), args };
                let context = ToolContext::new(CancellationToken::new(), |_| {});
                let output = tool.execute(context, call).await;
                let took = start.elapsed().as_secs_f64();
                host.shutdown().await;
                ensure!(!output.is_error, "the first use failed: {:?}", output.content);
                Ok(took)
            })?);
        }
        Ok(median(times))
    }
}

/// The required fields of a manifest.
#[derive(Deserialize)]
struct MinimalManifest<'a> {
    #[serde(borrow)]
    name: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    exec: std::borrow::Cow<'a, str>,
}
