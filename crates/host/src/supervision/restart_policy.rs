//! The restart policy of a failed extension. Pure: `now` is a parameter, so its tests run in virtual time.
//!
//! An extension that never sent hello is not restarted, because it would fail again. Each later failure
//! counts as a crash, and the pause before the next start doubles. After too many crashes in a short time,
//! the extension stays down until a user restarts it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use haft_protocol::ext::Limits;

use crate::timeouts::{RestartTiming, Timeouts};
use crate::wire::fault::{ExtensionFailure, FaultCode};

/// The decision about an extension after a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RestartDecision {
    Restart { after: Duration },
    Down,
}

/// Counts the crashes of one extension.
#[derive(Debug)]
pub(crate) struct RestartPolicy {
    times: RestartTiming,
    /// The number of crashes within [`RestartTiming::window`] that count as a loop.
    max_crashes: usize,
    /// True if the extension can be restarted: a pair of streams cannot.
    restartable: bool,
    /// The seed of the random extra time of each pause.
    seed: u64,
    started: Option<Instant>,
    greeted: bool,
    crashes: VecDeque<Instant>,
    pause: Duration,
    last: Option<(ExtensionFailure, RestartDecision)>,
}

impl RestartPolicy {
    /// Creates a policy without crashes. Different seeds prevent simultaneous restarts of many extensions.
    pub(crate) fn new(timeouts: &Timeouts, limits: &Limits, restartable: bool, seed: u64) -> Self {
        let times = timeouts.restarts;
        Self {
            times,
            max_crashes: usize::try_from(limits.max_crashes).unwrap_or(usize::MAX),
            restartable,
            seed,
            started: None,
            greeted: false,
            crashes: VecDeque::new(),
            pause: times.first_pause,
            last: None,
        }
    }

    pub(crate) fn reset(&mut self) {
        self.greeted = false;
        self.forget_crashes();
        self.last = None;
    }

    pub(crate) fn record_start(&mut self, now: Instant) {
        self.started = Some(now);
        self.last = None;
    }

    /// Records a failure; `greeted` is true if the process had sent hello. Returns the single failure to
    /// report.
    pub(crate) fn record_failure(
        &mut self,
        now: Instant,
        greeted: bool,
        failure: ExtensionFailure,
    ) -> ExtensionFailure {
        self.greeted |= greeted;
        let (report, verdict) = match self.restartable && self.greeted {
            true => self.record_crash(now, failure),
            false => (failure, RestartDecision::Down),
        };
        self.last = Some((report.clone(), verdict));
        report
    }

    /// Excludes any restart from now on.
    pub(crate) fn mark_broken(&mut self, failure: ExtensionFailure) {
        self.last = Some((failure, RestartDecision::Down));
    }

    /// Takes the decision about the last failure of the current process; `None` if it did not fail.
    pub(crate) fn take_decision(&mut self) -> Option<(ExtensionFailure, RestartDecision)> {
        self.last.take()
    }

    fn record_crash(
        &mut self,
        now: Instant,
        failure: ExtensionFailure,
    ) -> (ExtensionFailure, RestartDecision) {
        let ran = self.started.map_or(Duration::ZERO, |started| now.saturating_duration_since(started));
        if ran >= self.times.stable {
            self.forget_crashes();
        }
        let window = self.times.window;
        self.crashes.retain(|&crash| now.saturating_duration_since(crash) < window);
        self.crashes.push_back(now);
        if self.crashes.len() >= self.max_crashes {
            let message = format!(
                "failed {} times within {} s and is no longer restarted automatically; last failure: {}",
                self.crashes.len(),
                window.as_secs_f64(),
                failure.message
            );
            return (ExtensionFailure { code: FaultCode::CrashLoop, message }, RestartDecision::Down);
        }
        let after = self.pause + self.next_jitter();
        self.pause = (self.pause * 2).min(self.times.longest_pause);
        (failure, RestartDecision::Restart { after })
    }

    /// Returns up to a quarter of the pause.
    fn next_jitter(&mut self) -> Duration {
        // A step of a linear congruential generator; its upper bits have the best quality.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = u32::try_from(self.seed >> 54).unwrap_or_default();
        self.pause * share / 4096
    }

