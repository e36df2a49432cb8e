//! G5: the latency of a healthy extension next to extensions that crash, flood or fill logs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use haft_core::tool::{Tool, ToolContext};
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::ToolCall;
use haft_protocol::ids::ToolCallId;
use tokio_util::sync::CancellationToken;

use super::figure::{SortedTimes, format_ms, median};
use super::{GoalContext, GoalFigure};
use crate::canary::wait_for_tool;
use crate::misbehavior::misbehaving_spec;
use crate::world::EventLog;

/// The number of rounds; each round measures every disturbance once.
const ROUNDS: (usize, usize) = (1, 5);

/// The duration of a turn with crashes; most crashes of a crash loop happen in it.
const STORM: Duration = Duration::from_secs(7);

/// The duration of a turn with floods; shorter than the time until the host ends a flood.
const FLOOD: Duration = Duration::from_secs(4);

/// The interval between two calls.
const PACE: Duration = Duration::from_millis(2);

/// The pause between two turns, so that the first does not affect the second.
const REST: Duration = Duration::from_millis(300);

const CRASHING: usize = 100;
const NOISY: usize = 4;

/// The factor by which noisy extensions may raise the median.
const NOISY_RATIO: f64 = 1.5;

/// Limit for a busy machine: the milliseconds that other extensions may add to a round trip. On an idle machine a round
/// trip takes less than one millisecond.
const BUSY: f64 = 1_000.0;

/// Limit for a busy machine: the longest round trip, as a multiple of the longest one without other extensions.
const BUSY_TIMES: u32 = 10;

const NOISES: &[&str] = &["flood", "long-lines", "endless-stderr"];

/// One turn.
struct MeasuredTurn {
    times: SortedTimes,
    /// The number of failures reported during the turn.
    faults: usize,
}

/// A turn and the undisturbed turn before it.
struct TurnPair {
    quiet: SortedTimes,
    loud: MeasuredTurn,
}

impl TurnPair {
    fn ratio(&self, of: fn(&SortedTimes) -> Duration) -> f64 {
        of(&self.loud.times).as_secs_f64() / of(&self.quiet).as_secs_f64().max(1e-9)
    }
}

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let (reduced, full) = ROUNDS;
    let rounds = place.amount(reduced, full);
    let mut figures = Vec::new();
    let pairs = measure_pairs(place, "exit-after-hello", CRASHING, STORM, rounds)?;
    let faults = pairs.iter().map(|pair| pair.loud.faults).min().unwrap_or_default();
    ensure!(faults >= 2 * CRASHING, "only {faults} crashes in a turn");
    figures.extend(beside_crashes(&pairs));
    for noise in NOISES {
        let pairs = measure_pairs(place, noise, NOISY, FLOOD, rounds)?;
        let ratio = median(pairs.iter().map(|pair| pair.ratio(SortedTimes::p50)).collect());
        let what = format!("next to {NOISY} × {noise}: p50, median of ratios");
        let is_bearable = added_latency(&pairs, SortedTimes::p50) <= BUSY;
        let (measured, met) = (format!("{ratio:.2}"), ratio <= NOISY_RATIO);
        figures.push(GoalFigure::latency(what, measured, "at most 1.5", met, is_bearable));
        figures.push(pairs_figure(&pairs));
    }
    Ok(figures)
}

fn beside_crashes(pairs: &[TurnPair]) -> Vec<GoalFigure> {
    let p50 = median(pairs.iter().map(|pair| pair.ratio(SortedTimes::p50)).collect());
    let p99 = median(pairs.iter().map(|pair| pair.ratio(SortedTimes::p99)).collect());
    let loud = median(pairs.iter().map(|pair| pair.loud.times.p99().as_secs_f64() * 1e3).collect());
    let longest = pairs.iter().map(|pair| pair.loud.times.longest()).max().unwrap_or_default();
    let quiet = pairs.iter().map(|pair| pair.quiet.longest()).max().unwrap_or_default();
    let room = Duration::from_secs_f64(BUSY / 1e3).max(quiet) * BUSY_TIMES;
    let beside = format!("next to {CRASHING} that crash");
    let tail = format!("{p99:.2} times, {loud:.3} ms");
    vec![
        GoalFigure::latency(
            format!("{beside}: p50, median of ratios"),
            format!("{p50:.2}"),
            "at most 1.2",
            p50 <= 1.2,
            added_latency(pairs, SortedTimes::p50) <= BUSY,
        ),
        GoalFigure::latency(
            format!("{beside}: p99, medians"),
            tail,
            "at most 3 times or 5 ms",
            p99 <= 3.0 || loud <= 5.0,
            added_latency(pairs, SortedTimes::p99) <= BUSY,
        ),
        GoalFigure::latency(
            format!("{beside}: longest of all"),
            format_ms(longest),
            "at most 250 ms",
            longest <= Duration::from_millis(250),
            longest <= room,
        ),
        pairs_figure(pairs),
    ]
}

