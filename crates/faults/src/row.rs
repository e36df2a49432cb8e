//! What a row is, and how one is run in this process.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::BoxFuture;

use crate::canary::Control;
use crate::evil::Evil;
use crate::oracle;
use crate::rows;
use crate::timeouts::PATIENCE;
use crate::world::{Mode, Setup, World};

/// One fault and what must hold all the same.
pub(crate) struct Row {
    /// As in the matrix: `P-01`.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) cases: &'static [Case],
    /// Takes down the defence that the row is about, before the host starts. `None` while there is no way to; an
    /// undefended run counts that as a failure.
    pub(crate) undefend: Option<fn(&mut Setup)>,
}

/// One variant of a row, in a world of its own.
pub(crate) struct Case {
    pub(crate) evil: Evil,
    /// Every `extension_error` of the case: extension and code, in any order.
    pub(crate) expect: Faults,
    /// Changes the configuration before the host starts.
    pub(crate) setup: fn(&mut Setup),
    /// What is done and must hold while the host runs.
    pub(crate) play: Play,
    /// The longest end of the host: longer than on any machine, unless the row is about it.
    pub(crate) ends_within: Duration,
    /// Without the defence this case has to notice by itself, whatever the others of its row do.
    pub(crate) notices_alone: bool,
}

/// Extensions and codes of `extension_error` events.
pub(crate) type Faults = &'static [(&'static str, &'static str)];

/// What happens in a case.
pub(crate) type Play = for<'a> fn(&'a mut World) -> BoxFuture<'a, Result<()>>;

/// What cases have in common.
pub(crate) const CASE: Case = Case {
    evil: Evil::Nobody,
    expect: &[],
    setup: |_| {},
    play: |world| Box::pin(world.until_expected()),
    ends_within: PATIENCE,
    notices_alone: false,
};

/// The name of the extension that misbehaves.
pub(crate) const EVIL: &str = "evil";

/// The exit status of a row that cannot run on this machine.
pub(crate) const SKIPPED: u8 = 77;

/// A row needs something that this machine does not have.
#[derive(Debug)]
struct Skip(String);

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// Ends a row that needs something this machine does not have.
pub(crate) fn skip<T>(what: impl Into<String>) -> Result<T> {
    Err(anyhow::Error::new(Skip(what.into())))
}

/// Some of the cases of a row: each so many'th, from this one on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) first: usize,
    pub(crate) of: usize,
}

impl Part {
    /// Reads what `Display` writes.
    fn parse(text: &str) -> Result<Self> {
        let (first, of) = text.split_once('/').context("a part is a number of numbers")?;
        Ok(Self { first: first.parse()?, of: of.parse()? })
    }

    const fn has(self, case: usize) -> bool {
        case % self.of == self.first
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.first, self.of)
    }
}

/// Runs one row, or a part of its cases, in this process. What is printed last is the reason, if it did not pass.
pub(crate) fn run_alone(
    (id, part): (&str, &str),
    mode: Mode,
    tag: &str,
    dir: PathBuf,
    control: PathBuf,
) -> ExitCode {
    let outcome = Part::parse(part).and_then(|part| run((id, part), mode, tag, &dir, control));
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    println!("{error:#}");
    if error.is::<Skip>() { ExitCode::from(SKIPPED) } else { ExitCode::FAILURE }
}

fn run(
    (id, part): (&str, Part),
    mode: Mode,
    tag: &str,
    dir: &std::path::Path,
    control: PathBuf,
) -> Result<()> {
    let row = rows::all().find(|row| row.id == id).with_context(|| format!("there is no row {id}"))?;
    if mode.undefended && row.undefend.is_none() {
        bail!("no way to take its defence down");
    }
    // Like the program: agent and extension IO on one thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let control = Arc::new(Control::new(control));
    let mut noticed = Ok(());
    for (at, case) in row.cases.iter().enumerate().filter(|(at, _)| part.has(*at)) {
        if noticed.is_err() && !case.notices_alone {
            continue;
        }
        let dir = dir.join(format!("case-{}", at + 1));
        let outcome = runtime.block_on(run_case(row, case, mode, tag, dir, &control));
        match outcome.with_context(|| format!("case {} of {}", at + 1, row.cases.len())) {
            Err(error) if !mode.undefended => return Err(error),
            Err(error) => noticed = noticed.and(Err(error)),
            // This case would not miss the defence.
            Ok(()) if mode.undefended && case.notices_alone => return Ok(()),
            Ok(()) => {}
        }
    }
    noticed
}

async fn run_case(
    row: &Row,
    case: &'static Case,
    mode: Mode,
    tag: &str,
    dir: PathBuf,
    control: &Arc<Control>,
) -> Result<()> {
    let mut setup = Setup::new(mode, tag, dir)?;
    case.evil.add_to(&mut setup)?;
    (case.setup)(&mut setup);
    if mode.undefended {
        row.undefend.into_iter().for_each(|undefend| undefend(&mut setup));
    }
    let before = oracle::Baseline::take()?;
    let mut world = World::start(setup, case.expect, Arc::clone(control)).await;
    let played = (case.play)(&mut world).await;
    let judged = oracle::judge(world, case, before, control).await;
    match (played, judged) {
        (Err(error), Ok(())) => Err(error),
        (Err(error), Err(also)) if !error.is::<Skip>() => bail!("{error:#}; {also:#}"),
        (Err(error), Err(_)) => Err(error),
        (Ok(()), judged) => judged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_in_one_part() {
        let parts = (0..3).map(|first| Part::parse(&Part { first, of: 3 }.to_string()).unwrap());
        let parts: Vec<_> = parts.collect();
        for case in 0..10 {
            assert_eq!(parts.iter().filter(|part| part.has(case)).count(), 1, "case {case}");
        }
        assert!(Part::parse("3").is_err());
    }
}
