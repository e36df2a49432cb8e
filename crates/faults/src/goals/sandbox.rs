//! G9: the actions of a program in a sandbox, one by one, as the current user and as the user `nobody`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_launch::{GroupChild, Launcher, Sandbox, SpawnOptions, StderrMode, StdioMode};
use haft_test_support::sandbox::{PROBES, ProbeConfinement, ProbeOutcome, SandboxScene};
use rustix::process::geteuid;

use super::{GoalContext, GoalFigure};
use crate::world::sibling_binary;

/// The first argument of a process that runs the probes.
pub(crate) const PROBE: &str = "probe";

/// The programs of the measurement, which must be next to this program.
const PROGRAMS: [&str; 3] = ["haft-faults", "haft-launcher", "sandbox-probe"];

/// The arguments of `setpriv` for a user without rights.
const NOBODY: [&str; 4] = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// A way to run the probes.
struct ProbeRun {
    name: &'static str,
    column: ProbeConfinement,
    /// `None` runs without a sandbox.
    sandbox: Option<(ConfinementLevel, NetworkAccess)>,
    /// The smallest number of probes that are refused or absent.
    least: usize,
}

const fn probe_run(
    name: &'static str,
    column: ProbeConfinement,
    level: ConfinementLevel,
    net: NetworkAccess,
    least: usize,
) -> ProbeRun {
    ProbeRun { name, column, sandbox: Some((level, net)), least }
}

const WAYS: &[ProbeRun] = &[
    ProbeRun { name: "no sandbox", column: ProbeConfinement::Free, sandbox: None, least: 0 },
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
    let ProbeRun { name, column, least, .. } = WAYS.get(at).context("unknown way to run the probes")?;
    let what = format!("{name}{who}");
    command.args([PROBE, &at.to_string()]).arg(dir.join(at.to_string())).current_dir("/");
    let output = command.output().with_context(|| format!("start the probes of {what}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if let Some(reason) = out.strip_prefix("SKIP ") {
        return Ok(GoalFigure::note(format!("SKIP {what}"), reason.trim()));
    }
    ensure!(output.status.success(), "the probes of {what}: {} {err}", output.status);
    let verdicts = SandboxScene::judge_output(&out, *column);
    let wrong: Vec<String> = verdicts
        .iter()
        .filter_map(|verdict| Some(format!("{}: {}", verdict.name, verdict.wrong.as_ref()?)))
        .collect();
    let tried = verdicts.iter().filter(|verdict| verdict.skipped.is_none());
    let kept = |name: &str| {
        let probe = PROBES.iter().find(|probe| probe.name == name);
        probe.is_some_and(|probe| {
            matches!(probe.expected(*column), ProbeOutcome::Refused | ProbeOutcome::Absent)
        })
    };
    let (tried, kept) = (tried.clone().count(), tried.filter(|verdict| kept(verdict.name)).count());
    let measured = match wrong.as_slice() {
        [] => format!("{tried} of {} as expected, {kept} of them kept away", PROBES.len()),
        wrong => wrong.join("; "),
    };
    Ok(GoalFigure::new(
        what,
        measured,
        &format!("0 wrong, at least {least} kept away"),
        wrong.is_empty() && kept >= *least,
    ))
}

/// Runs the probes in a separate process and returns their output.
pub(crate) fn run_probes(at: &str, dir: &Path) -> Result<String> {
    let ProbeRun { sandbox, .. } = WAYS.get(at.parse::<usize>()?).context("unknown way to run the probes")?;
    std::fs::create_dir_all(dir)?;
    let scene = SandboxScene::new(dir)?;
    let mut spec = SpawnOptions::new(sibling_binary("sandbox-probe"), scene.data_dir()).args([scene.facts()]);
    spec.launcher = Some(Launcher { program: sibling_binary("haft-launcher"), args: Vec::new() });
    (spec.stdout, spec.stderr) = (StdioMode::Piped, StderrMode::Own(StdioMode::Inherit));
    if let Some((level, net)) = sandbox {
        let mut sandbox = Sandbox::new(*level);
        (sandbox.net, sandbox.read, sandbox.write) =
            (*net, vec![scene.granted_dir()], vec![scene.data_dir()]);
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
        for ProbeRun { name, column, least, .. } in WAYS {
            let kept = PROBES.iter().filter(|probe| {
                matches!(probe.expected(*column), ProbeOutcome::Refused | ProbeOutcome::Absent)
            });
            assert!(kept.count() >= *least, "{name}");
        }
    }
}
