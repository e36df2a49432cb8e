//! The canary: a healthy extension that gets a call and an event every 5 ms, and the same extension without faults, for
//! comparison.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use haft_core::tool::{Tool, ToolContext};
use haft_host::Host;
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::timeouts::PATIENCE;

/// The interval between two calls.
pub(crate) const PACE: Duration = Duration::from_millis(5);

/// The step number of events for a canary, which no run uses.
pub(crate) const STEPS: u32 = 1_000_000;

/// The interval between two checks for a canary that is not ready.
const LOOK: Duration = Duration::from_millis(5);

/// Part of the error of a call whose deadline has passed.
const TIMED_OUT: &str = "did not answer within";

/// One round trip: its start, in microseconds since 1970, and its duration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundTrip {
    pub(crate) at: u64,
    pub(crate) micros: u64,
}

/// The canary's calls and round trips.
pub(crate) struct CanaryMonitor {
    host: Host,
    stop: CancellationToken,
    trips: Arc<Mutex<Vec<RoundTrip>>>,
    task: JoinHandle<Result<u64>>,
}

/// The health of a canary.
pub(crate) struct CanaryHealth {
    /// The number of events sent to the canary.
    pub(crate) told: u64,
    /// The number of events received by the canary.
    pub(crate) seen: u64,
    /// The round trips.
    pub(crate) trips: Vec<RoundTrip>,
}

impl CanaryMonitor {
    /// Starts calling the canary of this host.
    pub(crate) fn watch(host: Host) -> Self {
        let (stop, trips) = (CancellationToken::new(), Arc::default());
        let task = tokio::spawn(call_repeatedly(host.clone(), stop.clone(), Arc::clone(&trips)));
        Self { host, stop, trips, task }
    }

    /// Stops the calls and asks the canary for its event count. An error means that the host does not respond.
    pub(crate) async fn finish(self) -> Result<CanaryHealth> {
        self.stop.cancel();
        let told = timeout(PATIENCE, self.task).await.context("the canary's call did not end")?;
        let told = told.context("the canary's task panicked")??;
        let last = timeout(PATIENCE, call(&self.host)).await;
        let seen = last.context("the host does not answer")??;
        let trips = std::mem::take(&mut *self.trips.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(CanaryHealth { told, seen, trips })
    }

    /// Returns the round trips so far.
    pub(crate) fn round_trips(&self) -> Vec<RoundTrip> {
        self.trips.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of round trips so far.
    pub(crate) fn count(&self) -> usize {
        self.trips.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// Calls the canary and sends events until stopped; returns the number of sent events.
async fn call_repeatedly(
    host: Host,
    stop: CancellationToken,
    trips: Arc<Mutex<Vec<RoundTrip>>>,
) -> Result<u64> {
    let mut told = 0;
    wait_for_tool(&host).await?;
    while !stop.is_cancelled() {
        for observer in host.hook_source().hooks().observers {
            observer.observe(&AgentEvent::TurnStart { step: STEPS });
        }
        told += 1;
        let trip = call_timed(&host).await?;
        trips.lock().unwrap_or_else(PoisonError::into_inner).push(trip);
        // sleep: the pace of the calls
        tokio::time::sleep(PACE).await;
    }
    Ok(told)
}

/// Calls the canary once.
pub(crate) async fn call_timed(host: &Host) -> Result<RoundTrip> {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?.as_micros();
    let start = Instant::now();
    call(host).await?;
    Ok(RoundTrip { at: u64::try_from(at)?, micros: u64::try_from(start.elapsed().as_micros())? })
}

/// Returns the canary's tool when it is ready.
pub(crate) async fn wait_for_tool(host: &Host) -> Result<Arc<dyn Tool>> {
    let start = Instant::now();
    loop {
        if let Some(tool) = host.tools().into_iter().find(|tool| tool.spec().name == "canary_tool") {
            return Ok(tool);
        }
        ensure!(start.elapsed() < PATIENCE, "the canary is not ready");
        // sleep: between two checks
        tokio::time::sleep(LOOK).await;
    }
}

/// Calls the canary until it answers, and returns its event count. A call that exceeds a short deadline of the row is
/// repeated and counts as one slow round trip.
pub(crate) async fn call(host: &Host) -> Result<u64> {
    let start = Instant::now();
    loop {
        let tool = wait_for_tool(host).await?;
        let context = ToolContext::new(CancellationToken::new(), |_| {});
        let (id, name) = (ToolCallId::new("canary"), "canary_tool".to_owned());
        let output = tool.execute(context, ToolCall { id, name, args: RawJson::empty_object() }).await;
        let text = joined_text(&output.content);
        if !output.is_error {
            return text.parse().with_context(|| format!("the canary answered {text:?}"));
        }
        if !text.contains(TIMED_OUT) || start.elapsed() > PATIENCE {
            bail!("the canary failed: {text}");
        }
    }
}

/// A canary in a process without faults, measured at the same time.
pub(crate) struct CanaryControl {
    file: PathBuf,
}

impl CanaryControl {
    pub(crate) const fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// Returns the control's round trips in the period of `trips`.
    pub(crate) fn concurrent_trips(&self, trips: &[RoundTrip]) -> Result<Vec<RoundTrip>> {
        let (Some(first), Some(last)) = (trips.first(), trips.last()) else { return Ok(Vec::new()) };
        let text = std::fs::read_to_string(&self.file).context("read the control's round trips")?;
        let mut all = text.lines().filter_map(|line| {
            let (at, micros) = line.split_once(' ')?;
            Some(RoundTrip { at: at.parse().ok()?, micros: micros.parse().ok()? })
        });
        let (from, to) = (first.at, last.at + last.micros);
        Ok(all.by_ref().filter(|trip| trip.at + trip.micros >= from && trip.at <= to).collect())
    }
}

/// Returns the 99th percentile. With fewer than a hundred round trips, the longest is excluded, because a single stall
/// is not a percentile.
pub(crate) fn p99(trips: &[RoundTrip]) -> Duration {
    nth_longest(trips, (trips.len() / 100).max(1))
}

/// Returns the median.
pub(crate) fn p50(trips: &[RoundTrip]) -> Duration {
    nth_longest(trips, trips.len() / 2)
}

/// Returns the longest round trip.
pub(crate) fn longest(trips: &[RoundTrip]) -> Duration {
    nth_longest(trips, 0)
}

fn nth_longest(trips: &[RoundTrip], nth: usize) -> Duration {
    let mut micros: Vec<u64> = trips.iter().map(|trip| trip.micros).collect();
    micros.sort_unstable();
    Duration::from_micros(micros.into_iter().rev().nth(nth).unwrap_or_default())
}
