//! Starting extensions, and how long a start waits for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use futures::channel::mpsc;
use haft_packages::{ExtensionSpec, Launch, Origin};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ids::ExtensionName;
use tokio::sync::watch;
use tokio::time::{Duration, Instant, timeout_at};

use super::Found;
use super::inner::Inner;
use super::set::Set;
use crate::agent::entry::Entry;
use crate::extension::backlog::Backlog;
use crate::extension::send_queue::event::EventFilter;
use crate::process::connection::Connection;
use crate::session::declared::declared_offers;
use crate::session::ids::random;
use crate::session::offers::Offers;
use crate::supervision::keeper::Keeper;
use crate::supervision::shared::Shared;
use crate::supervision::slot::{Slot, Stage};
use crate::supervision::supervisor::Supervisor;
use crate::wire::fault::FaultCode;

/// Starts the streams and all that is found, and waits as a start does.
pub(super) async fn start_first(inner: &Inner, streams: Vec<(ExtensionSpec, Connection)>) {
    let shared = &inner.shared;
    let _turn = inner.turnstile.lock().await;
    let streams = streams.into_iter().map(|(spec, connection)| (spec, Some(connection))).collect();
    let (mut entries, _) = start_all(shared, streams, &[], Begin::AllAtOnce);
    let found = inner.look();
    let blocked = found.blocked.clone();
    let (started, _) = start_found(shared, found, &entries, Begin::AsDeclared);
    entries.extend(started);
    *inner.set() = Set::new(&shared.config, entries.clone(), blocked);
    wait_patiently(shared, &entries).await;
    inner.announce(&entries);
}

/// Starts the extensions that were found, beside those that are there. Returns also those that cannot be started,
/// because their name is taken.
pub(super) fn start_found(
    shared: &Arc<Shared>,
    found: Found,
    beside: &[Arc<Entry>],
    begin: Begin,
) -> (Vec<Arc<Entry>>, Vec<ExtensionFault>) {
    let specs = found.specs.into_iter().map(|spec| (spec, None)).collect();
    start_all(shared, specs, beside, begin)
}

/// Starts all of these; none waits for another, save for its turn at the gate.
fn start_all(
    shared: &Arc<Shared>,
    specs: Vec<(ExtensionSpec, Option<Connection>)>,
    beside: &[Arc<Entry>],
    begin: Begin,
) -> (Vec<Arc<Entry>>, Vec<ExtensionFault>) {
    let mut names: HashMap<_, _> =
        beside.iter().map(|entry| (entry.name().clone(), entry.spec.dir.clone())).collect();
    let (mut started, mut faults) = (Vec::new(), Vec::new());
    for (spec, connection) in specs {
        if let Some(first) = names.get(&spec.name) {
            let message = format!(
                "not started from {}: an extension of this name runs from {}",
                spec.dir.display(),
                first.display()
            );
            faults.push(rejected(shared, spec.name, message));
            continue;
        }
        names.insert(spec.name.clone(), spec.dir.clone());
        started.push(start_one(shared, spec, connection, begin));
    }
    (started, faults)
}

fn rejected(shared: &Shared, extension: ExtensionName, message: String) -> ExtensionFault {
    let code = FaultCode::RegisterRejected;
    shared.reporter(&extension).fault(code, message.as_str());
    ExtensionFault { extension, code: code.as_str().to_owned(), message }
}

fn start_one(
    shared: &Arc<Shared>,
    spec: ExtensionSpec,
    connection: Option<Connection>,
    begin: Begin,
) -> Arc<Entry> {
    let (config, spec) = (&shared.config, Arc::new(spec));
    let stays = connection.is_some();
    let files = !stays && spec.launch == Launch::ThemeOnly;
    let stand_in = stand_in(shared, &spec).filter(|_| begin == Begin::AsDeclared && !stays);
    let waits = stand_in.is_some();
    stand_in.iter().for_each(|offers| shared.pump.watch(&EventFilter::of(offers)));
    let backlog = stand_in.as_ref().map(|_| Arc::new(Backlog::new(&config.limits)));
    let stage = match (files, waits) {
        (true, _) => Stage::Files,
        (false, true) => Stage::Idle,
        (false, false) => Stage::NEW,
    };
    let (orders, inbox) = mpsc::unbounded();
    let (sender, slot) = watch::channel(Slot { stage, instance: None, stand_in });
    if !files {
        let supervisor = Supervisor::new(&config.timeouts, &config.limits, !stays, random());
        let keeper = Box::new(Keeper {
            shared: Arc::clone(shared),
            spec: Arc::clone(&spec),
            orders: inbox,
            slot: sender,
            supervisor: Arc::new(Mutex::new(supervisor)),
            log: OnceLock::new(),
            backlog: backlog.clone(),
        });
        tokio::spawn(keeper.run(connection));
    }
    // Asked once: a start looks at every extension each time that one of them changes.
    let was_silent = !waits && shared.silent.knows(&spec);
    let patience = if was_silent { Duration::ZERO } else { config.timeouts.start_patience };
    let (timeouts, loosened) = (Arc::clone(&shared.timeouts), config.on_timeout_allow.contains(&spec.name));
    Arc::new(Entry {
        spec,
        timeouts,
        loosened,
        patience,
        stays,
        slot,
        orders,
        floor: tokio::sync::Mutex::default(),
        backlog,
        successor: OnceLock::new(),
    })
}

