//! Reloads: during calls, repeatedly, and of broken or changed extensions.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::future::{join, join_all};
use haft_host::{DiscoveredExtensions, ExtensionState, ReloadStats};
use haft_packages::LaunchPlan;
use haft_packages::discovery::{Discovery, DiscoveryOptions};
use serde_json::json;

use crate::defense::{Defense, take_down};
use crate::misbehavior::{Misbehavior, misbehaving_spec};
use crate::oracle::tagged_processes;
use crate::row::{CASE, CaseScript, EVIL, ExpectedFaults, FaultCase, FaultRow};
use crate::world::{World, WorldSetup, last_word, sibling_binary};

/// The deadline for open calls of a replaced extension. It must pass, but only after half of the calls are answered.
const DRAIN: Duration = Duration::from_secs(5);

/// The interval between two counts of processes.
const COUNT: Duration = Duration::from_millis(40);

/// The number of open calls; the fault uses the same number.
const CALLS: usize = 8;

/// The number of processes of one generation: two extensions and their guardians.
const SET: usize = 4;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "L-06",
        title: "is replaced while eight calls are open",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("answer-half"),
            setup: |setup| setup.config.timeouts.drain = DRAIN,
            play: |world| Box::pin(each_call_ends_once(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.timeouts.drain = Duration::ZERO),
    },
    FaultRow {
        id: "L-07",
        title: "is reloaded repeatedly",
        cases: &[FaultCase {
            setup: |setup| setup.add(misbehaving_spec(setup, "good", EVIL)),
            play: |world| Box::pin(reloads_take_turns(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::OneReload)),
    },
    FaultRow {
        id: "L-08",
        title: "a reload finds broken, changed or missing extensions",
        cases: &[
            reload(&[(EVIL, "exited")], |world| Box::pin(new_version_crashes(world))),
            reload(&[(EVIL, "spawn_failed")], |world| Box::pin(program_is_missing(world))),
            reload(&[(EVIL, "manifest_invalid")], |world| Box::pin(manifest_is_invalid(world))),
            reload(&[], |world| Box::pin(directory_is_removed(world))),
        ],
        undefend: Some(|_| take_down(Defense::OldStays)),
    },
    FaultRow {
        id: "L-09",
        title: "a reload changes the schema of a tool in the middle of a turn",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("held-tool"),
            play: |world| Box::pin(turn_keeps_old_schema(world)),
            ..CASE
        }],
        undefend: Some(|_| take_down(Defense::KnownSchema)),
    },
];

const fn reload(expect: ExpectedFaults, play: CaseScript) -> FaultCase {
    FaultCase { expect, setup: install_extension, play, ..CASE }
}

async fn each_call_ends_once(world: &mut World) -> Result<()> {
    let waiting = || world.marks().iter().filter(|mark| *mark == "waiting").count();
    let calls = join_all((0..CALLS).map(|_| world.call(json!({"wait": true}))));
    let reload = async {
        world.wait_until("all calls are open", || waiting() == CALLS).await?;
        let answers = async {
            world.wait_until("the new extension has sent hello", || hello_count(world) == 2).await?;
            world.release()
        };
        let (stats, answers) = join(world.host.reload(), answers).await;
        answers.map(|()| stats)
    };
    let (asked, stats) = join(calls, reload).await;
    let (asked, stats) = (asked.into_iter().collect::<Result<Vec<_>>>()?, stats?);
    let done = asked.iter().filter(|asked| !asked.is_error && asked.text.contains("ok")).count();
    let cancelled = asked.iter().filter(|asked| asked.is_error && asked.text.contains("cancelled by reload"));
    ensure!((done, cancelled.count()) == (CALLS / 2, CALLS / 2), "the calls ended with {asked:?}");
    ensure!((stats.ready, stats.stopped) == (2, 2), "the reload reports {stats:?}");
    // No call may be passed to the new extension.
    ensure!(waiting() == CALLS, "the extension got {} calls instead of {CALLS}", waiting());
    world.expect_answer("ok").await?;
    world.expect_allow().await
}

