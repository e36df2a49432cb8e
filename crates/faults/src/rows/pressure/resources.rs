//! B-10 to B-12, B-14 to B-16, B-20 and B-21: processes, memory, files.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use haft_host::ExtensionState;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::json;

use crate::defense::{Defense, take_down};
use crate::misbehavior::{Misbehavior, misbehaving_spec};
use crate::oracle::tagged_processes;
use crate::row::{CASE, EVIL, FaultCase, FaultRow, skip};
use crate::timeouts::PATIENCE;
use crate::world::{HaftProgram, World, WorldSetup, last_word};

/// The number of extensions that ignore the request to shut down. Each takes 3 s for both steps of the shutdown; one
/// after the other they would exceed the oracle's limit.
const STUBBORN: (usize, usize) = (32, 50);

/// The silence after which the host sends a ping. It must pass.
const PING: Duration = Duration::from_millis(500);

/// The deadline of a ping. It must pass for the stopped extension, and not for the canary.
const PONG: Duration = Duration::from_secs(5);

/// The limit of open files for the host in B-20.
const FEW_FILES: u64 = 64;

/// The limit of open files for an extension.
const MOST_FILES: usize = 1_024;

/// The number of extensions of B-20.
const MANY: usize = 30;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "B-10",
        title: "leaves a daemon behind",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("daemonize"),
            play: |world| Box::pin(starts_daemon(world)),
            ..CASE
        }],
        undefend: Some(without_launcher),
    },
    FaultRow {
        id: "B-11",
        title: "many extensions ignore the request to shut down",
        cases: &[FaultCase {
            setup: |setup| {
                let many = if setup.mode.full { STUBBORN.1 } else { STUBBORN.0 };
                setup.set_env("HAFT_BARE", "1");
                (0..many).for_each(|number| {
                    setup.add(misbehaving_spec(setup, "ignore-sigterm", &format!("stubborn{number}")))
                });
            },
            play: |world| Box::pin(ignores_signal(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.kill_grace = PATIENCE * 2),
    },
    FaultRow {
        id: "B-12",
        title: "is stopped by a signal",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("stopped"),
            expect: &[(EVIL, "unresponsive")],
            setup: |setup| (setup.config.timeouts.ping, setup.config.timeouts.pong) = (PING, PONG),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.ping = PING * 600),
    },
    FaultRow {
        id: "B-14",
        title: "allocates memory without end",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("allocate"),
            play: |world| Box::pin(dies_before_host(world)),
            ..CASE
        }],
        undefend: Some(without_launcher),
    },
    FaultRow {
        id: "B-15",
        title: "forks without end",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("fork-many"),
            setup: |setup| setup.set_env("HAFT_COUNT", if setup.mode.full { "500" } else { "30" }),
            play: |world| Box::pin(starts_daemon(world)),
            ..CASE
        }],
        undefend: Some(without_launcher),
    },
    FaultRow {
        id: "B-16",
        title: "opens files without end",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("open-files"),
            play: |world| Box::pin(limits_open_files(world)),
            ..CASE
        }],
        undefend: Some(without_launcher),
    },
    FaultRow {
        id: "B-20",
        title: "the host has no files left to start more",
        cases: &[FaultCase {
            setup: |setup| {
                setup.set_env("HAFT_BARE", "1");
                (0..MANY)
                    .for_each(|number| setup.add(misbehaving_spec(setup, "good", &format!("ext{number}"))));
                limit_files(FEW_FILES);
            },
            play: |world| Box::pin(some_are_not_started(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::FaultReports)),
    },
    FaultRow {
        id: "B-21",
        title: "the terminal hangs up",
        cases: &[FaultCase { play: |world| Box::pin(hangs_up(world)), ..CASE }],
        undefend: Some(|_| {}),
    },
];

fn without_launcher(setup: &mut WorldSetup) {
    setup.config.launcher = None;
}

/// Checks that a detached process starts. The oracle checks that it ends with the extension.
async fn starts_daemon(world: &mut World) -> Result<()> {
    let before = 2;
    world.wait_until("the daemon has started", || tagged_processes(&world.tag).len() > before).await?;
    world.expect_working().await
}

async fn ignores_signal(world: &mut World) -> Result<()> {
    let ready =
        |world: &World| world.host.statuses().iter().all(|status| status.state == ExtensionState::Ready);
    world.wait_until("all are ready", || ready(world)).await?;
    world.mark("ignore-sigterm")
}

/// Checks that the system's OOM killer chooses an extension before the host.
async fn dies_before_host(world: &mut World) -> Result<()> {
    world.wait_until("all allocated", || world.marks().iter().any(|mark| mark == "all allocated")).await?;
    let score = |pid: &str| -> Result<i32> {
        let text = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).context("read oom_score_adj")?;
        text.trim().parse().context("read oom_score_adj")
    };
    let own = score("self")?;
    let pids = tagged_processes(&world.tag);
    let misbehaving = pids.iter().filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == b"allocate")
    });
    let scores: Vec<i32> = misbehaving.map(|pid| score(&pid.to_string())).collect::<Result<_>>()?;
    ensure!(
        scores.iter().any(|&score| score >= own + 500 || score == 1_000),
        "the extension's score is {scores:?}, the host's is {own}"
    );
    world.expect_working().await
}

