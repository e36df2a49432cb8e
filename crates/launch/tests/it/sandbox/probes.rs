//! Runs the list of probes at every level.

use std::process::Command;

use haft_launch::Sandbox;
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_test_support::sandbox::{PROBES, ProbeConfinement, SandboxScene};
use rustix::process::geteuid;

use super::{PROGRAMS, is_available, own_launcher, probe, run, spec};

/// The minimum number of probes that must be refused or absent, so that a shorter list is noticed.
const FEWEST: usize = 30;

fn sandbox(column: ProbeConfinement, scene: &SandboxScene) -> Option<Sandbox> {
    let (level, net) = match column {
        ProbeConfinement::Free => return None,
        ProbeConfinement::Standard => (ConfinementLevel::Standard, NetworkAccess::None),
        ProbeConfinement::StandardAll => (ConfinementLevel::Standard, NetworkAccess::All),
        ProbeConfinement::Strict => (ConfinementLevel::Strict, NetworkAccess::None),
        ProbeConfinement::StrictLoopback => (ConfinementLevel::Strict, NetworkAccess::Loopback),
        ProbeConfinement::StrictAll => (ConfinementLevel::Strict, NetworkAccess::All),
    };
    let mut sandbox = Sandbox::new(level);
    sandbox.net = net;
    sandbox.read = vec![scene.granted_dir()];
    sandbox.write = vec![scene.data_dir()];
    Some(sandbox)
}

#[expect(clippy::print_stderr, reason = "skipped probes are printed")]
async fn check(column: ProbeConfinement) {
    let dir = tempfile::tempdir().unwrap();
    let scene = SandboxScene::new(dir.path()).unwrap();
    let sandbox = sandbox(column, &scene);
    if sandbox.as_ref().is_some_and(|sandbox| !is_available(sandbox.level)) {
        return;
    }
    let ended = run(spec(probe(), scene.data_dir(), sandbox).args([scene.facts()])).await;
    assert!(ended.status.success(), "{ended:?}");
    let verdicts = SandboxScene::judge_output(&ended.out, |probe| probe.expected(column));
    let wrong: Vec<_> =
        verdicts.iter().filter_map(|verdict| Some((verdict.name, verdict.wrong.as_ref()?))).collect();
    assert!(wrong.is_empty(), "{column:?}: {wrong:#?}\n{}", ended.err);
    for verdict in verdicts.iter().filter(|verdict| verdict.skipped.is_some()) {
        eprintln!("SKIP {column:?} {}: {}", verdict.name, verdict.skipped.as_deref().unwrap_or_default());
    }
    let tried = verdicts.iter().filter(|verdict| verdict.skipped.is_none()).count();
    assert!(tried >= FEWEST, "only {tried} of {} probes ran", PROBES.len());
}

#[tokio::test]
async fn probes_succeed_without_a_sandbox() {
    check(ProbeConfinement::Free).await;
}

#[tokio::test]
async fn probes_fail_at_level_standard() {
    check(ProbeConfinement::Standard).await;
    check(ProbeConfinement::StandardAll).await;
}

#[tokio::test]
async fn probes_fail_at_level_strict() {
    check(ProbeConfinement::Strict).await;
    check(ProbeConfinement::StrictLoopback).await;
    check(ProbeConfinement::StrictAll).await;
}

/// Repeats all tests of the sandbox as a user without privileges, if this user has some.
#[expect(clippy::disallowed_methods, reason = "this very test program")]
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
#[test]
fn passes_as_unprivileged_user() {
    use std::os::unix::fs::PermissionsExt as _;
    if !geteuid().is_root() {
        eprintln!("SKIP passes_as_unprivileged_user: this user has no privileges already");
        return;
    }
    // Other users may not be able to enter the build directory.
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let test = dir.path().join("it");
    std::fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    std::fs::copy(own_launcher().program, dir.path().join("launcher")).unwrap();
    std::fs::copy(probe(), dir.path().join("sandbox-probe")).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(test);
    command
        .args(["sandbox::", "--skip", "passes_as_unprivileged_user", "--nocapture"])
        .env(PROGRAMS, dir.path())
        .current_dir("/");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIP passes_as_unprivileged_user: setpriv: {error}");
            return;
        }
    };
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text.lines().filter(|line| line.starts_with("SKIP")).for_each(|line| eprintln!("as user nobody: {line}"));
}
