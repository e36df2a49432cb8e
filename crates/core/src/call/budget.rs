//! The time budget that the hooks for one tool call share.

use std::pin::{Pin, pin};

use tokio::time::{Duration, Instant, Sleep, sleep_until};

use crate::hooks::GateClock;

/// The time budget of one call. The time in which its clock stands still does not count.
pub(super) struct GateBudget<'a> {
    /// One timer is reused for all hooks, because resetting a timer costs less than creating one.
    deadline: Pin<Box<Sleep>>,
    clock: &'a GateClock,
    /// The part of the clock's pauses that has moved the deadline.
    applied_pause: Duration,
}

impl<'a> GateBudget<'a> {
    pub(super) fn new(until: Instant, clock: &'a GateClock) -> Self {
        Self { deadline: Box::pin(sleep_until(until)), clock, applied_pause: Duration::ZERO }
    }

    pub(super) fn extend_by(&mut self, by: Duration) {
        let until = self.deadline.deadline() + by;
        self.deadline.as_mut().reset(until);
    }

    /// Runs a query within the budget. Returns `None` when the budget is used up.
    pub(super) async fn run<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = work.as_mut() => return Some(done),
                () = self.deadline.as_mut() => {}
            }
            let stood_still = tokio::select! {
                biased;
                done = work.as_mut() => return Some(done),
                stood_still = self.clock.wait_until_running() => stood_still,
            };
            if stood_still == self.applied_pause {
                return None;
            }
            self.extend_by(stood_still - self.applied_pause);
            self.applied_pause = stood_still;
        }
    }

    /// Runs a query of a hook with its own decision time, which does not count against the budget.
    pub(super) async fn run_with_decision_time<T>(
        &mut self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let paused_before = self.clock.total_pause();
        self.extend_by(paused_before - self.applied_pause);
        self.applied_pause = paused_before;
        let (begun, until) = (Instant::now(), self.deadline.deadline());
        self.extend_by(limit);
        let done = self.run(work).await;
        let paused = self.clock.total_pause() - paused_before;
        let used = begun.elapsed().saturating_sub(paused);
        self.deadline.as_mut().reset(until + paused + limit.min(used));
        self.applied_pause = paused_before + paused;
        done
    }
}