/// The offers that stand in for an extension until its first use; none for one that starts at once, as each does that
/// the command line names or that is required. A declaration that breaks a rule is reported and does not count.
fn stand_in(shared: &Shared, spec: &ExtensionSpec) -> Option<Arc<Offers>> {
    let is_process = matches!(spec.launch, Launch::Process { .. });
    let may_wait = is_process && spec.origin != Origin::Explicit && !spec.roles.required;
    let activation = spec.lifecycle.activation.as_ref().filter(|_| may_wait)?;
    match declared_offers(activation, spec.permissions.as_ref(), &shared.limits) {
        Ok(offers) => Some(Arc::new(offers)),
        Err(why) => {
            let text = format!("manifest: {why}; the extension starts at once");
            shared.reporter(&spec.name).fault(FaultCode::RegisterRejected, text);
            None
        }
    }
}

/// Waits as a start does; not at all when the end has begun. Those that were given up are remembered.
async fn wait_patiently(shared: &Shared, entries: &[Arc<Entry>]) {
    let mut changes = shared.changes.subscribe();
    let mut calm = None;
    let all = async {
        loop {
            // One after the other: looking at all of them at each change would take long where many start.
            for entry in entries {
                entry.until(|stage| progress_of(entry, stage) != Progress::Busy).await;
            }
            changes.mark_unchanged();
            let progress: Vec<_> = entries.iter().map(|entry| progress_of(entry, &entry.stage())).collect();
            let now = Instant::now();
            match patience(&progress, &mut calm, now, shared.config.timeouts.start_margin) {
                Wait::No => return,
                Wait::Until(at) if at <= now => return,
                // Whether time has passed or something has changed: the next round sees.
                Wait::Until(at) => _ = timeout_at(at, changes.changed()).await,
                Wait::ForChange => _ = changes.changed().await,
            }
        }
    };
    shared.closing.run_until_cancelled(all).await;
    for entry in entries {
        let greeted = matches!(entry.stage(), Stage::Starting { greeted: true, .. });
        if let Progress::Slow { .. } = progress_of(entry, &entry.stage())
            && !greeted
        {
            shared.silent.remember(&entry.spec);
        }
    }
}

fn progress_of(entry: &Entry, stage: &Stage) -> Progress {
    let named = entry.spec.roles.required || entry.spec.origin == Origin::Explicit;
    match stage {
        Stage::Starting { since: Some(since), greeted } if !named => {
            let patience = if *greeted { entry.timeouts.start_patience } else { entry.patience };
            Progress::Slow { until: *since + patience }
        }
        Stage::Starting { .. } => Progress::Busy,
        Stage::Running
        | Stage::Restarting(_)
        | Stage::Idle
        | Stage::Stopping
        | Stage::Stopped
        | Stage::Failed(_)
        | Stage::Files => Progress::Settled,
    }
}

/// Waits until each of these is ready or has failed.
pub(super) async fn settled(entries: &[Arc<Entry>]) {
    for entry in entries {
        entry.settled().await;
    }
}

/// The moment at which extensions are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    AsDeclared,
    /// All at once: whoever reloads wants to know that they work.
    AllAtOnce,
}

/// The progress of one extension, as far as a start cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Settled,
    /// It is waited for, or has yet to be started.
    Busy,
    /// It has not said hello, or is not ready, and is waited for until then.
    Slow {
        until: Instant,
    },
}

#[derive(Debug, PartialEq, Eq)]
enum Wait {
    No,
    Until(Instant),
    ForChange,
}

/// Waits for all that must be waited for; for slow ones until their time is up, and a margin longer than for the others.
/// `calm` is since when only slow ones are left.
fn patience(progress: &[Progress], calm: &mut Option<Instant>, now: Instant, margin: Duration) -> Wait {
    if progress.contains(&Progress::Busy) {
        *calm = None;
        return Wait::ForChange;
    }
    let slow = progress.iter().filter_map(|progress| match progress {
        Progress::Slow { until } => Some(*until),
        Progress::Settled | Progress::Busy => None,
    });
    let margin = *calm.get_or_insert(now) + margin;
    slow.max().map_or(Wait::No, |until| Wait::Until(until.max(margin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: Duration = Duration::from_millis(50);

    #[test]
    fn slow_ones_have_their_time_and_the_margin_behind_the_others() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let slow = |ms| Progress::Slow { until: at(ms) };
        let mut calm = None;
        let mut check = |progress: &[Progress], now, expect| {
            assert_eq!(patience(progress, &mut calm, at(now), MARGIN), expect);
        };
        check(&[Progress::Settled], 0, Wait::No);
        check(&[Progress::Busy, slow(1000)], 10, Wait::ForChange);
        check(&[Progress::Settled, slow(1000)], 20, Wait::Until(at(1000)));
        check(&[Progress::Settled, slow(0)], 30, Wait::Until(at(70)));
        check(&[slow(0), slow(90)], 40, Wait::Until(at(90)));
        check(&[Progress::Settled, Progress::Busy], 50, Wait::ForChange);
        check(&[Progress::Settled, slow(0)], 60, Wait::Until(at(110)));
    }
}