/// Returns the number of times that the extension has sent `hello`.
fn hello_count(world: &World) -> usize {
    let frames = fs::read_to_string(world.dir.join(format!("frames-{EVIL}.txt"))).unwrap_or_default();
    frames.lines().filter(|line| line.starts_with('>') && line.contains(r#"\"type\":\"hello\""#)).count()
}

async fn reloads_take_turns(world: &mut World) -> Result<()> {
    world.mark("reloads")?;
    let many = world.amount(8, 100);
    let over = tokio_util::sync::CancellationToken::new();
    let storm = async {
        let stats = join_all((0..many).map(|_| world.host.reload())).await;
        over.cancel();
        stats
    };
    let count = async {
        let mut most = 0;
        while !over.is_cancelled() {
            most = most.max(tagged_processes(&world.tag).len());
            // sleep: between two counts
            tokio::time::sleep(COUNT).await;
        }
        most
    };
    let (stats, most) = join(storm, count).await;
    ensure!(stats.iter().all(|stats| (stats.ready, stats.stopped) == (2, 2)), "the reloads report {stats:?}");
    ensure!(most <= 2 * SET, "{most} processes ran at the same time");
    world.wait_until("the last processes have ended", || tagged_processes(&world.tag).len() <= SET).await?;
    world.expect_answer("ok").await?;
    world.expect_allow().await
}

/// Installs the extension as a directory with a manifest, which every reload reads again.
fn install_extension(setup: &mut WorldSetup) {
    let found = discover_after(&setup.dir, || write_manifest(&setup.dir, "good"));
    setup.specs.extend(found.specs);
}

fn extensions_dir(dir: &Path) -> PathBuf {
    dir.join("extensions")
}

fn write_manifest(dir: &Path, fault: &str) -> Result<()> {
    let manifest = json!({"name": EVIL, "exec": sibling_binary("misbehave"), "args": [fault, EVIL]});
    write_text(dir, &manifest.to_string())
}

fn write_text(dir: &Path, text: &str) -> Result<()> {
    let dir = extensions_dir(dir).join(EVIL);
    fs::create_dir_all(&dir).context("create the extension")?;
    fs::write(dir.join("extension.json"), text).context("write the manifest")
}

/// Returns what discovery finds after a change.
fn discover_after(dir: &Path, change: impl FnOnce() -> Result<()>) -> DiscoveredExtensions {
    // If the change fails, discovery finds the old state, and the row fails.
    let _ = change();
    Discovery::run(&DiscoveryOptions { global: Some(extensions_dir(dir)), ..DiscoveryOptions::default() })
        .into()
}

/// Reloads after a change.
async fn reload_after(world: &World, change: impl FnOnce() -> Result<()>) -> Result<ReloadStats> {
    world.mark("reload")?;
    let now = discover_after(&world.dir, change);
    world.find(|found| {
        found.specs.retain(|spec| spec.name.as_str() != EVIL);
        found.specs.extend(now.specs);
        found.faults = now.faults;
    });
    let stats = world.host.reload().await;
    world.find(|found| found.faults.clear());
    Ok(stats)
}

/// Checks that the old extension still runs, and that the next successful reload replaces it.
async fn keeps_old_extension(world: &World, stats: &ReloadStats) -> Result<()> {
    ensure!((stats.kept, stats.errors.len()) == (1, 1), "the reload reports {stats:?}");
    ensure!(world.state(EVIL)? == ExtensionState::Ready, "the extension is {:?}", world.state(EVIL)?);
    world.expect_answer("ok").await?;
    world.expect_allow().await?;
    let stats = reload_after(world, || write_manifest(&world.dir, "good")).await?;
    ensure!((stats.kept, stats.ready, stats.stopped) == (0, 2, 2), "the next reload reports {stats:?}");
    world.expect_answer("ok").await
}

async fn new_version_crashes(world: &mut World) -> Result<()> {
    let stats = reload_after(world, || write_manifest(&world.dir, "exit-after-hello")).await?;
    keeps_old_extension(world, &stats).await
}

async fn program_is_missing(world: &mut World) -> Result<()> {
    // The program is removed after discovery.
    world.mark("reload")?;
    world.find(|found| launch_instead(found, world.dir.join("none"), &[]));
    let stats = world.host.reload().await;
    keeps_old_extension(world, &stats).await
}

async fn manifest_is_invalid(world: &mut World) -> Result<()> {
    let stats = reload_after(world, || write_text(&world.dir, "{\"name\": \"evil\", ")).await?;
    keeps_old_extension(world, &stats).await
}

/// Checks that a removed directory counts as a request and not as an error.
async fn directory_is_removed(world: &mut World) -> Result<()> {
    let remove = || fs::remove_dir_all(extensions_dir(&world.dir)).context("remove the extension");
    let stats = reload_after(world, remove).await?;
    ensure!((stats.kept, stats.stopped, stats.ready) == (0, 2, 1), "the reload reports {stats:?}");
    ensure!(world.state(EVIL).is_err(), "the extension is {:?}", world.state(EVIL));
    ensure!(world.marks().iter().any(|mark| mark == "shutdown"), "the extension was not asked to shut down");
    world.expect_allow().await
}

async fn turn_keeps_old_schema(world: &mut World) -> Result<()> {
    let call = |args| json!({"say": [{"call": {"name": "evil_tool", "args": args}}]});
    let steps = json!([call(json!({})), call(json!({"new": 1})), last_word()]);
    let reload = async {
        world.wait_until("the first call has arrived", || !world.marks().is_empty()).await?;
        world.find(|found| launch_instead(found, sibling_binary("misbehave"), &["new-schema", EVIL]));
        // The call continues until the new extension has replaced the old one.
        let answer = async {
            world.wait_until("the new tool is offered", || offers_new(world)).await?;
            world.release()
        };
        let (stats, answer) = join(world.host.reload(), answer).await;
        answer.map(|()| stats)
    };
    let (played, stats) = join(world.prompt(&steps), reload).await;
    let (played, stats) = (played?, stats?);
    ensure!((stats.ready, stats.stopped) == (2, 2), "the reload reports {stats:?}");
    let [first, second] = played.results.as_slice() else {
        anyhow::bail!("the calls ended with {:?}", played.results)
    };
    ensure!(first.contains("ok"), "the first call ended with {first:?}");
    ensure!(second.contains("its tool changed"), "the second call ended with {second:?}");
    // The next turn uses the new tool.
    ensure!(offers_new(world), "the tool has not changed");
    world.expect_answer("ok").await
}

fn offers_new(world: &World) -> bool {
    let tools = world.host.tools();
    let offered = tools.iter().find(|tool| tool.spec().name == "evil_tool");
    offered.is_some_and(|tool| tool.spec().schema.to_string().contains("\"new\""))
}

/// Makes the extension start another program from now on.
fn launch_instead(found: &mut DiscoveredExtensions, program: PathBuf, args: &[&str]) {
    if let Some(spec) = found.specs.iter_mut().find(|spec| spec.name.as_str() == EVIL) {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        spec.launch = LaunchPlan::Process { program, args };
    }
}
