//! H-06 to H-08: process hooks that never read, write too much, or leave a process that holds their pipes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_host::ExtensionState;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Rfc3339Time;
use serde_json::json;

use super::{APPROVE, BEFORE, hook_case, set, shorten_deadlines};
use crate::defense::{Defense, take_down};
use crate::oracle::HeapGrowth;
use crate::row::{EVIL, FaultCase, FaultRow};
use crate::world::{World, WorldSetup};

/// The bytes of an event, and the events of a round: twice the capacity of a queue.
const EVENT: usize = 8 * 1024;
const EVENTS: usize = 1_000;

/// The number of rounds after the first one.
const ROUNDS: (u64, u64) = (3, 20);

/// The memory in bytes that a round may add: one of sixteen events of a round.
const KEPT: u64 = (EVENT * EVENTS) as u64 / 16;

/// The number of events between two round trips of the canary.
const BATCH: usize = 100;

/// A length above the limit for lines, in bytes.
const ENDLESS: usize = 64 * 1024 * 1024;

/// A time longer than any row.
const NEVER: Duration = Duration::from_secs(4_000);

/// The memory in bytes that may hold unread noise, of 3.5 MB in total.
const NOISE: u64 = 512 * 1024;

/// The size in bytes that a flood may leave in the log.
const LOG: usize = 1024 * 1024;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "H-06",
        title: "a hook subscribes to everything and never reads",
        cases: &[FaultCase {
            // The case is about the queue; the write deadline must not end the hook.
            setup: |setup| setup.config.timeouts.write_stall = NEVER,
            ..hook_case("never-read", "greeted", &[], |world| Box::pin(no_sender_waits(world)))
        }],
        undefend: Some(|setup| {
            (setup.config.limits.queue_frames, setup.config.limits.queue_bytes) = (usize::MAX, usize::MAX);
        }),
    },
    FaultRow {
        id: "H-07",
        title: "a hook's reply is longer than 8 MiB, or it prints megabytes while asked",
        cases: &[
            too_long(BEFORE),
            too_long(APPROVE),
            // Rare long lines are harmless: 4 MB, and then the answer.
            hook_case("long-noise", BEFORE, &[], |world| Box::pin(skips_long_noise(world))),
            // 3.5 MB in short lines are throttled, so the answer after them is too late.
            FaultCase {
                setup: |setup| {
                    shorten_deadlines(setup);
                    set(setup, "HAFT_COUNT", "40000");
                },
                notices_alone: true,
                ..hook_case("noise", BEFORE, &[(EVIL, "rate_limited"), (EVIL, "hook_timeout")], |world| {
                    Box::pin(throttles_noise(world))
                })
            },
        ],
        undefend: Some(lift_limits),
    },
    FaultRow {
        id: "H-08",
        title: "a hook exits, and its child holds its pipes open",
        cases: &[
            hook_case("fork-and-exit", BEFORE, &[(EVIL, "exited")], |world| {
                Box::pin(world.expect_block_at_once("exited with status 5"))
            }),
            hook_case("fork-and-exit", APPROVE, &[(EVIL, "exited")], |world| {
                Box::pin(world.expect_block_at_once("tool approval hook \"evil\" failed"))
            }),
        ],
        undefend: Some(|_| take_down(Defense::ExitStatus)),
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

/// Sends rounds of events that the hook never reads. The sender and the turn must not wait, and the queued memory must
/// not grow.
async fn no_sender_waits(world: &mut World) -> Result<()> {
    events(world).await?;
    let (growth, rounds) = (HeapGrowth::after_first_round(), world.amount(ROUNDS.0, ROUNDS.1));
    for _ in 0..rounds {
        events(world).await?;
    }
    world.wait_until_freed(&growth, rounds, KEPT).await?;
    ensure!(world.state(EVIL)? == ExtensionState::Ready, "the hook is {:?}", world.state(EVIL)?);
    let mut states = world.host.statuses().into_iter();
    let dropped = states.find(|status| status.name.as_str() == EVIL).map(|status| status.events_dropped);
    ensure!(dropped.is_some_and(|dropped| dropped > 0), "no event was dropped");
    world.settle().await
}

async fn events(world: &World) -> Result<()> {
    let said = AgentEvent::UserMessage {
        content: vec![ContentBlock::text("x".repeat(EVENT))],
        time: Rfc3339Time("2026-01-01T00:00:00Z".to_owned()),
        entry: None,
    };
    for _ in 0..EVENTS / BATCH {
        for _ in 0..BATCH {
            let observers = world.host.hook_source().hooks().observers;
            // The observer of the hooks is the last one; the canary gets its events separately.
            let hooks = observers.last().context("no observer is registered")?;
            hooks.observe(&said);
            hooks.observe(&AgentEvent::Done);
        }
        world.wait_for_trips(1).await?;
    }
    Ok(())
}

async fn skips_long_noise(world: &mut World) -> Result<()> {
    let start = Instant::now();
    world.expect_allow().await?;
    world.at_once("the answer", start.elapsed())?;
    let log = world.log_of(EVIL);
    ensure!(log.contains("skipped") && log.len() < LOG, "the log has {} bytes", log.len());
    Ok(())
}

/// Checks that after the start of throttling no memory of the noise is kept, most of which is still unread.
async fn throttles_noise(world: &mut World) -> Result<()> {
    let throttled = async {
        world.wait_for_fault("rate_limited").await?;
        let growth = HeapGrowth::after_first_round();
        world.wait_for_fault("hook_timeout").await?;
        growth.check(1, NOISE)
    };
    let (gated, kept) = tokio::join!(world.in_time("the gate", world.call_gated_tool(json!({}))), throttled);
    let gated = gated??;
    kept?;
    ensure!(gated.ran_with.is_none(), "the tool ran");
    world.settle().await?;
    let log = world.log_of(EVIL);
    ensure!(log.contains("skipped") && log.len() < LOG, "the log has {} bytes", log.len());
    Ok(())
}
