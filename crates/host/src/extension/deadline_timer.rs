//! A deadline's timer that is rarely touched.

use std::future::pending;
use std::pin::Pin;
use std::time::Instant as StdInstant;

use tokio::time::{Instant, Sleep, sleep_until};

/// Fires at the deadline or earlier.
///
/// Setting a timer wakes the runtime's driver, which costs a system call and a turn, and nearly every query
/// is answered long before its deadline. A timer that is too early therefore stays: when it fires, the
/// receiver finds nothing due and sets it again.
#[derive(Debug, Default)]
pub(super) struct DeadlineTimer {
    sleep: Option<Pin<Box<Sleep>>>,
}

impl DeadlineTimer {
    /// Ensures that the timer fires at `deadline` at the latest, if there is one. Returns true if the timer
    /// changed; the caller must then wait again.
    pub(super) fn set(&mut self, deadline: Option<StdInstant>) -> bool {
        let Some(at) = deadline.map(Instant::from) else { return false };
        match &mut self.sleep {
            Some(sleep) if sleep.deadline() <= at => return false,
            Some(sleep) => sleep.as_mut().reset(at),
            None => self.sleep = Some(Box::pin(sleep_until(at))),
        }
        true
    }

    /// Waits until the timer fires, once. Cancel-safe.
    pub(super) async fn wait(&mut self) {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().await,
            None => pending().await,
        }
        self.sleep = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn fires_at_earliest_deadline() {
        let start = Instant::now();
        let at = |seconds| Some((start + Duration::from_secs(seconds)).into_std());
        let mut alarm = DeadlineTimer::default();
        for (set, rings) in [(vec![at(5), at(9), None], 5), (vec![at(9)], 9), (vec![at(20), at(12)], 12)] {
            set.into_iter().for_each(|deadline| _ = alarm.set(deadline));
            alarm.wait().await;
            assert_eq!(start.elapsed().as_secs(), rings);
        }
        let silent = tokio::time::timeout(Duration::from_secs(60), alarm.wait());
        assert!(silent.await.is_err());
    }
}
