//! B-10 to B-12, B-14 to B-16, B-20 and B-21: processes, memory, files.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use haft_host::ExtensionState;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::json;

use crate::defence::{Defence, take_down};
use crate::evil::{Misbehavior, misbehaving_spec};
use crate::oracle::tagged_processes;
use crate::row::{CASE, EVIL, FaultCase, FaultRow, skip};
use crate::timeouts::PATIENCE;
use crate::world::{HaftProgram, World, WorldSetup, last_word};

/// Extensions that ignore the request to leave. Each takes the two steps of the ladder, 3 s; one after the other they would
/// take longer than the oracle waits for an end.
const STUBBORN: (usize, usize) = (32, 50);

/// Silence after which a sign of life is asked for. It must pass.
const PING: Duration = Duration::from_millis(500);

/// The deadline of a sign of life. It must pass for the extension that is stopped, and not for the canary.
const PONG: Duration = Duration::from_secs(5);

/// Files that a host has at most in B-20.
const FEW_FILES: u64 = 64;

/// Files that an extension has at most.
const MOST_FILES: usize = 1_024;

/// Extensions of B-20.
const MANY: usize = 30;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "B-10",
        title: "leaves a daemon behind",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("daemonise"),
            play: |world| Box::pin(runs_detached(world)),
            ..CASE
        }],
        undefend: Some(without_launcher),
    },
    FaultRow {
        id: "B-11",
        title: "many that ignore the request to leave",
        cases: &[FaultCase {
            setup: |setup| {
                let many = if setup.mode.full { STUBBORN.1 } else { STUBBORN.0 };
                setup.set_env("HAFT_BARE", "1");
                (0..many).for_each(|number| {
                    setup.add(misbehaving_spec(setup, "ignore-sigterm", &format!("stubborn{number}")))
                });
            },
            play: |world| Box::pin(ignores_the_signal(world)),
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
        title: "takes memory until none is left",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("allocate"),
            play: |world| Box::pin(dies_first(world)),
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
            play: |world| Box::pin(runs_detached(world)),
            ..CASE
        }],
        undefend: Some(without_launcher),
    },
    FaultRow {
        id: "B-16",
        title: "opens files without end",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("open-files"),
            play: |world| Box::pin(gets_few_files(world)),
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
        undefend: Some(|_| take_down(Defence::FaultReports)),
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

/// Whatever it left runs in a session of its own; that it ends with the extension is the oracle's business.
async fn runs_detached(world: &mut World) -> Result<()> {
    let before = 2;
    world.wait_until("something is left behind", || tagged_processes(&world.tag).len() > before).await?;
    world.expect_working().await
}

async fn ignores_the_signal(world: &mut World) -> Result<()> {
    let ready =
        |world: &World| world.host.statuses().iter().all(|status| status.state == ExtensionState::Ready);
    world.wait_until("all are ready", || ready(world)).await?;
    world.mark("ignore-sigterm")
}

/// The system takes an extension before it takes the host.
async fn dies_first(world: &mut World) -> Result<()> {
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
        "its score is {scores:?}, the host's {own}"
    );
    world.expect_working().await
}

async fn gets_few_files(world: &mut World) -> Result<()> {
    let opened =
        |world: &World| world.marks().iter().find_map(|mark| mark.strip_prefix("opened ")?.parse().ok());
    world.wait_until("it has opened what it can", || opened(world).is_some()).await?;
    let opened: usize = opened(world).unwrap_or_default();
    ensure!(opened <= MOST_FILES, "it has opened {opened} files");
    world.expect_working().await
}

/// Changes how many files this process may have open.
fn limit_files(current: u64) {
    let limit = getrlimit(Resource::Nofile);
    // A host that may have more files than it should makes the row fail, which is what it is for.
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
        ensure!(message.contains("open files"), "{} says {message:?}", status.name);
        ensure!(code.as_str() == "spawn_failed", "{} fails with {code}", status.name);
        world.also.push((status.name.to_string(), code.as_str()));
        lacking += 1;
    }
    ensure!(running > 0 && lacking > 0, "{running} run and {lacking} do not");
    Ok(())
}

async fn hangs_up(world: &mut World) -> Result<()> {
    let steps =
        json!([{"say": [{"call": {"name": "bash", "args": {"command": "sleep 3600"}}}]}, last_word()]);
    let mut haft = HaftProgram::start(world, &steps, &[("good", "good", json!({}))], &["--json", "go"], &[])?;
    world.wait_until("haft runs a tool", || haft.stdout_text().contains("\"tool_call\"")).await?;
    // As it would be if nobody had thought of the signal.
    haft.signal(if world.mode.undefended { Signal::KILL } else { Signal::HUP })?;
    world.mark("hang-up")?;
    let ran = haft.wait_for_end(world).await?;
    ensure!(ran.code.is_some(), "it was ended by the signal; it said {:?}", ran.stderr);
    ensure!(world.marks().iter().any(|mark| mark == "shutdown"), "its extension was not asked to leave");
    if ran.events_of_type("tool_call").is_empty() {
        return skip("haft has no bash tool here");
    }
    ensure!(ran.events_of_type("tool_result").len() == 1, "the call has no result: {}", ran.stdout);
    Ok(())
}
