//! Runs one row, or a subset of its cases, in this process.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use crate::canary::CanaryControl;
use crate::row::{FaultCase, FaultRow};
use crate::skip::{SKIPPED, SkippedRow};
use crate::world::{RunMode, World, WorldSetup};
use crate::{oracle, rows};

/// A subset of a row's cases: every n-th case, starting at one of the first n.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CaseSubset {
    pub(crate) first: usize,
    pub(crate) of: usize,
}

impl CaseSubset {
    /// Parses the text written by `Display`.
    fn parse(text: &str) -> Result<Self> {
        let (first, of) = text.split_once('/').context("a subset must have the form N/M")?;
        Ok(Self { first: first.parse()?, of: of.parse()? })
    }

    const fn contains(self, case: usize) -> bool {
        case % self.of == self.first
    }
}

impl std::fmt::Display for CaseSubset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.first, self.of)
    }
}

/// Runs one row, or a subset of its cases, in this process. The last line of the output is the reason for a failure.
pub(crate) fn run(
    (id, part): (&str, &str),
    mode: RunMode,
    tag: &str,
    dir: PathBuf,
    control: PathBuf,
) -> ExitCode {
    let outcome = CaseSubset::parse(part).and_then(|part| try_run((id, part), mode, tag, &dir, control));
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    println!("{error:#}");
    if error.is::<SkippedRow>() { ExitCode::from(SKIPPED) } else { ExitCode::FAILURE }
}

fn try_run(
    (id, part): (&str, CaseSubset),
    mode: RunMode,
    tag: &str,
    dir: &Path,
    control: PathBuf,
) -> Result<()> {
    let row = rows::all().find(|row| row.id == id).with_context(|| format!("unknown row {id}"))?;
    if mode.undefended && row.undefend.is_none() {
        bail!("this row cannot be run without its defense");
    }
    // Agent and extension IO share one thread, as in the program.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let control = Arc::new(CanaryControl::new(control));
    let mut noticed = Ok(());
    for (at, case) in row.cases.iter().enumerate().filter(|(at, _)| part.contains(*at)) {
        if noticed.is_err() && !case.notices_alone {
            continue;
        }
        let dir = dir.join(format!("case-{}", at + 1));
        let outcome = runtime.block_on(run_case(row, case, mode, tag, dir, &control));
        match outcome.with_context(|| format!("case {} of {}", at + 1, row.cases.len())) {
            Err(error) if !mode.undefended => return Err(error),
            Err(error) => noticed = noticed.and(Err(error)),
            // This case does not detect a missing defense.
            Ok(()) if mode.undefended && case.notices_alone => return Ok(()),
            Ok(()) => {}
        }
    }
    noticed
}

async fn run_case(
    row: &FaultRow,
    case: &'static FaultCase,
    mode: RunMode,
    tag: &str,
    dir: PathBuf,
    control: &Arc<CanaryControl>,
) -> Result<()> {
    let mut setup = WorldSetup::new(mode, tag, dir)?;
    case.evil.add_to(&mut setup)?;
    (case.setup)(&mut setup);
    if mode.undefended {
        row.undefend.into_iter().for_each(|undefend| undefend(&mut setup));
    }
    let before = oracle::ResourceBaseline::take()?;
    let mut world = World::start(setup, case.expect, Arc::clone(control)).await;
    let played = (case.play)(&mut world).await;
    let judged = oracle::judge_case(world, case, before, control).await;
    match (played, judged) {
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(also)) if !error.is::<SkippedRow>() => bail!("{error:#}; {also:#}"),
        (Err(error), Err(_)) => Err(error),
        (Ok(()), judged) => judged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_in_one_subset() {
        let parts = (0..3).map(|first| CaseSubset::parse(&CaseSubset { first, of: 3 }.to_string()).unwrap());
        let parts: Vec<_> = parts.collect();
        for case in 0..10 {
            assert_eq!(parts.iter().filter(|part| part.contains(case)).count(), 1, "case {case}");
        }
        assert!(CaseSubset::parse("3").is_err());
    }
}
