//! Reload: new extensions beside the old ones, and then in their place.

use std::sync::Arc;

use haft_protocol::defence::{Defence, is_up};
use haft_protocol::event::ExtensionFault;

use super::inner::Inner;
use super::set::Set;
use super::start::{Begin, settled, start_found};
use crate::agent::entry::Entry;
use crate::extension::Extension;
use crate::session::ExtensionState;
use crate::supervision::slot::Stage;
use crate::wire::fault::{Failure, FaultCode};

/// The outcome of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadStats {
    /// Extensions that ran before and were stopped: replaced, or not there any more.
    pub stopped: usize,
    /// Extensions that were found and started, or only bring files.
    pub loaded: usize,
    /// Of those, the ones that are ready.
    pub ready: usize,
    /// Extensions that go on as they were, because what is there now does not work.
    pub kept: usize,
    /// The failures; each was reported as an event, too.
    pub errors: Vec<ExtensionFault>,
}

/// The extensions after a reload, and those that leave.
#[derive(Debug, Default)]
struct Plan {
    entries: Vec<Arc<Entry>>,
    new: Vec<Arc<Entry>>,
    leaving: Vec<Arc<Entry>>,
    kept: usize,
    /// Why no tool may run, if so.
    blocked: Option<String>,
}

pub(super) async fn reload(inner: &Inner) -> ReloadStats {
    let _turn = match is_up(Defence::OneReload) {
        true => Some(inner.turnstile.lock().await),
        false => None,
    };
    if inner.shared.closing.is_cancelled() {
        return ReloadStats::default();
    }
    let (streams, old): (Vec<_>, Vec<_>) = inner.set().entries.iter().cloned().partition(|entry| entry.stays);
    inner.pins.forget();
    inner.completing.forget(None);
    let found = inner.look();
    let (unreadable, blocked) = (found.faults.clone(), found.blocked.clone());
    let (started, mut errors) = start_found(&inner.shared, found, &streams, Begin::AllAtOnce);
    settled(&started).await;
    if inner.shared.closing.is_cancelled() {
        gone(&started).await;
        return ReloadStats::default();
    }
    errors.extend(unreadable.iter().cloned());
    errors.extend(started.iter().filter_map(failure));
    let stats = ReloadStats {
        stopped: 0,
        loaded: started.iter().filter(|entry| was_started(entry)).count(),
        ready: started.iter().filter(|entry| entry.state() == ExtensionState::Ready).count(),
        kept: 0,
        errors,
    };
    let plan = Plan { blocked, ..Plan::new(old, started, &unreadable) };
    ReloadStats { kept: plan.kept, stopped: put_in_place(inner, plan, streams).await, ..stats }
}

/// Puts the new set in place and waits until those that leave are gone. Returns how many of them ran.
async fn put_in_place(inner: &Inner, plan: Plan, streams: Vec<Arc<Entry>>) -> usize {
    let Plan { entries, new, leaving, blocked, .. } = plan;
    let entries = streams.into_iter().chain(entries).collect();
    swap(inner, Set::new(&inner.shared.config, entries, blocked), &new, &leaving);
    inner.announce(&new);
    let ran = leaving.iter().filter(|entry| is_alive(entry)).count();
    leaving.iter().for_each(|entry| entry.retire());
    gone(&leaving).await;
    ran
}

/// From here on the new ones are asked, also by whoever holds an old one.
fn swap(inner: &Inner, all: Set, new: &[Arc<Entry>], leaving: &[Arc<Entry>]) {
    let mut set = inner.set();
    *set = all;
    for old in leaving {
        if let Some(next) = new.iter().find(|next| next.name() == old.name()) {
            // Nobody else sets it: an entry leaves once.
            _ = old.successor.set(Arc::clone(next));
        }
    }
}

impl Plan {
    fn new(old: Vec<Arc<Entry>>, started: Vec<Arc<Entry>>, unreadable: &[ExtensionFault]) -> Self {
        let stays = is_up(Defence::OldStays);
        let mut plan = Self::default();
        for new in started {
            let before = old.iter().find(|old| old.name() == new.name());
            match before {
                // What does not run is not worth keeping: the newer failure says more.
                Some(before) if stays && !is_ready(&new) && goes_on(before) => {
                    plan.keep(before);
                    plan.leaving.push(new);
                }
                Some(_) | None => {
                    plan.entries.push(Arc::clone(&new));
                    plan.new.push(new);
                }
            }
        }
        for old in old {
            let is_there = |entry: &Arc<Entry>| entry.name() == old.name();
            if plan.entries.iter().any(|entry| Arc::ptr_eq(entry, &old)) {
                continue;
            }
            let broken = stays && unreadable.iter().any(|fault| old.is_called(&fault.extension));
            if broken && !plan.entries.iter().any(is_there) {
                plan.keep(&old);
            } else {
                plan.leaving.push(old);
            }
        }
        plan
    }

    fn keep(&mut self, entry: &Arc<Entry>) {
        self.entries.push(Arc::clone(entry));
        self.kept += 1;
    }
}

async fn gone(entries: &[Arc<Entry>]) {
    for entry in entries {
        entry.gone().await;
    }
}

fn is_ready(entry: &Entry) -> bool {
    entry.state() == ExtensionState::Ready || entry.stage() == Stage::Idle
}

/// True if it works, or will again by itself.
fn goes_on(entry: &Entry) -> bool {
    let greeted = |extension: Extension| extension.snapshot().greeted && extension.snapshot().is_alive();
    matches!(entry.stage(), Stage::Idle | Stage::Restarting(_)) || entry.extension().is_some_and(greeted)
}

fn is_alive(entry: &Entry) -> bool {
    entry.extension().is_some_and(|extension| extension.snapshot().is_alive())
}

fn was_started(entry: &Entry) -> bool {
    !matches!(
        entry.stage(),
        Stage::Failed(Failure { code: FaultCode::SpawnFailed | FaultCode::PinMismatch, .. })
    )
}

fn failure(entry: &Arc<Entry>) -> Option<ExtensionFault> {
    let (Stage::Failed(failure) | Stage::Restarting(failure)) = entry.stage() else { return None };
    let Failure { code, message } = failure;
    Some(ExtensionFault { extension: entry.name().clone(), code: code.as_str().to_owned(), message })
}
