//! B-01 to B-03 and B-07 to B-09: pipes that nobody reads, or that end.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use haft_protocol::event::AgentEvent;
use serde_json::{Value, json};

use crate::defence::{Defence, take_down};
use crate::evil::Evil;
use crate::oracle::Growth;
use crate::row::{CASE, Case, EVIL, Row};
use crate::world::{Setup, World};

/// A deadline that must pass.
const SHORT: Duration = Duration::from_millis(500);

/// Longer than any row.
const NEVER: Duration = Duration::from_secs(4_000);

/// Bytes of one event, and events of one round: twice what a queue takes.
const EVENT: usize = 8 * 1024;
const EVENTS: usize = 1_000;

/// Rounds after the first one.
const ROUNDS: (u64, u64) = (3, 20);

/// Most memory that a round may add, in bytes: one of sixteen events of a round.
const KEPT: u64 = (EVENT * EVENTS) as u64 / 16;

/// Events between two trips of the canary, which reads them all: less than its queue takes.
const BATCH: usize = 100;

pub(crate) const ROWS: &[Row] = &[
    Row {
        id: "B-01",
        title: "never reads while 200 KB are sent to it",
        cases: &[
            Case {
                evil: Evil::Fault("never-read-stdin"),
                expect: &[(EVIL, "write_stalled")],
                setup: short,
                play: |world| Box::pin(a_gate_stalls(world)),
                ..CASE
            },
            Case {
                evil: Evil::Fault("never-read-stdin"),
                expect: &[(EVIL, "write_stalled")],
                setup: short,
                play: |world| Box::pin(a_tool_stalls(world)),
                ..CASE
            },
        ],
        undefend: Some(long),
    },
    Row {
        id: "B-02",
        title: "never reads and watches everything",
        // An extension that is asked things too, and one that only watches.
        cases: &[dropping("never-read-stdin"), dropping("dead-observer")],
        undefend: Some(endless_queue),
    },
    Row {
        id: "B-03",
        title: "reads nothing and floods, so that each waits for the other",
        cases: &[Case {
            evil: Evil::Fault("flood"),
            expect: &[(EVIL, "rate_limited"), (EVIL, "write_stalled")],
            setup: short,
            play: |world| Box::pin(a_gate_stalls(world)),
            ..CASE
        }],
        undefend: Some(long),
    },
    Row {
        id: "B-07",
        title: "closes its input and runs on",
        cases: &[half_closed("close-stdin", |world| Box::pin(gone(world, "closed its input")))],
        undefend: Some(never_over),
    },
    Row {
        id: "B-08",
        title: "closes its output and runs on",
        cases: &[half_closed("close-stdout", |world| Box::pin(gone(world, "closed its output")))],
        undefend: Some(never_over),
    },
    Row {
        id: "B-09",
        title: "exits, and a grandchild holds its output open",
        cases: &[
            Case {
                evil: Evil::Fault("fork-and-hold-stdout"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.blocks_at_once("exited with status 5")),
                ..CASE
            },
            Case {
                evil: Evil::Fault("fork-and-hold-stdout"),
                expect: &[(EVIL, "exited")],
                play: |world| Box::pin(world.fails("exited with status 5")),
                ..CASE
            },
        ],
        undefend: Some(|_| take_down(Defence::ExitStatus)),
    },
];

const fn half_closed(fault: &'static str, play: crate::row::Play) -> Case {
    let evil = Evil::Script { programs: &["sh"], text: include_str!("../../scripts/half_closed.sh"), fault };
    Case { evil, expect: &[(EVIL, "exited")], play, ..CASE }
}

const fn dropping(fault: &'static str) -> Case {
    Case {
        evil: Evil::Fault(fault),
        // It is about the queue, not about the end of a writer that stalls.
        setup: |setup| setup.config.timeouts.write_stall = NEVER,
        play: |world| Box::pin(events_are_dropped(world)),
        ..CASE
    }
}

fn short(setup: &mut Setup) {
    setup.config.timeouts.intercept = SHORT;
    setup.config.timeouts.tool_call = SHORT;
}

fn long(setup: &mut Setup) {
    let timeouts = &mut setup.config.timeouts;
    (timeouts.intercept, timeouts.tool_call, timeouts.write_stall) = (NEVER, NEVER, NEVER);
}

fn endless_queue(setup: &mut Setup) {
    (setup.config.limits.queue_frames, setup.config.limits.queue_bytes) = (usize::MAX, usize::MAX);
    setup.config.timeouts.write_stall = NEVER;
}

fn never_over(setup: &mut Setup) {
    (setup.config.timeouts.half_closed, setup.config.timeouts.pipe_drain) = (NEVER, NEVER);
}

/// More than a pipe takes.
fn big() -> Value {
    json!({"content": "x".repeat(200 * 1024)})
}

async fn a_gate_stalls(world: &mut World) -> Result<()> {
    let gated = world.in_time("the gate", world.gate(big())).await??;
    ensure!(gated.ran_with.is_none(), "the tool ran all the same");
    ensure!(gated.result.contains("does not read its input"), "the model is told {:?}", gated.result);
    world.settle().await
}

async fn a_tool_stalls(world: &mut World) -> Result<()> {
    let asked = world.in_time("the call", world.call(big())).await??;
    ensure!(
        asked.is_error && asked.text.contains("does not read its input"),
        "the tool says {:?}",
        asked.text
    );
    world.settle().await
}

/// After a first round of events that fills the queue, further ones add nothing to what is kept.
async fn events_are_dropped(world: &mut World) -> Result<()> {
    events(world).await?;
    let (growth, rounds) = (Growth::after_first_round(), world.amount(ROUNDS.0, ROUNDS.1));
    for _ in 0..rounds {
        events(world).await?;
    }
    world.until_freed(&growth, rounds, KEPT).await?;
    let mut states = world.host.states().into_iter();
    let dropped = states.find(|status| status.name.as_str() == EVIL).map(|status| status.events_dropped);
    ensure!(dropped.is_some_and(|dropped| dropped > 0), "no event was dropped");
    ensure!(world.state(EVIL)? == haft_host::ExtensionState::Ready, "it is {:?}", world.state(EVIL)?);
    world.settle().await
}

/// Tells everybody one round of events. The canary does not count them: it counts those that it is told by itself.
async fn events(world: &World) -> Result<()> {
    let event =
        AgentEvent::TurnEnd { stop: haft_protocol::message::Stop::End, error: Some("x".repeat(EVENT)) };
    for _ in 0..EVENTS / BATCH {
        for _ in 0..BATCH {
            let observers = world.host.hook_source().hooks().observers;
            observers.iter().for_each(|observer| observer.observe(&event));
        }
        // The first one may have begun before.
        world.trips(2).await?;
    }
    Ok(())
}

/// Checks that open and later questions fail as soon as the host meets the closed stream, long before their deadline.
async fn gone(world: &mut World, symptom: &str) -> Result<()> {
    let meet = async {
        world.until("the stream is closed", || !world.marks().is_empty()).await?;
        world.gate(json!({})).await
    };
    let both = async { tokio::join!(world.call(json!({})), meet) };
    let start = Instant::now();
    let (asked, gated) = world.in_time("what is open", both).await?;
    let (asked, gated) = (asked?, gated?);
    world.at_once("what is open", start.elapsed())?;
    ensure!(asked.is_error && asked.text.contains(symptom), "the tool says {:?}", asked.text);
    ensure!(
        gated.ran_with.is_none() && gated.result.contains(symptom),
        "the model is told {:?}",
        gated.result
    );
    world.settle().await
}