async fn limits_open_files(world: &mut World) -> Result<()> {
    let opened =
        |world: &World| world.marks().iter().find_map(|mark| mark.strip_prefix("opened ")?.parse().ok());
    world.wait_until("the extension has opened as many files as it can", || opened(world).is_some()).await?;
    let opened: usize = opened(world).unwrap_or_default();
    ensure!(opened <= MOST_FILES, "the extension has opened {opened} files");
    world.expect_working().await
}

/// Sets the limit of open files for this process.
fn limit_files(current: u64) {
    let limit = getrlimit(Resource::Nofile);
    // If the limit cannot be set, the row fails.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..limit });
}

async fn some_are_not_started(world: &mut World) -> Result<()> {
    limit_files(getrlimit(Resource::Nofile).maximum.unwrap_or(4_096).min(4_096));
    world.mark("no files left")?;
    let (mut running, mut lacking) = (0, 0);
    for status in world.host.statuses().into_iter().filter(|status| status.name.as_str() != "canary") {
        let ExtensionState::Failed { code, message } = status.state else {
            running += 1;
            continue;
        };
        ensure!(message.contains("open files"), "{} reports {message:?}", status.name);
        ensure!(code.as_str() == "spawn_failed", "{} failed with {code}", status.name);
        world.also.push((status.name.to_string(), code.as_str()));
        lacking += 1;
    }
    ensure!(running > 0 && lacking > 0, "{running} extensions run and {lacking} do not");
    Ok(())
}

async fn hangs_up(world: &mut World) -> Result<()> {
    let steps =
        json!([{"say": [{"call": {"name": "bash", "args": {"command": "sleep 3600"}}}]}, last_word()]);
    let mut haft = HaftProgram::start(world, &steps, &[("good", "good", json!({}))], &["--json", "go"], &[])?;
    world.wait_until("haft runs a tool", || haft.stdout_text().contains("\"tool_call\"")).await?;
    // Without the defense haft does not handle the signal.
    haft.signal(if world.mode.undefended { Signal::KILL } else { Signal::HUP })?;
    world.mark("hang-up")?;
    let ran = haft.wait_for_end(world).await?;
    ensure!(ran.code.is_some(), "the signal killed haft; its log is {:?}", ran.stderr);
    ensure!(world.marks().iter().any(|mark| mark == "shutdown"), "the extension was not asked to shut down");
    if ran.events_of_type("tool_call").is_empty() {
        return skip("a bash tool in haft");
    }
    ensure!(ran.events_of_type("tool_result").len() == 1, "the call has no result: {}", ran.stdout);
    Ok(())
}
