//! B-04 to B-06, B-13, B-17 to B-19 and B-22: floods of frames, logs, registrations, progress and work.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_core::tool::ToolContext;
use haft_protocol::limits::{MAX_TOOLS, NOTE_BURST, NOTES_PER_SECOND, PANELS_PER_SECOND};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::canary::p50;
use crate::misbehavior::{Misbehavior, misbehaving_spec};
use crate::oracle::{HeapGrowth, SLOWER};
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::world::{World, WorldSetup};

/// The time that an extension may exceed its rate: it is throttled first and ended afterwards.
const SHORT: Duration = Duration::from_millis(1_000);

/// The number of the canary's round trips next to busy extensions.
const WATCHED: usize = 200;

/// The longest median of the canary's round trips, unless 10 × the control's is longer. On an idle machine it is a
/// millisecond.
const MEDIAN: Duration = Duration::from_secs(1);

/// The time for which the host's thread is blocked.
const HELD: Duration = Duration::from_secs(3);

/// The memory in bytes that a flood may add between the start of throttling and its end: far less than an extension
/// writes in this time.
const KEPT: u64 = 1 << 20;

/// The number of states of progress of one call that are shown per second.
const PROGRESS_PER_SECOND: u64 = 20;

/// The size of a log and its predecessor.
const LOGS: u64 = 2 * 1024 * 1024 + 64 * 1024;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "B-04",
        title: "floods its output with frames",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("flood"),
            expect: &[(EVIL, "rate_limited"), (EVIL, "rate_limited")],
            setup: |setup| setup.config.timeouts.overrun = SHORT,
            play: |world| Box::pin(survives_flood(world)),
            ..CASE
        }],
        undefend: Some(no_rate),
    },
    FaultRow {
        id: "B-05",
        title: "floods its output with invalid lines",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("flood-junk"),
            expect: &[(EVIL, "frame_not_json"), (EVIL, "rate_limited"), (EVIL, "rate_limited")],
            setup: |setup| setup.config.timeouts.overrun = SHORT,
            play: |world| Box::pin(survives_flood(world)),
            ..CASE
        }],
        undefend: Some(no_rate),
    },
    FaultRow {
        id: "B-06",
        title: "floods its log",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("flood-stderr"),
            setup: |setup| setup.set_env("HAFT_COUNT", if setup.mode.full { "64" } else { "8" }),
            play: |world| Box::pin(limits_log(world)),
            ..CASE
        }],
        undefend: Some(|setup| {
            (setup.config.limits.stderr_per_second, setup.config.limits.max_log) = (usize::MAX, usize::MAX)
        }),
    },
    FaultRow {
        id: "B-13",
        title: "four extensions that only compute",
        cases: &[FaultCase {
            setup: |setup| {
                setup.set_env("HAFT_BARE", "1");
                (1..=4)
                    .for_each(|number| setup.add(misbehaving_spec(setup, "busy", &format!("busy{number}"))));
            },
            play: |world| Box::pin(leaves_time_for_others(world)),
            ..CASE
        }],
        undefend: Some(|_| {}),
    },
    FaultRow {
        id: "B-17",
        title: "registers 100,000 tools",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("many-tools"),
            expect: &[(EVIL, "register_rejected")],
            setup: |setup| setup.set_env("HAFT_COUNT", if setup.mode.full { "100000" } else { "1500" }),
            play: |world| Box::pin(keeps_the_first_tools(world)),
            ..CASE
        }],
        undefend: Some(|setup| setup.config.limits.max_tools = usize::MAX),
    },
    FaultRow {
        id: "B-18",
        title: "registers its tool repeatedly",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("churn"),
            expect: &[(EVIL, "rate_limited"), (EVIL, "rate_limited")],
            setup: |setup| setup.config.timeouts.overrun = SHORT,
            play: |world| Box::pin(survives_flood(world)),
            ..CASE
        }],
        undefend: Some(no_rate),
    },
    FaultRow {
        id: "B-19",
        title: "floods the screen with notes and panels",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("spam-notes"),
                expect: &[(EVIL, "rate_limited")],
                play: |world| Box::pin(shows_some_notes(world)),
                ..CASE
            },
            FaultCase {
                evil: Misbehavior::Fault("spam-panel"),
                play: |world| Box::pin(shows_some_panels(world)),
                ..CASE
            },
        ],
        undefend: Some(no_rate),
    },
    FaultRow {
        id: "B-22",
        title: "floods a tool call with progress",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("flood-progress"),
            expect: &[(EVIL, "rate_limited"), (EVIL, "rate_limited")],
            setup: |setup| setup.config.timeouts.overrun = SHORT,
            play: |world| Box::pin(shows_some_progress(world)),
            ..CASE
        }],
        undefend: Some(no_rate),
    },
];

fn no_rate(setup: &mut WorldSetup) {
    let limits = &mut setup.config.limits;
    (limits.frames_per_second, limits.frame_burst) = (u32::MAX, u32::MAX);
    (limits.notes_per_second, limits.note_burst) = (u32::MAX, u32::MAX);
}