/// Returns the milliseconds that the disturbance adds: the median over the pairs.
fn added_latency(pairs: &[TurnPair], of: fn(&SortedTimes) -> Duration) -> f64 {
    median(
        pairs
            .iter()
            .map(|pair| (of(&pair.loud.times).as_secs_f64() - of(&pair.quiet).as_secs_f64()) * 1e3)
            .collect(),
    )
}

/// Returns the measurements, pair by pair.
fn pairs_figure(pairs: &[TurnPair]) -> GoalFigure {
    let all = pairs.iter().map(|TurnPair { quiet, loud: MeasuredTurn { times, faults } }| {
        let brief = |times: &SortedTimes| {
            format!("{}/{}/{}", micros(times.p50()), micros(times.p99()), micros(times.longest()))
        };
        format!("{} → {} ({} calls, {faults} faults)", brief(quiet), brief(times), times.count())
    });
    GoalFigure::note("  p50/p99/longest in µs without and with", all.collect::<Vec<_>>().join(", "))
}

fn micros(time: Duration) -> u128 {
    time.as_micros()
}

/// Measures turns without and with the disturbance, alternately.
fn measure_pairs(
    place: &GoalContext,
    fault: &str,
    count: usize,
    span: Duration,
    rounds: usize,
) -> Result<Vec<TurnPair>> {
    let runtime = GoalContext::runtime()?;
    (0..rounds)
        .map(|round| {
            let quiet =
                runtime.block_on(measure_turn(place, &format!("{fault}-{round}-quiet"), fault, 0, span))?;
            let loud = runtime.block_on(measure_turn(
                place,
                &format!("{fault}-{round}-loud"),
                fault,
                count,
                span,
            ))?;
            Ok(TurnPair { quiet: quiet.times, loud })
        })
        .collect()
}

/// Measures a new host with a healthy extension and `count` others for the given time.
async fn measure_turn(
    place: &GoalContext,
    name: &str,
    fault: &str,
    count: usize,
    span: Duration,
) -> Result<MeasuredTurn> {
    let mut setup = place.setup(name)?;
    setup.set_env("HAFT_BARE", "1");
    (0..count).for_each(|number| setup.add(misbehaving_spec(&setup, fault, &format!("bad-{number}"))));
    let events = EventLog::default();
    let host = Host::builder(setup.config).specs(setup.specs).events(events.sink()).start().await;
    let times = collect_times(&host, span).await;
    let faults = events.faults().len();
    host.shutdown().await;
    // sleep: this turn must not affect the next one
    tokio::time::sleep(REST).await;
    Ok(MeasuredTurn { times: times?, faults })
}

async fn collect_times(host: &Host, span: Duration) -> Result<SortedTimes> {
    let tool = wait_for_tool(host).await?;
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < span {
        times.push(time_round_trip(&tool).await?);
        // sleep: the pace of the calls
        tokio::time::sleep(PACE).await;
    }
    Ok(times.into_iter().collect())
}

async fn time_round_trip(tool: &Arc<dyn Tool>) -> Result<Duration> {
    let context = ToolContext::new(CancellationToken::new(), |_| {});
    let (id, name) = (ToolCallId::new("canary"), "canary_tool".to_owned());
    let start = Instant::now();
    let output = tool.execute(context, ToolCall { id, name, args: RawJson::empty_object() }).await;
    let took = start.elapsed();
    ensure!(!output.is_error, "the canary failed");
    Ok(took)
}
