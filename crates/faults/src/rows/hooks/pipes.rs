//! H-06 to H-08: hooks that read nothing, say far too much, or leave somebody behind who holds their pipes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_host::ExtensionState;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Rfc3339Time;
use serde_json::json;

use super::{APPROVE, BEFORE, hook_case, set, shorten_deadlines};
use crate::defence::{Defence, take_down};
use crate::oracle::HeapGrowth;
use crate::row::{EVIL, FaultCase, FaultRow};
use crate::world::{World, WorldSetup};

/// Bytes of one event, and events of one round: twice what a queue takes.
const EVENT: usize = 8 * 1024;
const EVENTS: usize = 1_000;

/// Rounds after the first one.
const ROUNDS: (u64, u64) = (3, 20);

/// Most memory that a round may add, in bytes: one of sixteen events of a round.
const KEPT: u64 = (EVENT * EVENTS) as u64 / 16;

/// Events between two trips of the canary.
const BATCH: usize = 100;

/// Longer than any line, in bytes.
const ENDLESS: usize = 64 * 1024 * 1024;

/// Longer than any row.
const NEVER: Duration = Duration::from_secs(4_000);

/// Most of 3.5 MB of noise that may be held while it is read slowly, in bytes.
const NOISE: u64 = 512 * 1024;

/// The size that a flood may leave in the log, in bytes.
const LOG: usize = 1024 * 1024;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "H-06",
        title: "a hook that observes everything and never reads",
        cases: &[FaultCase {
            // It is about the queue, not about the end of a writer that stalls.
            setup: |setup| setup.config.timeouts.write_stall = NEVER,
            ..hook_case("never-read", "greeted", &[], |world| Box::pin(nobody_waits(world)))
        }],
        undefend: Some(|setup| {
            (setup.config.limits.queue_frames, setup.config.limits.queue_bytes) = (usize::MAX, usize::MAX);
        }),
    },
    FaultRow {
        id: "H-07",
        title: "a hook whose reply is longer than 8 MiB, or that prints megabytes while it is asked",
        cases: &[
            too_long(BEFORE),
            too_long(APPROVE),
            // What is long and seldom hurts nobody: 4 MB, and then the answer.
            hook_case("long-noise", BEFORE, &[], |world| Box::pin(is_skipped(world))),
            // 3.5 MB in short lines are read slowly, and the answer behind them comes too late.
            FaultCase {
                setup: |setup| {
                    shorten_deadlines(setup);
                    set(setup, "HAFT_COUNT", "40000");
                },
                notices_alone: true,
                ..hook_case("noise", BEFORE, &[(EVIL, "rate_limited"), (EVIL, "hook_timeout")], |world| {
                    Box::pin(is_read_slowly(world))
                })
            },
        ],
        undefend: Some(lift_limits),
    },
    FaultRow {
        id: "H-08",
        title: "a hook that exits, and what it started holds its pipes open",
        cases: &[
            hook_case("fork-and-exit", BEFORE, &[(EVIL, "exited")], |world| {
                Box::pin(world.expect_block_at_once("exited with status 5"))
            }),
            hook_case("fork-and-exit", APPROVE, &[(EVIL, "exited")], |world| {
                Box::pin(world.expect_block_at_once("tool approval hook \"evil\" failed"))
            }),
        ],
        undefend: Some(|_| take_down(Defence::ExitStatus)),
    },
];

const fn too_long(point: &'static str) -> FaultCase {
    let expect = &[(EVIL, "frame_too_long")];
    FaultCase {
        notices_alone: true,
        ..hook_case("long-reply", point, expect, |world| Box::pin(world.expect_block_at_once("evil")))
    }
}

fn lift_limits(setup: &mut WorldSetup) {
    let limits = &mut setup.config.limits;
    (limits.max_line, limits.max_result_line) = (ENDLESS, ENDLESS);
    (limits.frames_per_second, limits.frame_burst) = (1_000_000, 1_000_000);
    super::change_hooks(setup, |hook| (hook.timeouts.interceptor, hook.timeouts.approval) = (NEVER, NEVER));
}

/// Rounds of events for one that reads none of them: neither whoever tells them waits, nor does a turn, and what is
/// kept of them does not grow.
async fn nobody_waits(world: &mut World) -> Result<()> {
    events(world).await?;
    let (growth, rounds) = (HeapGrowth::after_first_round(), world.amount(ROUNDS.0, ROUNDS.1));
    for _ in 0..rounds {
        events(world).await?;
    }
    world.wait_until_freed(&growth, rounds, KEPT).await?;
    ensure!(world.state(EVIL)? == ExtensionState::Ready, "it is {:?}", world.state(EVIL)?);
    let mut states = world.host.statuses().into_iter();
    let dropped = states.find(|status| status.name.as_str() == EVIL).map(|status| status.events_dropped);
    ensure!(dropped.is_some_and(|dropped| dropped > 0), "no event was dropped");
    world.settle().await
}

async fn events(world: &World) -> Result<()> {
    let said = AgentEvent::UserMessage {
        content: vec![ContentBlock::text("x".repeat(EVENT))],
        time: Rfc3339Time("2026-01-01T00:00:00Z".to_owned()),
    };
    for _ in 0..EVENTS / BATCH {
        for _ in 0..BATCH {
            let observers = world.host.hook_source().hooks().observers;
            // That of the hooks is the last one; the canary is told by itself.
            let hooks = observers.last().context("nobody observes")?;
            hooks.observe(&said);
            hooks.observe(&AgentEvent::Done);
        }
        world.wait_for_trips(1).await?;
    }
    Ok(())
}

async fn is_skipped(world: &mut World) -> Result<()> {
    let start = Instant::now();
    world.expect_allow().await?;
    world.at_once("it", start.elapsed())?;
    let log = world.log_of(EVIL);
    ensure!(log.contains("skipped") && log.len() < LOG, "its log has {} bytes", log.len());
    Ok(())
}

/// From the moment that it is throttled nothing is kept of its noise, most of which is still to come.
async fn is_read_slowly(world: &mut World) -> Result<()> {
    let throttled = async {
        world.wait_for_fault("rate_limited").await?;
        let growth = HeapGrowth::after_first_round();
        world.wait_for_fault("hook_timeout").await?;
        growth.check(1, NOISE)
    };
    let (gated, kept) = tokio::join!(world.in_time("the gate", world.call_gated_tool(json!({}))), throttled);
    let gated = gated??;
    kept?;
    ensure!(gated.ran_with.is_none(), "the tool ran all the same");
    world.settle().await?;
    let log = world.log_of(EVIL);
    ensure!(log.contains("skipped") && log.len() < LOG, "its log has {} bytes", log.len());
    Ok(())
}
