//! Comparison of two programs on a machine with other load: in short blocks that alternate.
//!
//! A block is a few repetitions that fit between two preemptions; its statistic is the median. Base and candidate
//! alternate in the order A B B A. The result of a pair of neighbors is their ratio, because a disturbance slows both.
//! The overall result is the median of all pair ratios. The whole measurement is repeated, and the spread of the
//! medians shows how reliable the result is.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

/// The effort of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffortLevel {
    /// All repetitions of the plan.
    Full,
    /// Fewer repetitions, for a first look and for the check of every change.
    Quick,
}

/// The deviation of base against base above which a run is inconclusive.
const CONTROL_TOLERANCE: f64 = 0.03;

/// The repetitions of a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepetitionPlan {
    /// The number of medians; the result is their median.
    pub(crate) repetitions: usize,
    /// The number of pairs for one median.
    pub(crate) pairs: usize,
}

/// The result of a comparison, in seconds or in the unit of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Comparison {
    /// The median of the base's blocks.
    pub(crate) base: f64,
    /// The median of the candidate's blocks.
    pub(crate) candidate: f64,
    /// The median of the repetitions' median pair ratios, candidate divided by base.
    pub(crate) ratio: f64,
    /// The range of those medians, divided by the ratio.
    pub(crate) spread: f64,
}

impl RepetitionPlan {
    /// Returns a shorter plan, which is enough to see a large change.
    pub(crate) fn quick(self) -> Self {
        Self { repetitions: self.repetitions.min(3), pairs: self.pairs.div_ceil(3) }
    }
}

impl Comparison {
    /// True if this comparison of the base with itself shows that the machine is quiet enough.
    pub(crate) fn is_sound_control(&self) -> bool {
        (self.ratio - 1.0).abs() <= CONTROL_TOLERANCE
    }
}

/// Compares two kinds of blocks. A block returns `N` statistics, each of which is compared separately.
///
/// # Errors
/// Returns the first error of a block, or an error for a plan without pairs.
pub(crate) fn compare<const N: usize>(
    plan: RepetitionPlan,
    mut base: impl FnMut() -> Result<[f64; N]>,
    mut candidate: impl FnMut() -> Result<[f64; N]>,
) -> Result<[Comparison; N]> {
    ensure!(plan.repetitions > 0 && plan.pairs > 0, "a plan needs at least one repetition and one pair");
    // One-time costs, such as page faults and first allocations, occur here.
    base()?;
    candidate()?;
    let mut repetitions = Vec::with_capacity(plan.repetitions);
    for _ in 0..plan.repetitions {
        let mut pairs = Vec::with_capacity(plan.pairs);
        for at in 0..plan.pairs {
            pairs.push(if at % 2 == 0 {
                let first = base()?;
                (first, candidate()?)
            } else {
                let first = candidate()?;
                (base()?, first)
            });
        }
        repetitions.push(pairs);
    }
    Ok(std::array::from_fn(|metric| {
        let of = |(base, candidate): &([f64; N], [f64; N])| (base[metric], candidate[metric]);
        let repetitions: Vec<Vec<(f64, f64)>> =
            repetitions.iter().map(|pairs| pairs.iter().map(of).collect()).collect();
        summary(&repetitions)
    }))
}

fn summary(repetitions: &[Vec<(f64, f64)>]) -> Comparison {
    let all = || repetitions.iter().flatten();
    let medians: Vec<f64> = repetitions
        .iter()
        .map(|pairs| median(pairs.iter().map(|(base, candidate)| candidate / base).collect()))
        .collect();
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let most = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ratio = median(medians);
    Comparison {
        base: median(all().map(|(base, _)| *base).collect()),
        candidate: median(all().map(|(_, candidate)| *candidate).collect()),
        ratio,
        spread: (most - least) / ratio,
    }
}

/// Returns the median, or 0 without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied().unwrap_or_default();
    if values.len() % 2 == 1 {
        return upper;
    }
    let lower = middle.checked_sub(1).and_then(|at| values.get(at)).copied().unwrap_or_default();
    f64::midpoint(lower, upper)
}

/// Returns the value at this percentile, or 0 without values.
pub(crate) fn percentile(mut values: Vec<f64>, per_cent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let below = values.len().saturating_sub(1) * per_cent.min(100) / 100;
    values.get(below).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn computes_medians() {
        let check = |values: &[f64], expect: f64| assert_eq!(median(values.to_vec()), expect, "{values:?}");
        check(&[], 0.0);
        check(&[3.0, 1.0, 2.0], 2.0);
        check(&[4.0, 1.0, 2.0, 3.0], 2.5);
    }

    #[test]
    fn computes_percentiles() {
        let check =
            |values: &[f64], expect: f64| assert_eq!(percentile(values.to_vec(), 99), expect, "{values:?}");
        check(&[], 0.0);
        check(&[3.0], 3.0);
        check(&[2.0, 3.0], 2.0);
        let hundred: Vec<f64> = (0..=100_u8).rev().map(f64::from).collect();
        check(&hundred, 99.0);
    }

    #[test]
    fn blocks_alternate_in_abba_order() {
        let order = RefCell::new(String::new());
        let block = |name: char| {
            order.borrow_mut().push(name);
            Ok([1.0])
        };
        compare(RepetitionPlan { repetitions: 1, pairs: 4 }, || block('A'), || block('B')).unwrap();
        assert_eq!(order.into_inner(), "AB ABBAABBA".replace(' ', ""));
    }

    #[test]
    fn common_slowdown_cancels_out() {
        let tick = RefCell::new(0.0_f64);
        // Each pair runs on a machine twice as slow as in the previous pair.
        let slow = |cost: f64| {
            *tick.borrow_mut() += 0.5;
            Ok([cost * f64::exp2(tick.borrow().ceil())])
        };
        let [found] =
            compare(RepetitionPlan { repetitions: 2, pairs: 10 }, || slow(1.0), || slow(1.5)).unwrap();
        assert_eq!((found.ratio, found.spread), (1.5, 0.0));
    }

    #[test]
    fn spread_is_range_of_repetitions() {
        let found = summary(&[vec![(1.0, 2.0)], vec![(1.0, 2.2)], vec![(1.0, 1.8)]]);
        assert_eq!((found.base, found.candidate, found.ratio), (1.0, 2.0, 2.0));
        assert!((found.spread - 0.2).abs() < 1e-9);
    }

    #[test]
    fn control_with_deviation_is_unsound() {
        let control = |ratio| Comparison { base: 1.0, candidate: ratio, ratio, spread: 0.0 };
        assert!(control(1.029).is_sound_control());
        assert!(!control(1.031).is_sound_control());
        assert!(!control(f64::NAN).is_sound_control());
    }
}
