//! Checks after every case, whatever the fault was.
//!
//! | | |
//! |---|---|
//! | U1 | the host answers and shuts down |
//! | U2 | the canary lost no event and every call was answered: the median within 1 s, the 99th percentile within 10 s, all within 30 s, or within 10 × the control's longest |
//! | U3 | exactly the expected `extension_error` events |
//! | U4 | the event stream is complete: every tool call has one result, every prompt one end |
//! | U5 | in the end no process is left, the files are closed, and the heap has not grown without limit; rows about memory compare rounds |
//! | U6 | every question ended |
//! | U7 | the fault happened |

mod heap;
mod machine;
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use haft_protocol::event::ExtensionFault;

use crate::canary::{CanaryControl, CanaryHealth, RoundTrip, longest, p50, p99};
use crate::row::FaultCase;
use crate::timeouts::PATIENCE;
use crate::world::World;
pub(crate) use heap::{HeapGrowth, live_bytes, peak_bytes};
pub(crate) use machine::{ResourceBaseline, bytes_read, open_files, tagged_processes};
pub(crate) use stream::check_stream;

/// A limit for the canary's round trips: its name, its statistic, and the maximum.
type TripLimit = (&'static str, fn(&[RoundTrip]) -> Duration, Duration);

/// The limits for the median, the 99th percentile and the longest round trip. With two busy loops on two cores, the
/// slowest row takes 20, 540 and 640 ms. Only a host that stops for its extensions comes near the limits.
const LIMITS: [TripLimit; 3] = [
    ("median", p50, Duration::from_secs(1)),
    ("p99", p99, Duration::from_secs(10)),
    ("longest trip", longest, Duration::from_secs(30)),
];

/// The allowed factor between the canary's longest round trip and that of the control.
pub(crate) const SLOWER: u32 = 10;

/// The longest wait for a shutdown and for its processes to end, without the defenses.
const UNDEFENDED: Duration = Duration::from_secs(8);

/// Checks a case after its script, and ends its host.
pub(crate) async fn judge_case(
    world: World,
    case: &FaultCase,
    before: ResourceBaseline,
    control: &Arc<CanaryControl>,
) -> Result<()> {
    let World { host, dir, tag, events, canary, tally, also, mode, .. } = world;
    let patience = if mode.undefended { UNDEFENDED } else { PATIENCE };
    let answered = tokio::time::timeout(PATIENCE, host.ping()).await;
    let health = canary.finish().await;
    let ended = tokio::time::timeout(patience, host.shutdown()).await;
    drop(host);
    events.save(&dir)?;
    let marks = std::fs::read_to_string(dir.join("marker")).unwrap_or_default();
    let constant = case.expect.iter().map(|&(extension, code)| (extension.to_owned(), code));
    let expected: Vec<_> = constant.chain(also).collect();
    let mut broken = Vec::new();
    let mut check = |rule: &str, outcome: Result<()>| {
        broken.extend(outcome.err().map(|error| format!("{rule}: {error:#}")));
    };
    match health {
        Ok(health) => check("U2", check_canary(&health, control)),
        Err(error) => check("U1", Err(error)),
    }
    check("U1", answered.context("the host does not answer"));
    check("U1", ended.with_context(|| format!("the host has not ended after {} s", patience.as_secs())));
    check("U3", check_faults(&events.faults(), &expected));
    check("U4", check_stream(&events.all()));
    check("U5", before.compare(&tag, patience).await);
    let (asked, ended) = tally.counts();
    check(
        "U6",
        if asked == ended { Ok(()) } else { Err(anyhow::anyhow!("{ended} of {asked} questions ended")) },
    );
    check("U7", check_fault_happened(case.evil.marker(), &marks));
    if broken.is_empty() { Ok(()) } else { bail!("{}", broken.join("; ")) }
}

fn check_canary(health: &CanaryHealth, control: &CanaryControl) -> Result<()> {
    let CanaryHealth { told, seen, trips } = health;
    ensure!(told == seen, "the canary received {seen} of {told} events");
    // The machine is shared: a stall of the control shows that the machine caused it.
    let beside = longest(&control.concurrent_trips(trips)?);
    for (what, of, limit) in LIMITS {
        let (own, limit) = (of(trips), limit.max(beside * SLOWER));
        ensure!(
            own <= limit,
            "the canary's {what} is {own:?}; the longest round trip without a fault is {beside:?}"
        );
    }
    Ok(())
}

fn check_faults(found: &[ExtensionFault], expect: &[(String, &str)]) -> Result<()> {
    let mut surplus: BTreeMap<(String, String), i64> = BTreeMap::new();
    // The canary repeats a call for which a short deadline of the row was too short.
    let repeated =
        |fault: &&ExtensionFault| fault.extension.as_str() == "canary" && fault.code == "call_timeout";
    for fault in found.iter().filter(|fault| !repeated(fault)) {
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

fn check_fault_happened(marker: Option<&str>, marks: &str) -> Result<()> {
    let happened = match marker {
        Some(fault) => marks.lines().any(|mark| mark == fault),
        // A case without an extension may use any mark.
        None => !marks.is_empty(),
    };
    ensure!(happened, "the fault did not happen");
    Ok(())
}
