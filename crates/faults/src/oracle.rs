//! What must hold after every case, whatever the fault was.
//!
//! | | |
//! |---|---|
//! | U1 | the host answers within 1 s |
//! | U2 | the canary lost no event, every call of it was answered, p99 < 50 ms and none > 500 ms, or 3 × the control's longest |
//! | U3 | exactly the expected `extension_error` events |
//! | U4 | the event stream is whole: every tool call has one result, every prompt one end |
//! | U5 | within 3 s no process is left, the files are closed, memory grew by less than 32 MiB |
//! | U6 | every question ended |
//! | U7 | the fault happened |

mod machine;
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::canary::{Control, Health, longest, p99};
use crate::row::Case;
use crate::world::World;
pub(crate) use machine::{Baseline, memory, open_files, tagged};
pub(crate) use stream::whole;

/// How long the host may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

/// The canary's p99.
const BRISK: Duration = Duration::from_millis(50);

/// The canary's longest trip.
const STALL: Duration = Duration::from_millis(500);

/// A canary may be this much slower than one without a fault beside it.
const SLOWER: u32 = 3;

/// Judges a case that was played, and ends its host.
pub(crate) async fn judge(world: World, case: &Case, before: Baseline, control: &Arc<Control>) -> Result<()> {
    let World { host, dir, tag, events, canary, tally, also, .. } = world;
    let marks = std::fs::read_to_string(dir.join("marker")).unwrap_or_default();
    let answered = tokio::time::timeout(ANSWER, host.ping()).await;
    let health = canary.land().await;
    let ended = tokio::time::timeout(case.ends_within, host.shutdown()).await;
    drop(host);
    events.save(&dir)?;
    let constant = case.expect.iter().map(|&(extension, code)| (extension.to_owned(), code));
    let expected: Vec<_> = constant.chain(also).collect();
    let mut broken = Vec::new();
    let mut check = |rule: &str, outcome: Result<()>| {
        broken.extend(outcome.err().map(|error| format!("{rule}: {error:#}")));
    };
    match health {
        Ok(health) => check("U2", healthy(&health, control)),
        Err(error) => check("U1", Err(error)),
    }
    check("U1", answered.context("the host does not answer in time"));
    check("U1", ended.context("the host does not end in time"));
    check("U3", faults(&events.faults(), &expected));
    check("U4", whole(&events.all()));
    check("U5", before.compare(&tag).await);
    let (asked, ended) = tally.counts();
    check(
        "U6",
        if asked == ended { Ok(()) } else { Err(anyhow::anyhow!("{ended} of {asked} questions ended")) },
    );
    check("U7", fired(case.evil.marker(), &marks));
    if broken.is_empty() { Ok(()) } else { bail!("{}", broken.join("; ")) }
}

fn healthy(health: &Health, control: &Control) -> Result<()> {
    let Health { told, seen, trips } = health;
    ensure!(told == seen, "the canary has seen {seen} of {told} events");
    // The machine is shared: one stall of the control is what it does to anybody.
    let beside = longest(&control.beside(trips)?);
    for (what, own, limit) in [("p99", p99(trips), BRISK), ("longest trip", longest(trips), STALL)] {
        let slow = own > limit && own > beside * SLOWER;
        ensure!(!slow, "the canary's {what} is {own:?}; the longest trip without a fault is {beside:?}");
    }
    Ok(())
}

fn faults(found: &[haft_protocol::event::ExtensionFault], expect: &[(String, &str)]) -> Result<()> {
    let mut surplus: BTreeMap<(String, String), i64> = BTreeMap::new();
    for fault in found {
        *surplus.entry((fault.extension.to_string(), fault.code.clone())).or_default() += 1;
    }
    for (extension, code) in expect {
        *surplus.entry((extension.clone(), (*code).to_owned())).or_default() -= 1;
    }
    let mut wrong = Vec::new();
    for ((extension, code), count) in surplus {
        let first = found.iter().find(|fault| fault.code == code).map(|fault| fault.message.as_str());
        match count {
            0 => {}
            1.. => wrong
                .push(format!("{count} × {code} of {extension} too many ({})", first.unwrap_or_default())),
            _ => wrong.push(format!("{} × {code} of {extension} missing", -count)),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join(", "));
    Ok(())
}

fn fired(marker: Option<&str>, marks: &str) -> Result<()> {
    let happened = match marker {
        Some(fault) => marks.lines().any(|mark| mark == fault),
        // Whoever the case made itself marks anything.
        None => !marks.is_empty(),
    };
    ensure!(happened, "the fault did not happen");
    Ok(())
}
