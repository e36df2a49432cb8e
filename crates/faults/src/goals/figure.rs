//! Figures with their targets, and statistics of times.

use std::fmt;
use std::time::Duration;

/// The beginning of the line of a figure that meets its target.
pub(super) const MET: &str = "ok ";

/// The beginning of the line of a figure that misses its target.
pub(super) const MISSED: &str = "MISSED ";

/// The beginning of the line of a figure that cannot be measured on this machine.
pub(super) const SKIPPED: &str = "SKIP ";

/// The verdict on a latency that exceeds its target, but not the limit for a busy machine.
const SLOW: &str = "slow ";

/// One line of a report.
#[derive(Debug, Clone)]
pub(crate) struct GoalFigure {
    what: String,
    measured: String,
    /// The target and the verdict; `None` for a figure without a target.
    target: Option<(String, &'static str)>,
}

impl GoalFigure {
    /// Creates a figure with a target.
    pub(crate) fn new(what: impl Into<String>, measured: impl fmt::Display, target: &str, met: bool) -> Self {
        let verdict = if met { MET } else { MISSED };
        Self { what: what.into(), measured: measured.to_string(), target: Some((target.to_owned(), verdict)) }
    }

    /// Creates a latency, which is missed only if it also exceeds the limit for a busy machine.
    pub(crate) fn latency(
        what: impl Into<String>,
        measured: impl fmt::Display,
        target: &str,
        met: bool,
        is_bearable: bool,
    ) -> Self {
        let mut figure = Self::new(what, measured, target, met || is_bearable);
        if let Some((_, verdict)) = figure.target.as_mut().filter(|_| is_bearable && !met) {
            *verdict = SLOW;
        }
        figure
    }

    /// Creates a figure without a target.
    pub(crate) fn note(what: impl Into<String>, measured: impl fmt::Display) -> Self {
        Self { what: what.into(), measured: measured.to_string(), target: None }
    }

    /// True if the figure has a target and misses it.
    pub(crate) fn is_missed(&self) -> bool {
        self.target.as_ref().is_some_and(|(_, verdict)| *verdict == MISSED)
    }
}

impl fmt::Display for GoalFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, measured, target } = self;
        match target {
            Some((target, verdict)) => write!(f, "{verdict:<7}{what}: {measured} (target: {target})"),
            None => write!(f, "       {what}: {measured}"),
        }
    }
}

/// Times of one kind, shortest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct SortedTimes(Vec<Duration>);

impl SortedTimes {
    /// Returns the number of times.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns a quantile in thousandths, or zero without times.
    fn permille(&self, permille: usize) -> Duration {
        self.0
            .get((self.0.len() * permille / 1000).min(self.0.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn p50(&self) -> Duration {
        self.permille(500)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.permille(990)
    }

    pub(crate) fn longest(&self) -> Duration {
        self.permille(1000)
    }
}

impl FromIterator<Duration> for SortedTimes {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        let mut times: Vec<Duration> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

/// Returns the median; of an even number of values, the lower one.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// Formats a time in milliseconds.
pub(crate) fn format_ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_quantiles_of_sorted_times() {
        let times: SortedTimes = (1..=200).rev().map(Duration::from_millis).collect();
        let shares = [times.p50(), times.p99(), times.longest()].map(|time| time.as_millis());
        assert_eq!((shares, times.count()), ([101, 199, 200], 200));
        assert_eq!(SortedTimes::default().p99(), Duration::ZERO);
        assert_eq!(median(vec![3.0, 1.0, 2.0, 9.0, 4.0]).to_string(), "3");
    }

    #[test]
    fn figure_without_target_is_never_missed() {
        assert!(!GoalFigure::note("x", 1).is_missed());
        let missed = GoalFigure::new("left", 3, "0", false);
        assert!(missed.is_missed());
        assert_eq!(missed.to_string(), "MISSED left: 3 (target: 0)");
    }

    #[test]
    fn latency_is_missed_only_above_busy_limit() {
        let latency = |met, is_bearable| GoalFigure::latency("p50", 3, "2", met, is_bearable);
        assert_eq!(latency(true, true).to_string(), "ok     p50: 3 (target: 2)");
        assert_eq!(latency(false, true).to_string(), "slow   p50: 3 (target: 2)");
        assert_eq!(latency(false, false).to_string(), "MISSED p50: 3 (target: 2)");
        let missed = [latency(true, false), latency(false, true), latency(false, false)];
        assert_eq!(missed.map(|figure| figure.is_missed()), [false, false, true]);
    }
}
