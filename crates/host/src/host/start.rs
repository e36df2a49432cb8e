//! Starts extensions and waits for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::channel::mpsc;
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan};
use haft_protocol::event::ExtensionFault;
use haft_protocol::foreign::ForeignPeer;
use haft_protocol::ids::ExtensionName;
use tokio::sync::watch;
use tokio::time::{Duration, Instant, timeout_at};

use super::DiscoveredExtensions;
use super::active_extensions::ActiveExtensions;
use super::host_state::HostState;
use crate::agent::managed_extension::{ForeignEntry, ManagedExtension};
use crate::extension::backlog::EventBacklog;
use crate::extension::send_queue::event::EventFilter;
use crate::process::connection::Connection;
use crate::session::declared_offers::declared_offers;
use crate::session::ids::random_number;
use crate::session::offers::ExtensionOffers;
use crate::supervision::failures::FailureFile;
use crate::supervision::host_context::HostContext;
use crate::supervision::process_supervisor::ProcessSupervisor;
use crate::supervision::restart_policy::RestartPolicy;
use crate::supervision::slot::{ExtensionSlot, LifecycleStage};
use crate::wire::fault::FaultCode;

/// Starts the streams and all found extensions, and waits for the start.
pub(super) async fn start_first(inner: &HostState, streams: Vec<(ExtensionSpec, Connection)>) {
    let shared = &inner.shared;
    let _turn = inner.turnstile.lock().await;
    let streams = streams.into_iter().map(|(spec, connection)| (spec, Some(connection))).collect();
    let (mut entries, _) = start_all(shared, streams, &[], StartMode::AllAtOnce);
    let found = inner.discover_extensions();
    let blocked = found.blocked.clone();
    let (started, _) = start_found(shared, found, &entries, StartMode::AsDeclared);
    entries.extend(started);
    *inner.set() = ActiveExtensions::new(&shared.config, entries.clone(), blocked);
    wait_for_start(shared, &entries).await;
    inner.activate_names(&entries);
}

/// Starts the found extensions beside the existing ones. Also returns those whose name is taken and that
/// cannot be started.
pub(super) fn start_found(
    shared: &Arc<HostContext>,
    found: DiscoveredExtensions,
    beside: &[Arc<ManagedExtension>],
    begin: StartMode,
) -> (Vec<Arc<ManagedExtension>>, Vec<ExtensionFault>) {
    let specs = found.specs.into_iter().map(|spec| (spec, None)).collect();
    start_all(shared, specs, beside, begin)
}

/// Starts all of these. They do not wait for each other, except at the start gate.
fn start_all(
    shared: &Arc<HostContext>,
    specs: Vec<(ExtensionSpec, Option<Connection>)>,
    beside: &[Arc<ManagedExtension>],
    begin: StartMode,
) -> (Vec<Arc<ManagedExtension>>, Vec<ExtensionFault>) {
    let mut names: HashMap<_, _> =
        beside.iter().map(|entry| (entry.name().clone(), entry.spec.dir.clone())).collect();
    let (mut started, mut faults, run) = (Vec::new(), Vec::new(), run_name());
    for (spec, connection) in specs {
        if let Some(first) = names.get(&spec.name) {
            let message = format!(
                "not started from {}: another extension of this name runs from {}",
                spec.dir.display(),
                first.display()
            );
            faults.push(reject_duplicate(shared, spec.name, message));
            continue;
        }
        names.insert(spec.name.clone(), spec.dir.clone());
        let peer = shared.open_peer(&spec, &run);
        started.push(start_one(shared, spec, peer, connection, begin));
    }
    (started, faults)
}

fn reject_duplicate(shared: &HostContext, extension: ExtensionName, message: String) -> ExtensionFault {
    let code = FaultCode::RegisterRejected;
    shared.reporter(&extension).report_fault(code, message.as_str());
    ExtensionFault::new(extension, code.as_str().to_owned(), message)
}

/// Returns a name that no other run of the program has. Extensions that start together share it.
fn run_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}", since.as_millis())
}