    fn forget_crashes(&mut self) {
        self.crashes.clear();
        self.pause = self.times.first_pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A restart policy and a clock that a test moves.
    struct PolicyFixture {
        supervisor: RestartPolicy,
        now: Instant,
    }

    impl PolicyFixture {
        fn new(restartable: bool) -> Self {
            let supervisor = RestartPolicy::new(&Timeouts::default(), &Limits::default(), restartable, 7);
            Self { supervisor, now: Instant::now() }
        }

        /// Starts a process, lets it run for `ran` seconds, and fails it.
        fn life(&mut self, ran: u64, greeted: bool) -> (FaultCode, RestartDecision) {
            self.supervisor.record_start(self.now);
            self.now += Duration::from_secs(ran);
            let failure =
                ExtensionFailure { code: FaultCode::Exited, message: "exited with status 3".into() };
            let report = self.supervisor.record_failure(self.now, greeted, failure);
            let (kept, verdict) = self.supervisor.take_decision().expect("it failed");
            assert_eq!(kept, report);
            if let RestartDecision::Restart { after } = verdict {
                self.now += after;
            }
            (report.code, verdict)
        }

        /// Checks the pauses after lives of these lengths, in seconds, without the random extra time; zero
        /// for no restart.
        #[track_caller]
        fn check(&mut self, lives: &[u64], expect: &[f64]) {
            let pauses: Vec<f64> = lives.iter().map(|&ran| base(&self.life(ran, true).1)).collect();
            assert_eq!(pauses, expect);
        }
    }

    /// Returns a pause without its random extra time, which is less than a quarter.
    fn base(verdict: &RestartDecision) -> f64 {
        let RestartDecision::Restart { after } = verdict else { return 0.0 };
        let known = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0];
        let fits = |base: &f64| (*base..base * 1.25).contains(&after.as_secs_f64());
        known.into_iter().find(fits).unwrap_or_else(|| panic!("{after:?}"))
    }

    #[test]
    fn pause_doubles_until_crash_loop() {
        PolicyFixture::new(true).check(&[0, 0, 0, 0], &[0.5, 1.0, 2.0, 4.0]);
        let mut fixture = PolicyFixture::new(true);
        fixture.check(&[0, 0, 0, 0, 0], &[0.5, 1.0, 2.0, 4.0, 0.0]);
        assert_eq!(fixture.life(0, true), (FaultCode::CrashLoop, RestartDecision::Down), "and stays so");
        fixture.supervisor.reset();
        fixture.check(&[0], &[0.5]);
    }

    #[test]
    fn distant_crashes_are_not_a_loop_and_pause_is_bounded() {
        PolicyFixture::new(true).check(&[60; 9], &[0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]);
        PolicyFixture::new(true).check(&[0, 0, 0, 0, 180, 0], &[0.5, 1.0, 2.0, 4.0, 0.5, 1.0]);
        PolicyFixture::new(true).check(&[0, 0, 0, 0, 100, 80], &[0.5, 1.0, 2.0, 4.0, 0.0, 8.0]);
    }

    #[test]
    fn never_restarts_without_hello_or_for_streams() {
        assert_eq!(PolicyFixture::new(true).life(1, false), (FaultCode::Exited, RestartDecision::Down));
        assert_eq!(PolicyFixture::new(false).life(1, true), (FaultCode::Exited, RestartDecision::Down));
        let mut fixture = PolicyFixture::new(true);
        fixture.life(1, true);
        assert!(base(&fixture.life(1, false).1) > 0.0, "it worked once");
        fixture.supervisor.reset();
        assert_eq!(fixture.life(1, false).1, RestartDecision::Down);
    }

    #[test]
    fn crash_loop_message_names_last_crash() {
        let mut fixture = PolicyFixture::new(true);
        (0..4).for_each(|_| _ = fixture.life(0, true));
        fixture.supervisor.record_start(fixture.now);
        let failure = ExtensionFailure { code: FaultCode::Exited, message: "exited with status 3".into() };
        let report = fixture.supervisor.record_failure(fixture.now, true, failure);
        insta::assert_snapshot!(report.message, @"failed 5 times within 180 s and is no longer restarted automatically; last failure: exited with status 3");
    }
}
