//! G9: the actions of a program in a sandbox and of haft's own tools, one by one, as the current user and as the user
//! `nobody`.

mod files;
mod tools;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_launch::{GroupChild, Launcher, Sandbox, SpawnOptions, StderrMode, StdioMode};
use haft_test_support::sandbox::{
    PROBES, ProbeConfinement, ProbeOutcome, SandboxProbe, SandboxScene, ToolProbeLevel,
};
use rustix::process::geteuid;
use tools::ProbingTool;

use super::{GoalContext, GoalFigure};
use crate::world::sibling_binary;

/// The first argument of a process that runs the probes.
pub(crate) const PROBE: &str = "probe";

/// The programs of the measurement, which must be next to this program.
const PROGRAMS: [&str; 4] = ["haft", "haft-faults", "haft-launcher", "sandbox-probe"];

/// The arguments of `setpriv` for a user without rights.
const NOBODY: [&str; 4] = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// A way to run the probes.
struct ProbeRun {
    name: &'static str,
    start: ProbeStart,
    /// The smallest number of probes that are refused or absent.
    least: usize,
}

/// The program that starts the probes, and its limits.
#[derive(Debug, Clone, Copy)]
enum ProbeStart {
    /// This program, as the host starts an extension. `None` is without a sandbox.
    Extension(ProbeConfinement, Option<(ConfinementLevel, NetworkAccess)>),
    /// A tool of haft.
    Tool(ProbingTool, ToolProbeLevel),
}

impl ProbeStart {
    fn expected_outcome(self, probe: &SandboxProbe) -> ProbeOutcome {
        match self {
            Self::Extension(column, _) => probe.expected(column),
            Self::Tool(_, level) => probe.expected_in_tool(level),
        }
    }

    fn keeps_away(self, probe: &SandboxProbe) -> bool {
        matches!(self.expected_outcome(probe), ProbeOutcome::Refused | ProbeOutcome::Absent)
    }
}

const fn probe_run(
    name: &'static str,
    column: ProbeConfinement,
    level: ConfinementLevel,
    net: NetworkAccess,
    least: usize,
) -> ProbeRun {
    ProbeRun { name, start: ProbeStart::Extension(column, Some((level, net))), least }
}

const fn tool_run(name: &'static str, tool: ProbingTool, level: ToolProbeLevel, least: usize) -> ProbeRun {
    ProbeRun { name, start: ProbeStart::Tool(tool, level), least }
}

const WAYS: &[ProbeRun] = &[
    ProbeRun { name: "no sandbox", start: ProbeStart::Extension(ProbeConfinement::Free, None), least: 0 },
    probe_run("standard", ProbeConfinement::Standard, ConfinementLevel::Standard, NetworkAccess::None, 24),
    probe_run(
        "standard, all of the network",
        ProbeConfinement::StandardAll,
        ConfinementLevel::Standard,
        NetworkAccess::All,
        24,
    ),
    probe_run("strict", ProbeConfinement::Strict, ConfinementLevel::Strict, NetworkAccess::None, 30),
    probe_run(
        "strict, loopback",
        ProbeConfinement::StrictLoopback,
        ConfinementLevel::Strict,
        NetworkAccess::Loopback,
        30,
    ),
    probe_run(
        "strict, all of the network",
        ProbeConfinement::StrictAll,
        ConfinementLevel::Strict,
        NetworkAccess::All,
        30,
    ),
    tool_run("bash, read-only", ProbingTool::Bash, ToolProbeLevel::ReadOnly, 50),
    tool_run("bash, workspace", ProbingTool::Bash, ToolProbeLevel::Workspace, 50),
    tool_run("bash, full", ProbingTool::Bash, ToolProbeLevel::Full, 2),
    tool_run("! command, read-only", ProbingTool::Shell, ToolProbeLevel::ReadOnly, 50),
    tool_run("! command, workspace", ProbingTool::Shell, ToolProbeLevel::Workspace, 50),
    tool_run("! command, full", ProbingTool::Shell, ToolProbeLevel::Full, 2),
    tool_run("file tools, read-only", ProbingTool::Files, ToolProbeLevel::ReadOnly, 40),
    tool_run("file tools, workspace", ProbingTool::Files, ToolProbeLevel::Workspace, 40),
    tool_run("file tools, full", ProbingTool::Files, ToolProbeLevel::Full, 2),
];

#[expect(clippy::disallowed_methods, reason = "starts this program")]
pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let own = place.dir.join("own");
    let mut figures = vec![];
    for at in 0..WAYS.len() {
        figures.push(measure_probes(at, "", Command::new(sibling_binary("haft-faults")), &own)?);
    }
    if !geteuid().is_root() {
        return Ok(figures);
    }
    // The user `nobody` may have no access to the build directory.
    let shared = std::env::temp_dir().join(format!("haft-{}", place.tag));
    std::fs::create_dir_all(&shared)?;
    std::fs::set_permissions(&shared, Permissions::from_mode(0o777))?;
    let found = probed_by_nobody(&shared);
    std::fs::remove_dir_all(&shared)?;
    figures.extend(found?);
    Ok(figures)
}

