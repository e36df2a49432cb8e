//! Group T, installation: attacks by extensions during their installation.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::attacks::{ARCHIVES, Attack, AttackOutcome, BOMBS, REPOSITORIES, SOURCES, TREES};
use crate::crash::StoreChange;
use crate::defense::{Defense, take_down};
use crate::row::{CASE, FaultCase, FaultRow, skip};
use crate::strace;
use crate::world::World;

pub(crate) const ROWS: &[FaultRow] = &[
    FaultRow {
        id: "T-13",
        title: "installs an address or a repository that makes git run programs",
        cases: &[FaultCase { play: |world| Box::pin(try_all(world, &[SOURCES, REPOSITORIES])), ..CASE }],
        undefend: Some(|_| {
            take_down(Defense::SourceRules);
            take_down(Defense::HardenedGit);
        }),
    },
    FaultRow {
        id: "T-14",
        title: "installs a directory with outside links, pipes, odd names, too many or too large files",
        cases: &[FaultCase { play: |world| Box::pin(try_trees(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::TreeRules)),
    },
    FaultRow {
        id: "T-15",
        title: "installs archives that unpack to too much data or to other directories",
        cases: &[FaultCase { play: |world| Box::pin(try_all(world, &[ARCHIVES])), ..CASE }],
        undefend: Some(|_| take_down(Defense::SourceRules)),
    },
    FaultRow {
        id: "T-18",
        title: "haft is killed before each disk change of install, update, rollback and removal",
        cases: &[FaultCase { play: |world| Box::pin(survives_kills(world)), ..CASE }],
        undefend: Some(|_| take_down(Defense::WholeInstalls)),
    },
];

async fn survives_kills(world: &mut World) -> Result<()> {
    if !strace::can_trace() {
        return skip(strace::NEEDED);
    }
    world.mark("killed")?;
    // The changes run in parallel, because most of the time is spent waiting for the disk.
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
    // These attacks take half a minute on a busy machine.
    let full = world.mode.full;
    try_all(world, if full { &[TREES, BOMBS] } else { &[TREES] }).await
}

async fn try_all(world: &mut World, groups: &'static [&'static [Attack]]) -> Result<()> {
    world.mark("attacks")?;
    let dir = world.dir.join("attacks");
    // The attacks run in another thread, so that the host continues.
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
    ensure!(refused > 0, "no attack was rejected");
    let absent = if absent > 0 { format!(", {absent} not available on this machine") } else { String::new() };
    Ok(format!("{refused} refused, {harmless} installed and harmless{absent}"))
}
