//! The list of probes at every level.

use std::process::Command;

use haft_launch::Sandbox;
use haft_launch::sandbox::{Level, Net};
use haft_test_support::sandbox::{Column, PROBES, Scene};
use rustix::process::geteuid;

use super::{PROGRAMS, is_there, own_launcher, probe, run, spec};

/// How many of the list have to be refused or absent at a level, so that a shorter list is noticed.
const FEWEST: usize = 30;

fn sandbox(column: Column, scene: &Scene) -> Option<Sandbox> {
    let (level, net) = match column {
        Column::Free => return None,
        Column::Standard => (Level::Standard, Net::None),
        Column::StandardAll => (Level::Standard, Net::All),
        Column::Strict => (Level::Strict, Net::None),
        Column::StrictLoopback => (Level::Strict, Net::Loopback),
        Column::StrictAll => (Level::Strict, Net::All),
    };
    let mut sandbox = Sandbox::new(level);
    sandbox.net = net;
    sandbox.read = vec![scene.granted()];
    sandbox.write = vec![scene.data()];
    Some(sandbox)
}

#[expect(clippy::print_stderr, reason = "what could not be tried is said")]
async fn check(column: Column) {
    let dir = tempfile::tempdir().unwrap();
    let scene = Scene::new(dir.path()).unwrap();
    let sandbox = sandbox(column, &scene);
    if sandbox.as_ref().is_some_and(|sandbox| !is_there(sandbox.level)) {
        return;
    }
    let ended = run(spec(probe(), scene.data(), sandbox).args([scene.facts()])).await;
    assert!(ended.status.success(), "{ended:?}");
    let verdicts = Scene::judge(&ended.out, column);
    let wrong: Vec<_> =
        verdicts.iter().filter_map(|verdict| Some((verdict.name, verdict.wrong.as_ref()?))).collect();
    assert!(wrong.is_empty(), "{column:?}: {wrong:#?}\n{}", ended.err);
    for verdict in verdicts.iter().filter(|verdict| verdict.skipped.is_some()) {
        eprintln!("SKIP {column:?} {}: {}", verdict.name, verdict.skipped.as_deref().unwrap_or_default());
    }
    let tried = verdicts.iter().filter(|verdict| verdict.skipped.is_none()).count();
    assert!(tried >= FEWEST, "only {tried} of {}", PROBES.len());
}

#[tokio::test]
async fn without_a_sandbox_what_shall_be_refused_can_be_done() {
    check(Column::Free).await;
}

#[tokio::test]
async fn standard() {
    check(Column::Standard).await;
    check(Column::StandardAll).await;
}

#[tokio::test]
async fn strict() {
    check(Column::Strict).await;
    check(Column::StrictLoopback).await;
    check(Column::StrictAll).await;
}

/// All of it again by a user without rights, if this one has some.
#[expect(clippy::disallowed_methods, reason = "this very test program")]
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
#[test]
fn as_nobody() {
    use std::os::unix::fs::PermissionsExt as _;
    if !geteuid().is_root() {
        eprintln!("SKIP as_nobody: it is nobody already");
        return;
    }
    // Where they were built others may not be let in.
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let test = dir.path().join("it");
    std::fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    std::fs::copy(own_launcher().program, dir.path().join("haft-launcher")).unwrap();
    std::fs::copy(probe(), dir.path().join("sandbox-probe")).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(test);
    command
        .args(["sandbox::", "--skip", "as_nobody", "--nocapture"])
        .env(PROGRAMS, dir.path())
        .current_dir("/");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIP as_nobody: setpriv: {error}");
            return;
        }
    };
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text.lines().filter(|line| line.starts_with("SKIP")).for_each(|line| eprintln!("as nobody: {line}"));
}
