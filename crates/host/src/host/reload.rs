//! Reload: starts new extensions beside the old ones, and then replaces the old ones.

use std::sync::Arc;

use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::ExtensionFault;
use haft_protocol::ext::{InterceptKind, SessionShutdownReason};
use haft_protocol::ids::ExtensionName;

use super::active_extensions::ActiveExtensions;
use super::host_state::HostState;
use super::start::{StartMode, start_found, wait_until_settled};
use crate::agent::managed_extension::ManagedExtension;
use crate::agent::wait_points::announce_shutdown;
use crate::extension::ExtensionHandle;
use crate::session::ExtensionState;
use crate::supervision::slot::LifecycleStage;
use crate::wire::fault::{ExtensionFailure, FaultCode};

/// The outcome of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReloadStats {
    /// Extensions that ran before and were stopped: replaced or no longer found.
    pub stopped: usize,
    /// Extensions that were found and started, or only provide files.
    pub loaded: usize,
    /// The number of loaded extensions that are ready.
    pub ready: usize,
    /// Extensions that were kept unchanged, because their new version does not work.
    pub kept: usize,
    /// The failures, each of which was also reported as an event.
    pub errors: Vec<ExtensionFault>,
}

/// The extensions after a reload, and those that leave.
#[derive(Debug, Default)]
struct ReloadPlan {
    entries: Vec<Arc<ManagedExtension>>,
    new: Vec<Arc<ManagedExtension>>,
    leaving: Vec<Arc<ManagedExtension>>,
    kept: usize,
    /// Required extensions that were not found, or no longer with their gates. The old ones stay.
    lost: Vec<ExtensionName>,
    /// The reason why all tools are blocked, if so.
    blocked: Option<String>,
}

pub(super) async fn reload(inner: &HostState) -> ReloadStats {
    let _turn = match is_up(Defense::OneReload) {
        true => Some(inner.turnstile.lock().await),
        false => None,
    };
    if inner.shared.closing.is_cancelled() {
        return ReloadStats::default();
    }
    let (streams, old): (Vec<_>, Vec<_>) =
        inner.set().entries.iter().cloned().partition(|entry| entry.survives_reload);
    inner.pins.clear_cache();
    inner.completing.reset(None);
    let found = inner.discover_extensions();
    let (unreadable, blocked) = (found.faults.clone(), found.blocked.clone());
    let (started, mut errors) = start_found(&inner.shared, found, &streams, StartMode::AllAtOnce);
    wait_until_settled(&started).await;
    if inner.shared.closing.is_cancelled() {
        wait_until_gone(&started).await;
        return ReloadStats::default();
    }
    errors.extend(unreadable.iter().cloned());
    errors.extend(started.iter().filter_map(start_failure));
    let plan = ReloadPlan { blocked, ..ReloadPlan::new(old, started.clone(), &unreadable) };
    errors.extend(plan.lost.iter().map(|name| report_lost(inner, name)));
    let stats = ReloadStats {
        stopped: 0,
        loaded: started.iter().filter(|entry| was_started(entry)).count(),
        ready: started.iter().filter(|entry| entry.state() == ExtensionState::Ready).count(),
        kept: 0,
        errors,
    };
    ReloadStats { kept: plan.kept, stopped: install_plan(inner, plan, streams).await, ..stats }
}

/// Installs the new set and waits until the leaving extensions have ended. Returns the number of those that
/// ran.
async fn install_plan(inner: &HostState, plan: ReloadPlan, streams: Vec<Arc<ManagedExtension>>) -> usize {
    let ReloadPlan { entries, new, leaving, blocked, .. } = plan;
    let entries = streams.into_iter().chain(entries).collect();
    replace_set(inner, ActiveExtensions::new(&inner.shared.config, entries, blocked), &new, &leaving);
    inner.activate_names(&new);
    let ran = leaving.iter().filter(|entry| is_alive(entry)).count();
    announce_shutdown(&leaving, SessionShutdownReason::Reload).await;
    leaving.iter().for_each(|entry| entry.retire());
    wait_until_gone(&leaving).await;
    ran
}

/// Directs all queries to the new extensions, also those of callers that hold an old entry.
fn replace_set(
    inner: &HostState,
    all: ActiveExtensions,
    new: &[Arc<ManagedExtension>],
    leaving: &[Arc<ManagedExtension>],
) {
    let mut set = inner.set();
    *set = all;
    for old in leaving {
        if let Some(next) = new.iter().find(|next| next.name() == old.name()) {
            // This is the only place that sets it: an entry leaves once.
            _ = old.successor.set(Arc::clone(next));
        }
    }
}