fn start_one(
    shared: &Arc<HostContext>,
    spec: ExtensionSpec,
    peer: Option<Arc<dyn ForeignPeer>>,
    connection: Option<Connection>,
    begin: StartMode,
) -> Arc<ManagedExtension> {
    let (config, spec) = (&shared.config, Arc::new(spec));
    let stays = connection.is_some();
    let files = !stays && spec.launch == LaunchPlan::ThemeOnly;
    let stand_in = stand_in(shared, &spec).filter(|_| begin == StartMode::AsDeclared && !stays);
    let waits = stand_in.is_some();
    let declared = stand_in.iter().map(|offers| EventFilter::from_declaration(&spec.name, offers));
    declared.for_each(|filter| shared.pump.add_watched(&filter));
    let backlog = stand_in.as_ref().map(|_| Arc::new(EventBacklog::new(&config.limits)));
    let stage = match (files, waits) {
        (true, _) => LifecycleStage::Files,
        (false, true) => LifecycleStage::Idle,
        (false, false) => LifecycleStage::NEW,
    };
    let (orders, inbox) = mpsc::unbounded();
    let (sender, slot) = watch::channel(ExtensionSlot { stage, instance: None, stand_in });
    if !files {
        let supervisor = RestartPolicy::new(&config.timeouts, &config.limits, !stays, random_number());
        let keeper = Box::new(ProcessSupervisor {
            shared: Arc::clone(shared),
            spec: Arc::clone(&spec),
            peer: peer.clone(),
            orders: inbox,
            slot: sender,
            restart_policy: Arc::new(Mutex::new(supervisor)),
            log: OnceLock::new(),
            backlog: backlog.clone(),
        });
        tokio::spawn(keeper.run(connection));
    }
    // Computed once: a start checks every extension each time one of them changes.
    let was_silent = !waits && shared.silent.contains(&spec);
    let patience = if was_silent { Duration::ZERO } else { config.timeouts.start_patience };
    let loosened = config.on_timeout_allow.contains(&spec.name)
        || spec.as_hook().is_some_and(|hook| hook.on_timeout_allow);
    let foreign = peer.map(|peer| ForeignEntry {
        reporter: shared.reporter_of(&spec.name, Some(&peer)),
        failures: FailureFile::new(Arc::clone(&shared.state), Arc::clone(&spec)),
        query_lock: tokio::sync::Mutex::default(),
        peer,
    });
    let timeouts = Arc::clone(&shared.timeouts);
    Arc::new(ManagedExtension {
        spec,
        timeouts,
        allow_on_timeout: loosened,
        hello_wait: patience,
        survives_reload: stays,
        slot,
        orders,
        foreign,
        backlog,
        successor: OnceLock::new(),
    })
}

/// Returns the declared offers of an extension until its first use. Returns `None` for an extension that
/// starts immediately, such as a required one or one from the command line. An invalid declaration is
/// reported and ignored.
fn stand_in(shared: &HostContext, spec: &ExtensionSpec) -> Option<Arc<ExtensionOffers>> {
    let is_process = matches!(spec.launch, LaunchPlan::Process { .. });
    let may_wait = is_process && spec.origin != ExtensionOrigin::Explicit && !spec.roles.required;
    let activation = spec.lifecycle.activation.as_ref().filter(|_| may_wait)?;
    match declared_offers(activation, spec.permissions.as_ref(), &shared.limits) {
        Ok(offers) => Some(Arc::new(offers)),
        Err(why) => {
            let text =
                format!("manifest: {why}; the declaration is ignored, and the extension starts immediately");
            shared.reporter(&spec.name).report_fault(FaultCode::RegisterRejected, text);
            None
        }
    }
}

