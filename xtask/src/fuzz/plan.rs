//! The plan of a fuzzing run.

use anyhow::{Context, Result, bail};
use xtask::seeds::{FuzzTarget, TARGETS};

/// The targets to fuzz, and the effort for each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FuzzPlan {
    /// The target, or `None` for all.
    target: Option<&'static FuzzTarget>,
    pub(super) effort: FuzzEffort,
}

/// The effort for one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FuzzEffort {
    Runs(u64),
    Seconds(u64),
}

impl FuzzPlan {
    /// Creates a plan for all targets.
    pub(crate) const fn all(effort: FuzzEffort) -> Self {
        Self { target: None, effort }
    }

    /// Parses `[TARGET] [--full | --runs N | --seconds S]`.
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        let mut plan = Self::all(FuzzEffort::USUAL);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match *arg {
                "--full" => plan.effort = FuzzEffort::FULL,
                "--runs" => plan.effort = FuzzEffort::Runs(parse_number(arg, args.next())?),
                "--seconds" => plan.effort = FuzzEffort::Seconds(parse_number(arg, args.next())?),
                name => plan.target = Some(find_target(name)?),
            }
        }
        Ok(plan)
    }

    pub(super) fn targets(self) -> impl Iterator<Item = &'static FuzzTarget> {
        TARGETS.iter().filter(move |target| self.target.is_none_or(|only| only.name == target.name))
    }
}

impl FuzzEffort {
    /// The number of executions without options.
    pub(crate) const USUAL: Self = Self::Runs(200_000);
    /// Ten million executions for all targets together.
    pub(crate) const FULL: Self = Self::Runs(2_500_000);

    /// Returns libFuzzer's flag.
    pub(super) fn libfuzzer_flag(self) -> String {
        match self {
            Self::Runs(runs) => format!("-runs={runs}"),
            Self::Seconds(seconds) => format!("-max_total_time={seconds}"),
        }
    }
}

fn find_target(name: &str) -> Result<&'static FuzzTarget> {
    TARGETS.iter().find(|target| target.name == name).with_context(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("no fuzz target {name:?}; the targets are {}", names.join(", "))
    })
}

fn parse_number(flag: &str, text: Option<&&str>) -> Result<u64> {
    match text.and_then(|text| text.parse().ok()) {
        // libFuzzer takes 0 seconds for an unlimited time.
        Some(number @ 1..) => Ok(number),
        Some(0) | None => bail!("{flag} needs a positive number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], expect: Result<(&[&str], FuzzEffort), &str>) {
        let plan = FuzzPlan::parse(args).map_err(|error| error.to_string());
        let names = plan.as_ref().map(|plan| plan.targets().map(|target| target.name).collect::<Vec<_>>());
        match (plan.as_ref().map(|plan| plan.effort), names, expect) {
            (Ok(effort), Ok(names), Ok(expect)) => assert_eq!((names.as_slice(), effort), expect),
            (Err(error), _, Err(expect)) => assert_eq!(error, expect),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parses_arguments() {
        let all = ["answer", "chain", "envelope", "hooks", "manifest", "rpc", "sanitizer"];
        check(&[], Ok((&all, FuzzEffort::USUAL)));
        check(&["chain"], Ok((&["chain"], FuzzEffort::USUAL)));
        check(&["--runs", "7"], Ok((&all, FuzzEffort::Runs(7))));
        check(&["envelope", "--seconds", "60"], Ok((&["envelope"], FuzzEffort::Seconds(60))));
        check(&["--seconds", "0"], Err("--seconds needs a positive number"));
        check(&["--runs"], Err("--runs needs a positive number"));
        let unknown =
            "no fuzz target \"x\"; the targets are answer, chain, envelope, hooks, manifest, rpc, sanitizer";
        check(&["x"], Err(unknown));
    }

    #[test]
    fn full_run_is_ten_million_executions() {
        let FuzzEffort::Runs(runs) = FuzzEffort::FULL else { panic!("the effort is not in runs") };
        assert!(runs * TARGETS.len() as u64 >= 10_000_000);
    }
}
