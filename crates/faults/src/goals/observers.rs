//! G8, later: the cost of an observer that does not read, and the overshoot of a gate's deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::figure::{SortedTimes, format_ms, median};
use super::{GoalContext, GoalFigure};
use crate::canary::CanaryControl;
use crate::misbehavior::misbehaving_spec;
use crate::row::EVIL;
use crate::timeouts::PATIENCE;
use crate::world::{World, last_word};

/// The number of prompts of each kind, alternately.
const PROMPTS: (usize, usize) = (3, 41);

/// The tool calls of one prompt.
const CALLS: usize = 20;

/// The additional cost of one event, in milliseconds.
const PER_EVENT: f64 = 1.0;

/// The number of hosts with a gate that does not answer, and the calls for each: three failures end a run.
const GATES: (usize, usize) = (1, 10);
const ASKED: usize = 2;

const DEADLINE: Duration = Duration::from_millis(500);

/// The allowed overshoot of a deadline, including everything else in a prompt.
const OVERSHOOT: Duration = Duration::from_millis(100);

/// Limits for a busy machine: far less than the delay if the host waited for the extension.
const BUSY_EVENT: f64 = 50.0;
const BUSY_OVERSHOOT: Duration = Duration::from_secs(10);

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    GoalContext::runtime()?.block_on(async {
        let mut figures = Vec::new();
        for fault in ["dead-observer", "slow-observer"] {
            figures.push(measure_observer(place, fault).await?);
        }
        figures.push(measure_gate(place).await?);
        Ok(figures)
    })
}

/// Measures the same prompts without and with an observer that does not read.
async fn measure_observer(place: &GoalContext, fault: &str) -> Result<GoalFigure> {
    let (few, many) = PROMPTS;
    let quiet = start(place, &format!("{fault}-without"), None).await?;
    let loud = start(place, fault, Some(fault)).await?;
    let mut more = Vec::new();
    for _ in 0..place.amount(few, many) {
        let (without, with) = (per_event(&quiet).await?, per_event(&loud).await?);
        more.push(with - without);
    }
    for world in [quiet, loud] {
        end(world).await?;
    }
    let (prompts, cost) = (more.len(), median(more));
    let what = format!("added to each event by a {fault}, median of {prompts} pairs of prompts");
    let (measured, met) = (format!("{cost:.4} ms"), cost <= PER_EVENT);
    Ok(GoalFigure::latency(what, measured, "at most 1 ms", met, cost <= BUSY_EVENT))
}

/// Returns the milliseconds for an event of a prompt.
async fn per_event(world: &World) -> Result<f64> {
    let call = json!({"say": [{"call": {"name": "probe", "args": {}}}]});
    let steps: Vec<Value> = std::iter::repeat_n(call, CALLS).chain([last_word()]).collect();
    let (before, start) = (world.events.all().len(), Instant::now());
    let played = world.prompt(&json!(steps)).await?;
    let took = start.elapsed();
    ensure!(played.ran.len() == CALLS, "{} of {CALLS} calls ran", played.ran.len());
    let events = world.events.all().len() - before;
    ensure!(events > CALLS, "a prompt has {events} events");
    Ok(took.as_secs_f64() * 1e3 / events as f64)
}

async fn measure_gate(place: &GoalContext) -> Result<GoalFigure> {
    let (few, many) = GATES;
    let mut times = Vec::new();
    for number in 0..place.amount(few, many) {
        let world = start(place, &format!("gate-{number}"), Some("hang-intercept")).await?;
        for _ in 0..ASKED {
            let gated = world.call_gated_tool(json!({})).await?;
            ensure!(gated.ran_with.is_none() && gated.blocked.is_some(), "the gate did not block: {gated:?}");
            ensure!(gated.took >= DEADLINE, "the deadline passed early, after {:?}", gated.took);
            times.push(gated.took.saturating_sub(DEADLINE));
        }
        end(world).await?;
    }
    let times: SortedTimes = times.into_iter().collect();
    let what = format!("overshoot of a gate's deadline of 500 ms, {} calls", times.count());
    let measured = format!("p50 {}, longest {}", format_ms(times.p50()), format_ms(times.longest()));
    let longest = times.longest();
    Ok(GoalFigure::latency(what, measured, "at most 100 ms", longest <= OVERSHOOT, longest <= BUSY_OVERSHOOT))
}

async fn start(place: &GoalContext, name: &str, fault: Option<&str>) -> Result<World> {
    let mut setup = place.setup(name)?;
    setup.config.timeouts.intercept = DEADLINE;
    // The gate must be ready when it is asked.
    setup.config.timeouts.start_patience = PATIENCE;
    if let Some(fault) = fault {
        setup.add(misbehaving_spec(&setup, fault, EVIL));
    }
    let control = Arc::new(CanaryControl::new(setup.dir.join("control")));
    Ok(World::start(setup, &[], control).await)
}

async fn end(world: World) -> Result<()> {
    let World { host, canary, .. } = world;
    canary.finish().await?;
    host.shutdown().await;
    Ok(())
}
