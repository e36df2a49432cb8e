//! The committed counts, and the comparison of new counts with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The allowed increase, in percent of the baseline. Counts of one build hardly vary (`docs/benchmarks.md`); the
/// tolerance covers the effect of unrelated changes on inlining.
const TOLERANCE: u64 = 5;

/// The increase that is always allowed, for paths so short that one spilled register is measurable.
const SMALLEST: u64 = 50;

/// Counts by path, and the build that they belong to.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Baseline {
    pub(super) build: BuildEnvironment,
    /// Instructions of one operation, by path.
    pub(super) instructions: BTreeMap<String, u64>,
}

/// The properties of a build that affect its counts.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BuildEnvironment {
    pub(super) rustc: String,
    /// The cargo profile.
    pub(super) profile: String,
    pub(super) target: String,
    /// True if the processor has AVX2. Valgrind then reports AVX2 to the program, and `memchr` uses it. Valgrind
    /// reports no later extension.
    pub(super) avx2: bool,
}

/// The comparison of one path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PathComparison<'a> {
    pub(super) path: &'a str,
    pub(super) before: Option<u64>,
    pub(super) now: Option<u64>,
    pub(super) change: CountChange,
}

/// The change of one path's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountChange {
    /// The change is within the tolerance.
    Same,
    /// The increase exceeds the tolerance; the gate fails.
    More,
    /// The decrease is so large that the baseline would let an equally large increase pass; the baseline should be
    /// renewed.
    Fewer,
    /// The path is counted but not in the baseline; the gate fails, because no count protects the path.
    New,
    /// The path is in the baseline but no longer counted; the gate fails.
    Missing,
}

impl Baseline {
    /// Reads the committed counts.
    pub(super) fn read() -> Result<Self> {
        let file = baseline_path();
        let text = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| {
            format!(
                "read {}; to write a new baseline, run `cargo xtask bench counts --write`",
                file.display()
            )
        })
    }

    /// Overwrites the committed counts.
    pub(super) fn write(&self) -> Result<()> {
        let (file, text) = (baseline_path(), serde_json::to_string_pretty(self)? + "\n");
        std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))
    }

    /// Compares new counts with the baseline, matching all paths of both by name.
    pub(super) fn compare<'a>(&'a self, counted: &'a BTreeMap<String, u64>) -> Vec<PathComparison<'a>> {
        let paths: BTreeSet<&String> = self.instructions.keys().chain(counted.keys()).collect();
        let judge = |path: &'a String| {
            let (before, now) = (self.instructions.get(path).copied(), counted.get(path).copied());
            PathComparison { path, before, now, change: classify_change(before, now) }
        };
        paths.into_iter().map(judge).collect()
    }
}

impl BuildEnvironment {
    /// Returns the build of this binary on this processor.
    pub(super) fn current() -> Self {
        Self {
            rustc: env!("HAFT_BENCH_RUSTC").to_owned(),
            profile: env!("HAFT_BENCH_PROFILE").to_owned(),
            target: env!("HAFT_BENCH_TARGET").to_owned(),
            avx2: has_avx2(),
        }
    }

    /// Describes why counts of two builds are not comparable; returns `None` if they are.
    pub(super) fn describe_difference(&self, current: &Self) -> Option<String> {
        (self != current).then(|| format!("  baseline: {self}\n  this run: {current}"))
    }
}

impl CountChange {
    /// True if the gate passes.
    pub(super) fn passes(self) -> bool {
        match self {
            Self::Same | Self::Fewer => true,
            Self::More | Self::New | Self::Missing => false,
        }
    }
}

impl fmt::Display for BuildEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rustc, profile, target, avx2 } = self;
        let avx2 = if *avx2 { "AVX2" } else { "no AVX2" };
        write!(f, "{rustc}\n            profile {profile}, {target}, {avx2}")
    }
}

