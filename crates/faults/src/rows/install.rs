//! Group T, as far as it is about installing: what somebody tries who wants more than to be installed.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::attacks::{ARCHIVES, Attack, AttackOutcome, BOMBS, REPOSITORIES, SOURCES, TREES};
use crate::crash::StoreChange;
use crate::defence::{Defence, take_down};
use crate::row::{CASE, FaultCase, FaultRow, skip};
use crate::strace;
use crate::world::World;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "T-13",
        title: "an address or a repository that would have git run something is installed",
        cases: &[FaultCase { play: |world| Box::pin(try_all(world, &[SOURCES, REPOSITORIES])), ..CASE }],
        undefend: Some(|_| {
            take_down(Defence::SourceRules);
            take_down(Defence::HardenedGit);
        }),
    },
    FaultRow {
        id: "T-14",
        title: "a directory with links out of it, pipes, odd names, too many or too large files is installed",
        cases: &[FaultCase { play: |world| Box::pin(try_trees(world)), ..CASE }],
        undefend: Some(|_| take_down(Defence::TreeRules)),
    },
    FaultRow {
        id: "T-15",
        title: "archives are installed that unpack to too much, or elsewhere",
        cases: &[FaultCase { play: |world| Box::pin(try_all(world, &[ARCHIVES])), ..CASE }],
        undefend: Some(|_| take_down(Defence::SourceRules)),
    },
    FaultRow {
        id: "T-18",
        title: "haft is killed before each change of the disk by installing, updating, going back and removing",
        cases: &[FaultCase { play: |world| Box::pin(survives_kills(world)), ..CASE }],
        undefend: Some(|_| take_down(Defence::WholeInstalls)),
    },
];

async fn survives_kills(world: &mut World) -> Result<()> {
    if !strace::can_trace() {
        return skip(strace::NEEDED);
    }
    world.mark("killed")?;
    // Side by side: most of the time is spent waiting for the disk.
    let runs = StoreChange::ALL.map(|change| {
        let dir = world.dir.join("homes");
        tokio::task::spawn_blocking(move || change.at_every_call(&dir))
    });
    let mut counts = Vec::new();
    for (change, run) in StoreChange::ALL.into_iter().zip(runs) {
        let count = run.await??;
        ensure!(count >= 10, "{} has only {count} calls", change.name());
        counts.push(format!("{} {count}", change.name()));
    }
    world.report_finding(&format!("absent or complete after each call: {}", counts.join(", ")));
    Ok(())
}

async fn try_trees(world: &mut World) -> Result<()> {
    // Those take half a minute on a busy machine.
    let full = world.mode.full;
    try_all(world, if full { &[TREES, BOMBS] } else { &[TREES] }).await
}

async fn try_all(world: &mut World, groups: &'static [&'static [Attack]]) -> Result<()> {
    world.mark("attacks")?;
    let dir = world.dir.join("attacks");
    // The host goes on meanwhile.
    let found = tokio::task::spawn_blocking(move || try_attacks(groups, &dir)).await??;
    world.report_finding(&found);
    Ok(())
}

fn try_attacks(groups: &[&[Attack]], dir: &Path) -> Result<String> {
    let (mut refused, mut harmless, mut absent) = (0, 0, 0);
    for attack in groups.iter().copied().flatten() {
        match attack.try_in(dir)? {
            AttackOutcome::Refused => refused += 1,
            AttackOutcome::Harmless => harmless += 1,
            AttackOutcome::NotMade => absent += 1,
        }
    }
    ensure!(refused > 0, "none was refused");
    let absent = if absent > 0 { format!(", {absent} cannot be had here") } else { String::new() };
    Ok(format!("{refused} refused, {harmless} installed and harmless{absent}"))
}