/// Waits for the start, but not once the shutdown has begun. Remembers the extensions that were too slow.
async fn wait_for_start(shared: &HostContext, entries: &[Arc<ManagedExtension>]) {
    let mut changes = shared.changes.subscribe();
    let mut calm = None;
    let all = async {
        loop {
            // One after the other: checking all of them at each change would be slow with many extensions.
            for entry in entries {
                entry.wait_for_stage(|stage| progress_of(entry, stage) != StartProgress::Busy).await;
            }
            changes.mark_unchanged();
            let progress: Vec<_> = entries.iter().map(|entry| progress_of(entry, &entry.stage())).collect();
            let now = Instant::now();
            match next_wait(&progress, &mut calm, now, shared.config.timeouts.start_margin) {
                StartWait::No => return,
                StartWait::Until(at) if at <= now => return,
                // The next round checks whether the time is over or the state has changed.
                StartWait::Until(at) => _ = timeout_at(at, changes.changed()).await,
                StartWait::ForChange => _ = changes.changed().await,
            }
        }
    };
    shared.closing.run_until_cancelled(all).await;
    for entry in entries {
        let greeted = matches!(entry.stage(), LifecycleStage::Starting { greeted: true, .. });
        if let StartProgress::Slow { .. } = progress_of(entry, &entry.stage())
            && !greeted
        {
            shared.silent.remember(&entry.spec);
        }
    }
}

fn progress_of(entry: &ManagedExtension, stage: &LifecycleStage) -> StartProgress {
    let named = entry.spec.roles.required || entry.spec.origin == ExtensionOrigin::Explicit;
    match stage {
        LifecycleStage::Starting { since: Some(since), greeted } if !named => {
            let patience = if *greeted { entry.timeouts.start_patience } else { entry.hello_wait };
            StartProgress::Slow { until: *since + patience }
        }
        LifecycleStage::Starting { .. } => StartProgress::Busy,
        LifecycleStage::Running
        | LifecycleStage::Restarting(_)
        | LifecycleStage::Idle
        | LifecycleStage::Stopping
        | LifecycleStage::Stopped
        | LifecycleStage::Failed(_)
        | LifecycleStage::Files => StartProgress::Settled,
    }
}

/// Waits until each of these is ready or has failed.
pub(super) async fn wait_until_settled(entries: &[Arc<ManagedExtension>]) {
    for entry in entries {
        entry.wait_until_settled().await;
    }
}

/// The moment at which extensions are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartMode {
    AsDeclared,
    /// All immediately, so that a reload shows whether they work.
    AllAtOnce,
}

/// The progress of one extension, as far as it matters to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartProgress {
    Settled,
    /// The start waits for the extension, or the extension has yet to be started.
    Busy,
    /// The extension has sent no hello or is not ready; the start waits until this time.
    Slow {
        until: Instant,
    },
}

#[derive(Debug, PartialEq, Eq)]
enum StartWait {
    No,
    Until(Instant),
    ForChange,
}

/// Returns the next wait. The start waits for all required extensions. It waits for slow ones until their
/// time is over, and a margin longer than for the others. `calm` is the time since which only slow ones are
/// left.
fn next_wait(
    progress: &[StartProgress],
    calm: &mut Option<Instant>,
    now: Instant,
    margin: Duration,
) -> StartWait {
    if progress.contains(&StartProgress::Busy) {
        *calm = None;
        return StartWait::ForChange;
    }
    let slow = progress.iter().filter_map(|progress| match progress {
        StartProgress::Slow { until } => Some(*until),
        StartProgress::Settled | StartProgress::Busy => None,
    });
    let margin = *calm.get_or_insert(now) + margin;
    slow.max().map_or(StartWait::No, |until| StartWait::Until(until.max(margin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: Duration = Duration::from_millis(50);

    #[test]
    fn waits_for_slow_extensions_until_margin() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let slow = |ms| StartProgress::Slow { until: at(ms) };
        let mut calm = None;
        let mut check = |progress: &[StartProgress], now, expect| {
            assert_eq!(next_wait(progress, &mut calm, at(now), MARGIN), expect);
        };
        check(&[StartProgress::Settled], 0, StartWait::No);
        check(&[StartProgress::Busy, slow(1000)], 10, StartWait::ForChange);
        check(&[StartProgress::Settled, slow(1000)], 20, StartWait::Until(at(1000)));
        check(&[StartProgress::Settled, slow(0)], 30, StartWait::Until(at(70)));
        check(&[slow(0), slow(90)], 40, StartWait::Until(at(90)));
        check(&[StartProgress::Settled, StartProgress::Busy], 50, StartWait::ForChange);
        check(&[StartProgress::Settled, slow(0)], 60, StartWait::Until(at(110)));
    }
}
