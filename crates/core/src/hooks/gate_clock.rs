//! `GateClock`: the common time of the hooks for one tool call.

use tokio::sync::watch;
use tokio::time::{Duration, Instant};

/// The common time of all hooks for one tool call. A hook that waits for a person stops it.
#[derive(Debug, Clone, Default)]
pub struct GateClock {
    state: watch::Sender<ClockState>,
}

#[derive(Debug, Default)]
struct ClockState {
    pauses: usize,
    /// The start of the current pause.
    since: Option<Instant>,
    /// The total length of earlier pauses.
    stood_still: Duration,
}

impl GateClock {
    /// Stops the clock until the pause is dropped. Pauses may overlap.
    pub fn pause_clock(&self) -> GateClockPause {
        self.state.send_modify(|state| {
            state.pauses += 1;
            state.since.get_or_insert_with(Instant::now);
        });
        GateClockPause { clock: self.clone() }
    }

    /// Returns how long the clock has stood still in total, including the current pause.
    pub(crate) fn total_pause(&self) -> Duration {
        let state = self.state.borrow();
        state.stood_still + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Waits until the clock runs, and returns how long it has stood still in total.
    pub(crate) async fn wait_until_running(&self) -> Duration {
        let mut states = self.state.subscribe();
        // The sender lives as long as `self`.
        let running = states.wait_for(|state| state.pauses == 0).await;
        running.map_or(Duration::ZERO, |state| state.stood_still)
    }

    fn resume(&self) {
        self.state.send_modify(|state| {
            state.pauses = state.pauses.saturating_sub(1);
            if state.pauses == 0
                && let Some(since) = state.since.take()
            {
                state.stood_still += since.elapsed();
            }
        });
    }
}

/// A pause of a [`GateClock`], which ends when this value is dropped.
#[derive(Debug)]
pub struct GateClockPause {
    clock: GateClock,
}

impl Drop for GateClockPause {
    fn drop(&mut self) {
        self.clock.resume();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn overlapping_pauses_count_once() {
        let clock = GateClock::default();
        let first = clock.pause_clock();
        sleep(Duration::from_secs(2)).await;
        let second = clock.pause_clock();
        sleep(Duration::from_secs(3)).await;
        drop(first);
        sleep(Duration::from_secs(4)).await;
        drop(second);
        sleep(Duration::from_secs(5)).await;
        assert_eq!(clock.wait_until_running().await, Duration::from_secs(9));
        drop(clock.pause_clock());
        assert_eq!(clock.wait_until_running().await, Duration::from_secs(9));
    }
}