#[expect(clippy::disallowed_methods, reason = "starts this program as another user")]
fn probed_by_nobody(shared: &Path) -> Result<Vec<GoalFigure>> {
    if Command::new("setpriv").arg("--version").output().is_err() {
        return Ok(vec![GoalFigure::note("SKIP as nobody", "setpriv is not installed")]);
    }
    for name in PROGRAMS {
        std::fs::copy(sibling_binary(name), shared.join(name)).with_context(|| format!("copy {name}"))?;
    }
    let probed_at = |at| {
        let mut command = Command::new("setpriv");
        command.args(NOBODY).arg(shared.join("haft-faults"));
        measure_probes(at, " as nobody", command, &shared.join("scenes"))
    };
    (0..WAYS.len()).map(probed_at).collect()
}

/// Measures one way in a separate process of this program.
fn measure_probes(at: usize, who: &str, mut command: Command, dir: &Path) -> Result<GoalFigure> {
    let ProbeRun { name, start, least } = WAYS.get(at).context("unknown way to run the probes")?;
    let what = format!("{name}{who}");
    command.args([PROBE, &at.to_string()]).arg(dir.join(at.to_string())).current_dir("/");
    let output = command.output().with_context(|| format!("start the probes of {what}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if let Some(reason) = out.strip_prefix("SKIP ") {
        return Ok(GoalFigure::note(format!("SKIP {what}"), reason.trim()));
    }
    ensure!(output.status.success(), "the probes of {what}: {} {err}", output.status);
    let ProbeTally { all, tried, kept, wrong } = match *start {
        ProbeStart::Tool(ProbingTool::Files, level) => files::tally_results(&out, level),
        start @ (ProbeStart::Extension(..) | ProbeStart::Tool(..)) => tally_probes(&out, start),
    };
    let measured = match wrong.as_slice() {
        [] => format!("{tried} of {all} as expected, {kept} of them kept away"),
        wrong => wrong.join("; "),
    };
    Ok(GoalFigure::new(
        what,
        measured,
        &format!("0 wrong, at least {least} kept away"),
        wrong.is_empty() && kept >= *least,
    ))
}

/// The outcomes of one way.
struct ProbeTally {
    all: usize,
    tried: usize,
    kept: usize,
    wrong: Vec<String>,
}

fn tally_probes(out: &str, start: ProbeStart) -> ProbeTally {
    let verdicts = SandboxScene::judge_output(out, |probe| start.expected_outcome(probe));
    let wrong = verdicts
        .iter()
        .filter_map(|verdict| Some(format!("{}: {}", verdict.name, verdict.wrong.as_ref()?)))
        .collect();
    let tried = verdicts.iter().filter(|verdict| verdict.skipped.is_none());
    let kept = |name: &str| PROBES.iter().any(|probe| probe.name == name && start.keeps_away(probe));
    let (tried, kept) = (tried.clone().count(), tried.filter(|verdict| kept(verdict.name)).count());
    ProbeTally { all: PROBES.len(), tried, kept, wrong }
}

/// Runs the probes in a separate process and returns their output.
pub(crate) fn run_probes(at: &str, dir: &Path) -> Result<String> {
    let ProbeRun { start, .. } = WAYS.get(at.parse::<usize>()?).context("unknown way to run the probes")?;
    std::fs::create_dir_all(dir)?;
    match *start {
        ProbeStart::Extension(_, sandbox) => run_extension(sandbox, dir),
        ProbeStart::Tool(tool, level) => tool.run_attempts(level, dir),
    }
}

fn run_extension(sandbox: Option<(ConfinementLevel, NetworkAccess)>, dir: &Path) -> Result<String> {
    let scene = SandboxScene::new(dir)?;
    let mut spec = SpawnOptions::new(sibling_binary("sandbox-probe"), scene.data_dir()).args([scene.facts()]);
    spec.launcher = Some(Launcher { program: sibling_binary("haft-launcher"), args: Vec::new() });
    (spec.stdout, spec.stderr) = (StdioMode::Piped, StderrMode::Own(StdioMode::Inherit));
    if let Some((level, net)) = sandbox {
        let mut sandbox = Sandbox::new(level);
        (sandbox.net, sandbox.read, sandbox.write) = (net, vec![scene.granted_dir()], vec![scene.data_dir()]);
        spec.sandbox = Some(sandbox);
    }
    let runtime = GoalContext::runtime()?;
    let _entered = runtime.enter();
    let checked = spec.sandbox.as_ref().map_or(Ok(()), Sandbox::check);
    let started = GroupChild::spawn(spec);
    let mut child = match (checked, started) {
        (Ok(()), child) => child?,
        // An unavailable sandbox must be rejected.
        (Err(error), Err(_)) => {
            return Ok(format!("SKIP the sandbox is unavailable, and the start was rejected: {error}\n"));
        }
        (Err(error), Ok(_)) => bail!("the program started although the sandbox is unavailable: {error}"),
    };
    let mut out = String::new();
    let stdout = child.take_stdout().context("the probes have no output pipe")?;
    runtime.block_on(async {
        use tokio::io::AsyncReadExt as _;
        let mut stdout = stdout;
        stdout.read_to_string(&mut out).await?;
        let status = child.wait().await?;
        ensure!(status.success(), "the probes ended with {status}");
        Ok(out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_has_enough_probes() {
        for ProbeRun { name, start, least } in WAYS {
            let kept = match *start {
                ProbeStart::Tool(ProbingTool::Files, level) => files::tally_results("", level).kept,
                start @ (ProbeStart::Extension(..) | ProbeStart::Tool(..)) => {
                    PROBES.iter().filter(|probe| start.keeps_away(probe)).count()
                }
            };
            assert!(kept >= *least, "{name}: {kept}");
        }
        assert!(PROBES.len() >= 88);
    }
}