/// Checks that the canary is answered during a flood, and that no memory of the flood is kept.
async fn survives_flood(world: &World) -> Result<()> {
    world.wait_for_fault("rate_limited").await?;
    let (growth, before) = (HeapGrowth::after_first_round(), world.canary.count());
    world.wait_for_expected().await?;
    world.wait_until_freed(&growth, 1, KEPT).await?;
    ensure!(world.canary.count() > before, "the canary was not answered while it was throttled");
    check_canary_latency(world)
}

/// Checks that the canary is as fast as without a fault, or fast enough.
fn check_canary_latency(world: &World) -> Result<()> {
    let (own, beside) = world.medians(p50)?;
    ensure!(
        own < MEDIAN.max(beside * SLOWER),
        "the canary's median is {own:?}, and {beside:?} without a fault"
    );
    Ok(())
}

async fn watch_canary(world: &World) -> Result<()> {
    world.wait_for_expected().await?;
    world.wait_for_trips(WATCHED).await?;
    check_canary_latency(world)
}

/// Checks that busy extensions leave time for others, because they are separate processes; without the defense they
/// compute on the host's thread.
async fn leaves_time_for_others(world: &mut World) -> Result<()> {
    if !world.mode.undefended {
        return watch_canary(world).await;
    }
    let inside = tokio::spawn(async {
        loop {
            // sleep: part of the fault
            std::thread::sleep(HELD);
            tokio::task::yield_now().await;
        }
    });
    let outcome = watch_canary(world).await;
    inside.abort();
    outcome
}

async fn limits_log(world: &mut World) -> Result<()> {
    world.wait_until("all written", || world.marks().iter().any(|mark| mark == "all written")).await?;
    world.expect_working().await?;
    let logs = fs::read_dir(world.dir.join("logs")).context("list the logs")?;
    let lengths = logs.flatten().filter(|log| log.file_name().to_string_lossy().contains(EVIL));
    let length: u64 = lengths.filter_map(|log| log.metadata().ok()).map(|log| log.len()).sum();
    ensure!(length <= LOGS, "the logs have {length} bytes");
    world.wait_until("the log reports dropped output", || world.log_of(EVIL).contains("dropped")).await
}

async fn keeps_the_first_tools(world: &mut World) -> Result<()> {
    world.wait_for_expected().await?;
    let tools = world.host.tools();
    let own = tools.iter().filter(|tool| tool.spec().name.starts_with("many_")).count();
    ensure!(own <= MAX_TOOLS && own + 1 >= MAX_TOOLS, "the extension has {own} tools");
    world.expect_answer("ok").await
}

/// Checks that as many notes are shown as the limits allow: a burst, and a number per second of the case.
async fn shows_some_notes(world: &mut World) -> Result<()> {
    let start = Instant::now();
    world.wait_until("all sent", || world.marks().iter().any(|mark| mark == "all sent")).await?;
    world.expect_working().await?;
    let shown = world.events.of_type("ext_notify").len();
    let seconds = (world.started_in + start.elapsed()).as_secs() + 1;
    let most = u64::from(NOTE_BURST) + u64::from(NOTES_PER_SECOND) * seconds;
    ensure!((1..=most).contains(&(shown as u64)), "{shown} notes were shown, but only {most} are allowed");
    Ok(())
}

/// Checks that a call shows a limited number of states, and fails when its extension is ended for the flood.
async fn shows_some_progress(world: &World) -> Result<()> {
    let (start, shown) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let counter = Arc::clone(&shown);
    let context =
        ToolContext::new(CancellationToken::new(), move |_| _ = counter.fetch_add(1, Ordering::Relaxed));
    let (called, survived) =
        tokio::join!(world.call_tool_with(context, "evil_tool", json!({})), survives_flood(world));
    survived?;
    let called = called?;
    ensure!(called.is_error, "the flooding call returned {:?}", called.text);
    let (shown, most) =
        (shown.load(Ordering::Relaxed), PROGRESS_PER_SECOND * (start.elapsed().as_secs() + 1));
    ensure!((1..=most).contains(&shown), "{shown} states were shown, but only {most} are allowed");
    Ok(())
}

async fn shows_some_panels(world: &mut World) -> Result<()> {
    let start = Instant::now();
    let opened = world.command("evil", "").await;
    ensure!(opened.is_ok(), "the panel was not opened: {opened:?}");
    world.wait_until("all sent", || world.marks().iter().any(|mark| mark == "all sent")).await?;
    world
        .wait_until("the last panel is shown", || {
            world.screen.drawings().iter().any(|text| text.contains("the last"))
        })
        .await?;
    let shown = world.screen.drawings().iter().filter(|text| text.contains("draws")).count();
    let most = (start.elapsed().as_secs() + 1) * u64::from(PANELS_PER_SECOND) + 2;
    ensure!(shown as u64 <= most, "{shown} panels were drawn, but only {most} are allowed");
    world.expect_working().await
}
