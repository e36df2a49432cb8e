//! G6: a day of reloads, events and calls in a few minutes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use haft_core::hooks::HookSource;
use haft_host::Host;
use haft_protocol::event::AgentEvent;

use super::{GoalContext, GoalFigure};
use crate::canary::{STEPS, call};
use crate::misbehavior::misbehaving_spec;
use crate::oracle::{live_bytes, open_files, tagged_processes};

/// The number of reloads: one every half minute for a day.
const RELOADS: (usize, usize) = (29, 2_880);

/// The number of reloads in an hour.
const HOUR: usize = 120;

/// The number of extensions, including the canary.
const EXTENSIONS: usize = 10;

/// The calls between two reloads, and the events before each call: 100,000 and 1,000,000 in a day.
const CALLS: usize = 35;
const EVENTS: usize = 10;

/// The longest run; a longer run ends early and reports it.
const LONGEST: Duration = Duration::from_secs(3_600);

/// The allowed growth of the heap in an hour, in bytes.
const SLOPE: f64 = 1024.0 * 1024.0;

/// The size of all logs in bytes: two files of 1 MiB for each extension, and one more line each.
const LOGS: u64 = EXTENSIONS as u64 * 2 * (1024 + 64) * 1024;

/// The history of a run.
#[derive(Default)]
struct SoakHistory {
    cycles: usize,
    calls: usize,
    events: usize,
    lost: u64,
    /// The bytes on the heap after each reload.
    heap: Vec<f64>,
    took: Duration,
}

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let (reduced, full) = RELOADS;
    let reloads = place.amount(reduced, full);
    let runtime = GoalContext::runtime()?;
    // Files that a runtime opens for itself stay open.
    let before = runtime.block_on(async {
        // sleep: makes the runtime open its own files
        tokio::time::sleep(Duration::from_millis(1)).await;
        open_files()
    })?;
    let (day, dir) = runtime.block_on(run_day(place, reloads))?;
    let left = tagged_processes(&place.tag).len();
    let open = open_files()?;
    let logs = size(&dir.join("logs"))?;
    let SoakHistory { cycles, calls, events, lost, heap, took } = day;
    let what =
        format!("{cycles} starts and ends, {events} events, {calls} calls in {:.0} s", took.as_secs_f64());
    let met = heap.len() >= reloads;
    let (first, last) = (heap.first().copied().unwrap_or_default(), heap.last().copied().unwrap_or_default());
    let slope = slope(heap.get(heap.len() / 10..).unwrap_or_default()) * HOUR as f64;
    let slope_text = format!(
        "{:.3} MiB ({first:.0} bytes after the first reload, {last:.0} after the last)",
        slope / SLOPE
    );
    Ok(vec![
        GoalFigure::new("done", what, &format!("{} starts and ends", reloads * EXTENSIONS), met),
        GoalFigure::new("processes left", left, "0", left == 0),
        GoalFigure::new("descriptors left", open.saturating_sub(before), "0", open <= before),
        GoalFigure::new("events lost", lost, "0", lost == 0),
        // A few minutes are too short for a statement about an hour.
        match heap.len() > 2 * HOUR {
            true => GoalFigure::new("heap growth per hour", slope_text, "less than 1 MiB", slope < SLOPE),
            false => GoalFigure::note("heap growth per hour", slope_text),
        },
        GoalFigure::new("bytes of all logs", logs, &format!("at most {LOGS}"), logs <= LOGS),
    ])
}

async fn run_day(place: &GoalContext, reloads: usize) -> Result<(SoakHistory, std::path::PathBuf)> {
    let mut setup = place.setup("day")?;
    setup.set_env("HAFT_BARE", "1");
    (1..EXTENSIONS)
        .for_each(|number| setup.add(misbehaving_spec(&setup, "chatty", &format!("chatty-{number}"))));
    // The marker file would grow without limit; the product has no such file.
    setup.config.env.set.retain(|(variable, _)| variable != "HAFT_MARKER");
    let dir = setup.dir.clone();
    let host = Host::builder(setup.config).specs(setup.specs).start().await;
    host.wait_until_settled().await;
    let (mut day, start) = (SoakHistory::default(), Instant::now());
    while day.heap.len() < reloads && start.elapsed() < LONGEST {
        let stats = host.reload().await;
        ensure!(stats.ready == EXTENSIONS, "a reload failed: {stats:?}");
        day.cycles += stats.ready;
        run_cycle(&host, &mut day).await?;
        day.heap.push(live_bytes() as f64);
    }
    day.took = start.elapsed();
    host.shutdown().await;
    Ok((day, dir))
}

/// Sends events and calls between two reloads.
async fn run_cycle(host: &Host, day: &mut SoakHistory) -> Result<()> {
    let hooks = Arc::new(host.clone()).hooks();
    let mut told = 0;
    for _ in 0..CALLS {
        for _ in 0..EVENTS {
            hooks
                .observers
                .iter()
                .for_each(|observer| observer.observe(&AgentEvent::TurnStart { step: STEPS }));
            told += 1;
        }
        let seen = call(host).await?;
        day.lost += told - seen.min(told);
        day.calls += 1;
    }
    day.events += CALLS * EVENTS;
    Ok(())
}

/// Returns the slope of the values by least squares.
fn slope(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    let points = || values.iter().enumerate().map(|(at, value)| (at as f64 - middle, value - mean));
    let spread: f64 = points().map(|(x, _)| x * x).sum();
    points().map(|(x, y)| x * y).sum::<f64>() / spread.max(f64::MIN_POSITIVE)
}

/// Returns the bytes of all files in a directory.
fn size(dir: &Path) -> Result<u64> {
    let entries = fs::read_dir(dir).with_context(|| format!("list {}", dir.display()))?;
    Ok(entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_slope_of_line() {
        assert_eq!(slope(&[1.0, 3.0, 5.0, 7.0]).to_string(), "2");
        assert_eq!(slope(&[4.0, 4.0, 4.0]).to_string(), "0");
        assert!(slope(&[]).abs() < 1e-9);
    }
}