impl ReloadPlan {
    fn new(
        old: Vec<Arc<ManagedExtension>>,
        started: Vec<Arc<ManagedExtension>>,
        unreadable: &[ExtensionFault],
    ) -> Self {
        let stays = is_up(Defense::OldStays);
        let mut plan = Self::default();
        for new in started {
            let before = old.iter().find(|old| old.name() == new.name());
            match before {
                Some(before) if drops_gate(before, &new) => {
                    plan.hold_extension(before);
                    plan.leaving.push(new);
                }
                // An extension that does not run is not worth keeping: the newer failure is more useful.
                Some(before) if stays && !is_ready(&new) && keeps_working(before) => {
                    plan.keep_extension(before);
                    plan.leaving.push(new);
                }
                Some(_) | None => {
                    plan.entries.push(Arc::clone(&new));
                    plan.new.push(new);
                }
            }
        }
        for old in old {
            let is_there = |entry: &Arc<ManagedExtension>| entry.name() == old.name();
            if plan.entries.iter().any(|entry| Arc::ptr_eq(entry, &old)) {
                continue;
            }
            let broken = stays && unreadable.iter().any(|fault| old.has_name(&fault.extension));
            let is_missing = !plan.entries.iter().any(is_there);
            if is_missing && broken {
                plan.keep_extension(&old);
            } else if is_missing && old.spec.roles.required && is_up(Defense::RequiredGates) {
                plan.hold_extension(&old);
            } else {
                plan.leaving.push(old);
            }
        }
        plan
    }

    /// Keeps a required extension that the reload would drop. Otherwise, a program that removes the extension would
    /// remove a gate.
    fn hold_extension(&mut self, entry: &Arc<ManagedExtension>) {
        self.lost.push(entry.name().clone());
        self.keep_extension(entry);
    }

    fn keep_extension(&mut self, entry: &Arc<ManagedExtension>) {
        self.entries.push(Arc::clone(entry));
        self.kept += 1;
    }
}

/// True if an extension was required for a hook, and its new version is not.
fn drops_gate(before: &ManagedExtension, new: &ManagedExtension) -> bool {
    let (before, new) = (&before.spec.roles, &new.spec.roles);
    let mut hooks = InterceptKind::ALL.iter();
    is_up(Defense::RequiredGates)
        && hooks.any(|hook| before.requires_hook(*hook) && !new.requires_hook(*hook))
}

fn report_lost(inner: &HostState, name: &ExtensionName) -> ExtensionFault {
    let code = FaultCode::RequiredMissing;
    let message = "is required and was kept, because the reload did not find it, or not as required for the same \
                   actions; end haft and start it again to work without it";
    inner.shared.reporter(name).report_fault(code, message);
    ExtensionFault::new(name.clone(), code.as_str().to_owned(), message.to_owned())
}

async fn wait_until_gone(entries: &[Arc<ManagedExtension>]) {
    for entry in entries {
        entry.wait_until_gone().await;
    }
}

fn is_ready(entry: &ManagedExtension) -> bool {
    entry.state() == ExtensionState::Ready || entry.stage() == LifecycleStage::Idle
}

/// True if the extension works or will be restarted automatically.
fn keeps_working(entry: &ManagedExtension) -> bool {
    let greeted =
        |extension: ExtensionHandle| extension.snapshot().greeted && extension.snapshot().is_alive();
    matches!(entry.stage(), LifecycleStage::Idle | LifecycleStage::Restarting(_))
        || entry.handle().is_some_and(greeted)
}

fn is_alive(entry: &ManagedExtension) -> bool {
    entry.handle().is_some_and(|extension| extension.snapshot().is_alive())
}

fn was_started(entry: &ManagedExtension) -> bool {
    !matches!(
        entry.stage(),
        LifecycleStage::Failed(ExtensionFailure {
            code: FaultCode::SpawnFailed | FaultCode::PinMismatch,
            ..
        })
    )
}

fn start_failure(entry: &Arc<ManagedExtension>) -> Option<ExtensionFault> {
    let (LifecycleStage::Failed(failure) | LifecycleStage::Restarting(failure)) = entry.stage() else {
        return None;
    };
    let ExtensionFailure { code, message } = failure;
    Some(ExtensionFault::new(entry.name().clone(), code.as_str().to_owned(), message))
}