impl fmt::Display for PathComparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, before, now, change } = self;
        let number = |count: &Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        let share = before.zip(*now).map(|(before, now)| relative_increase(before, now));
        let share = share.map_or_else(String::new, |share| format!("{:+.1}%", share * 100.0));
        let mark = match change {
            CountChange::Same => "",
            CountChange::More => "  more",
            CountChange::Fewer => "  fewer",
            CountChange::New => "  new",
            CountChange::Missing => "  missing",
        };
        write!(f, "{path:<26}{:>13}{:>13}{share:>9}{mark}", number(before), number(now))
    }
}

fn classify_change(before: Option<u64>, now: Option<u64>) -> CountChange {
    let (before, now) = match (before, now) {
        (Some(before), Some(now)) => (before, now),
        (None, _) => return CountChange::New,
        (Some(_), None) => return CountChange::Missing,
    };
    let difference = now.abs_diff(before);
    if difference <= SMALLEST || difference * 100 <= before * TOLERANCE {
        CountChange::Same
    } else if now > before {
        CountChange::More
    } else {
        CountChange::Fewer
    }
}

/// Returns the increase as a fraction of the baseline.
#[expect(clippy::cast_precision_loss, reason = "counts of instructions are far below 2^52")]
fn relative_increase(before: u64, now: u64) -> f64 {
    now as f64 / before.max(1) as f64 - 1.0
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

fn baseline_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("counts.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fails_above_relative_and_absolute_tolerance() {
        let check = |before, now, expect| {
            assert_eq!(classify_change(before, now), expect, "{before:?} {now:?}");
        };
        check(Some(10_000), Some(10_500), CountChange::Same);
        check(Some(10_000), Some(10_501), CountChange::More);
        check(Some(10_000), Some(9_500), CountChange::Same);
        check(Some(10_000), Some(9_499), CountChange::Fewer);
        check(Some(100), Some(150), CountChange::Same);
        check(Some(100), Some(151), CountChange::More);
        check(Some(100), Some(49), CountChange::Fewer);
        check(Some(0), Some(51), CountChange::More);
        check(None, Some(1), CountChange::New);
        check(Some(1), None, CountChange::Missing);
    }

    #[test]
    fn gate_fails_on_increase_or_incomplete_baseline() {
        let fails =
            [CountChange::More, CountChange::New, CountChange::Missing].iter().all(|change| !change.passes());
        assert!(fails && CountChange::Same.passes() && CountChange::Fewer.passes());
    }

    fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|&(path, count)| (path.to_owned(), count)).collect()
    }

    fn build() -> BuildEnvironment {
        let text = |text: &str| text.to_owned();
        BuildEnvironment {
            rustc: text("rustc 1.95.0"),
            profile: text("fast"),
            target: text("x86_64"),
            avx2: true,
        }
    }

    #[test]
    fn compares_paths_of_both_sides() {
        let baseline = Baseline {
            build: build(),
            instructions: counts(&[("a", 1_000), ("b", 1_000), ("c", 26_796_560), ("gone", 7)]),
        };
        let now = counts(&[("a", 1_010), ("b", 1_100), ("c", 9_796_560), ("added", 8)]);
        let table: Vec<String> = baseline.compare(&now).iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(table.join("\n"), @"
        a                                  1000         1010    +1.0%
        added                                              8           new
        b                                  1000         1100   +10.0%  more
        c                              26796560      9796560   -63.4%  fewer
        gone                                  7                        missing
        ");
        assert!(table.iter().all(|row| row.len() <= 80));
    }

    #[test]
    fn rejects_counts_of_another_build() {
        assert_eq!(build().describe_difference(&build()), None);
        let check = |other: BuildEnvironment, expect: &str| {
            let difference = build().describe_difference(&other).unwrap();
            assert!(difference.contains(expect), "{difference}");
            assert!(difference.lines().all(|line| line.len() <= 80), "{difference}");
        };
        check(BuildEnvironment { rustc: "rustc 1.96.0".to_owned(), ..build() }, "this run: rustc 1.96.0\n");
        check(BuildEnvironment { profile: "release".to_owned(), ..build() }, "profile release");
        check(BuildEnvironment { target: "aarch64".to_owned(), ..build() }, "aarch64");
        check(BuildEnvironment { avx2: false, ..build() }, "no AVX2");
    }
}
