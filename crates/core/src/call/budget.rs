//! The time budget that the hooks for one tool call share.

use std::pin::{Pin, pin};

use tokio::time::{Duration, Instant, Sleep, sleep_until};

use crate::hooks::GateClock;

/// The time budget of one call. The time in which its clock stands still does not count.
pub(super) struct GateBudget<'a> {
    /// One timer is reused for all hooks, because resetting a timer costs less than creating one.
    deadline: Pin<Box<Sleep>>,
    clock: &'a GateClock,
    /// The standstill by which the deadline was moved already.
    given_back: Duration,
}

impl<'a> GateBudget<'a> {
    pub(super) fn new(until: Instant, clock: &'a GateClock) -> Self {
        Self { deadline: Box::pin(sleep_until(until)), clock, given_back: Duration::ZERO }
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
            if stood_still == self.given_back {
                return None;
            }
            self.extend_by(stood_still - self.given_back);
            self.given_back = stood_still;
        }
    }

    /// Runs a query of a hook with its own decision time, which does not count against the budget.
    pub(super) async fn run_with_decision_time<T>(
        &mut self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let (begun, until, given_back) = (Instant::now(), self.deadline.deadline(), self.given_back);
        self.extend_by(limit);
        let done = self.run(work).await;
        let stood_still = self.given_back - given_back;
        let used = begun.elapsed().saturating_sub(stood_still);
        self.deadline.as_mut().reset(until + stood_still + limit.min(used));
        done
    }
}
