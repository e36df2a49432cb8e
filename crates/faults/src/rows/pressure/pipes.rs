//! B-01 to B-03 and B-07 to B-09: pipes that are not read or are closed.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use haft_protocol::event::AgentEvent;
use serde_json::{Value, json};

use crate::defense::{Defense, take_down};
use crate::misbehavior::Misbehavior;
use crate::oracle::HeapGrowth;
use crate::row::{CASE, EVIL, FaultCase, FaultRow};
use crate::world::{World, WorldSetup};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// A time longer than any row.
const NEVER: Duration = Duration::from_secs(4_000);

/// The bytes of an event, and the events of a round: twice the capacity of a queue.
const EVENT: usize = 8 * 1024;
const EVENTS: usize = 1_000;

/// The number of rounds after the first one.
const ROUNDS: (u64, u64) = (3, 20);

/// The memory in bytes that a round may add: one of sixteen events of a round.
const KEPT: u64 = (EVENT * EVENTS) as u64 / 16;

/// The number of events between two round trips of the canary, which reads them all: less than the capacity of its
/// queue.
const BATCH: usize = 100;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "B-01",
        title: "never reads while 200 KB are sent to it",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("never-read-stdin"),
                expect: &[(EVIL, "write_stalled")],
                setup: set_short_deadlines,
                play: |world| Box::pin(a_gate_stalls(world)),
                ..CASE
            },
            FaultCase {
                evil: Misbehavior::Fault("never-read-stdin"),
                expect: &[(EVIL, "write_stalled")],
                setup: set_short_deadlines,
                play: |world| Box::pin(a_tool_stalls(world)),
                ..CASE
            },
        ],
        undefend: Some(set_long_deadlines),
    },
    FaultRow {
        id: "B-02",
        title: "never reads and subscribes to everything",
        // One extension that also gets questions, and one that only subscribes.
        cases: &[dropped_events_case("never-read-stdin"), dropped_events_case("dead-observer")],
        undefend: Some(endless_queue),
    },
    FaultRow {
        id: "B-03",
        title: "never reads and floods, so that both sides block",
        cases: &[FaultCase {
            evil: Misbehavior::Fault("flood"),
            expect: &[(EVIL, "rate_limited"), (EVIL, "write_stalled")],
            setup: set_short_deadlines,
            play: |world| Box::pin(a_gate_stalls(world)),
            ..CASE
        }],
        undefend: Some(set_long_deadlines),
    },
    FaultRow {
        id: "B-07",
        title: "closes its input and continues to run",
        cases: &[half_closed("close-stdin", |world| {
            Box::pin(fails_on_closed_stream(world, "closed its input"))
        })],
        undefend: Some(never_over),
    },
    FaultRow {
        id: "B-08",
        title: "closes its output and continues to run",
        cases: &[half_closed("close-stdout", |world| {
            Box::pin(fails_on_closed_stream(world, "closed its output"))
        })],
        undefend: Some(never_over),
    },
    FaultRow {
        id: "B-09",
        title: "exits, and a grandchild holds its output open",
        cases: &[
            FaultCase {
                evil: Misbehavior::Fault("fork-and-hold-stdout"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.expect_block_at_once("exited with status 5")),
                ..CASE
            },
            FaultCase {
                evil: Misbehavior::Fault("fork-and-hold-stdout"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.expect_failure("exited with status 5")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defense::ExitStatus)),
    },
];

const fn half_closed(fault: &'static str, play: crate::row::CaseScript) -> FaultCase {
    let evil =
        Misbehavior::Script { programs: &["sh"], text: include_str!("../../scripts/half_closed.sh"), fault };
    FaultCase { evil, expect: &[(EVIL, "exited")], play, ..CASE }
}

const fn dropped_events_case(fault: &'static str) -> FaultCase {
    FaultCase {
        evil: Misbehavior::Fault(fault),
        // The case is about the queue; the write deadline must not end the extension.
        setup: |setup| setup.config.timeouts.write_stall = NEVER,
        play: |world| Box::pin(events_are_dropped(world)),
        ..CASE
    }
}

