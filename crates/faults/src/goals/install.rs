//! G13: attacks on an installation, and the state after a killed installation.

use anyhow::Result;

use super::{GoalContext, GoalFigure};
use crate::attacks::{ARCHIVES, AttackOutcome, BOMBS, REPOSITORIES, SOURCES, TREES};
use crate::crash::StoreChange;
use crate::strace;

/// The smallest number of attacks.
const LEAST: usize = 25;

/// The smallest number of attacks that must succeed against an unprotected git call; otherwise the attacks prove
/// nothing.
const LEAST_NAIVE: usize = 3;

pub(super) fn measure(place: &GoalContext) -> Result<Vec<GoalFigure>> {
    let mut figures = vec![measure_attacks(place)];
    figures.push(measure_kills(place));
    let mut naive = Vec::new();
    for attack in SOURCES.iter().chain(REPOSITORIES) {
        if attack.fires_naively(&place.dir)? {
            naive.push(attack.name);
        }
    }
    let what = format!("attacks that run code with an unprotected git call ({})", naive.join("; "));
    figures.push(GoalFigure::new(what, naive.len(), "at least 3", naive.len() >= LEAST_NAIVE));
    Ok(figures)
}

fn measure_kills(place: &GoalContext) -> GoalFigure {
    let what = "killed before each disk change of install, update, rollback and removal";
    if !strace::can_trace() {
        return GoalFigure::note(format!("SKIP {what}"), format!("needs {}", strace::NEEDED));
    }
    let counts = StoreChange::ALL.map(|change| change.at_every_call(&place.dir));
    let calls: usize = counts.iter().flatten().sum();
    let wrong: Vec<String> =
        counts.iter().filter_map(|count| Some(format!("{:#}", count.as_ref().err()?))).collect();
    let measured = match wrong.as_slice() {
        [] => {
            format!(
                "{calls} of {calls} left the extension absent or complete, without leftovers after the next change"
            )
        }
        wrong => wrong.join("; "),
    };
    GoalFigure::new(what, measured, "all", wrong.is_empty())
}

fn measure_attacks(place: &GoalContext) -> GoalFigure {
    let (mut refused, mut harmless, mut wrong) = (0, 0, Vec::new());
    let bombs = place.amount(&[][..], BOMBS);
    for attack in SOURCES.iter().chain(REPOSITORIES).chain(bombs).chain(TREES).chain(ARCHIVES) {
        match attack.try_in(&place.dir) {
            Ok(AttackOutcome::Refused) => refused += 1,
            Ok(AttackOutcome::Harmless) => harmless += 1,
            Ok(AttackOutcome::NotMade) => {}
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    let measured = match wrong.as_slice() {
        [] => format!("{refused} refused, {harmless} installed without effect, 0 ran code"),
        wrong => wrong.join("; "),
    };
    let met = wrong.is_empty() && refused >= LEAST;
    GoalFigure::new("attacks on an installation", measured, "at least 25 refused, 0 succeed", met)
}