fn set_short_deadlines(setup: &mut WorldSetup) {
    setup.config.timeouts.intercept = SHORT;
    setup.config.timeouts.tool_call = SHORT;
}

fn set_long_deadlines(setup: &mut WorldSetup) {
    let timeouts = &mut setup.config.timeouts;
    (timeouts.intercept, timeouts.tool_call, timeouts.write_stall) = (NEVER, NEVER, NEVER);
}

fn endless_queue(setup: &mut WorldSetup) {
    (setup.config.limits.queue_frames, setup.config.limits.queue_bytes) = (usize::MAX, usize::MAX);
    setup.config.timeouts.write_stall = NEVER;
}

fn never_over(setup: &mut WorldSetup) {
    (setup.config.timeouts.half_closed, setup.config.timeouts.pipe_drain) = (NEVER, NEVER);
}

/// Returns arguments that exceed the capacity of a pipe.
fn large_args() -> Value {
    json!({"content": "x".repeat(200 * 1024)})
}

async fn a_gate_stalls(world: &mut World) -> Result<()> {
    let gated = world.in_time("the gate", world.call_gated_tool(large_args())).await??;
    ensure!(gated.ran_with.is_none(), "the tool ran");
    ensure!(gated.result.contains("does not read its input"), "the model received {:?}", gated.result);
    world.settle().await
}

async fn a_tool_stalls(world: &mut World) -> Result<()> {
    let asked = world.in_time("the call", world.call(large_args())).await??;
    ensure!(
        asked.is_error && asked.text.contains("does not read its input"),
        "the tool answered {:?}",
        asked.text
    );
    world.settle().await
}

/// Checks that after a first round of events, which fills the queue, more rounds add no memory.
async fn events_are_dropped(world: &mut World) -> Result<()> {
    events(world).await?;
    let (growth, rounds) = (HeapGrowth::after_first_round(), world.amount(ROUNDS.0, ROUNDS.1));
    for _ in 0..rounds {
        events(world).await?;
    }
    world.wait_until_freed(&growth, rounds, KEPT).await?;
    let mut states = world.host.statuses().into_iter();
    let dropped = states.find(|status| status.name.as_str() == EVIL).map(|status| status.events_dropped);
    ensure!(dropped.is_some_and(|dropped| dropped > 0), "no event was dropped");
    ensure!(
        world.state(EVIL)? == haft_host::ExtensionState::Ready,
        "the extension is {:?}",
        world.state(EVIL)?
    );
    world.settle().await
}

/// Sends one round of events to all extensions. The canary counts only the events that are sent to it separately.
async fn events(world: &World) -> Result<()> {
    let event =
        AgentEvent::TurnEnd { stop: haft_protocol::message::StopCause::End, error: Some("x".repeat(EVENT)) };
    for _ in 0..EVENTS / BATCH {
        for _ in 0..BATCH {
            let observers = world.host.hook_source().hooks().observers;
            observers.iter().for_each(|observer| observer.observe(&event));
        }
        // The first round trip may have started before the events.
        world.wait_for_trips(2).await?;
    }
    Ok(())
}

/// Checks that open and later questions fail as soon as the host notices the closed stream, long before their deadline.
async fn fails_on_closed_stream(world: &mut World, symptom: &str) -> Result<()> {
    let meet = async {
        world.wait_until("the stream is closed", || !world.marks().is_empty()).await?;
        world.call_gated_tool(json!({})).await
    };
    let both = async { tokio::join!(world.call(json!({})), meet) };
    let start = Instant::now();
    let (asked, gated) = world.in_time("the open questions", both).await?;
    let (asked, gated) = (asked?, gated?);
    world.at_once("the open questions", start.elapsed())?;
    ensure!(asked.is_error && asked.text.contains(symptom), "the tool answered {:?}", asked.text);
    ensure!(
        gated.ran_with.is_none() && gated.result.contains(symptom),
        "the model received {:?}",
        gated.result
    );
    world.settle().await
}
