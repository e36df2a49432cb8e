//! `SessionMirror`: the session of a host, for the extensions that have a copy of it.
//!
//! Changes are not sent one by one: a queue takes the frames for its extension when it has room, and always before
//! a line that must arrive. So an extension that reads slowly gets fewer and larger frames, and nothing accumulates
//! for it.

mod agent_state;
mod log;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use haft_core::ExtensionToolRunner;
use haft_core::session::{Session, SessionChange, SessionWatcher};
use haft_protocol::ext::{Limits, MirrorPart};

use crate::extension::send_queue::pump::{EventPump, PumpTask};
use crate::session::mirror_parts::MirrorParts;
use log::MirrorLog;
pub(crate) use log::MirrorPlace;

/// The send queue of an extension with a mirror.
pub(crate) trait MirrorFollower: Send + Sync {
    /// Takes new frames as far as there is room for them.
    fn follow_up(self: Arc<Self>);
}

/// The session of a host, for mirrors.
pub(crate) struct SessionMirror {
    pump: Arc<EventPump>,
    log: Mutex<MirrorLog>,
    sources: Mutex<MirrorSources>,
    followers: Mutex<Vec<Weak<dyn MirrorFollower>>>,
    /// True if the pump will update the mirrors.
    is_scheduled: AtomicBool,
    /// True if extensions have mirrors.
    is_followed: AtomicBool,
    /// This mirror, for the pump.
    own: Weak<Self>,
}

/// The origins of the content.
#[derive(Default)]
struct MirrorSources {
    agent: Option<ExtensionToolRunner>,
    session: Option<Session>,
    /// Watches the session; `None` without followers.
    notifier: Option<Arc<ChangeNotifier>>,
    /// Records the entries of the session; `None` if no extension mirrors them.
    recorder: Option<Arc<EntryRecorder>>,
    /// The parts that extensions mirror.
    wanted: MirrorParts,
}

impl SessionMirror {
    pub(crate) fn new(limits: &Limits, pump: Arc<EventPump>) -> Arc<Self> {
        Arc::new_cyclic(|own| Self {
            pump,
            log: Mutex::new(MirrorLog::new(limits)),
            sources: Mutex::default(),
            followers: Mutex::default(),
            is_scheduled: AtomicBool::new(false),
            is_followed: AtomicBool::new(false),
            own: Weak::clone(own),
        })
    }

    /// Sets the agent whose state is mirrored.
    pub(crate) fn set_agent(&self, agent: ExtensionToolRunner) {
        lock(&self.sources).agent = Some(agent);
        self.schedule_update();
    }

    /// Sets the session that is mirrored.
    pub(crate) fn set_session(&self, session: &Session) {
        let mut sources = lock(&self.sources);
        (sources.notifier, sources.recorder) = (None, None);
        sources.session = Some(session.clone());
        drop(sources);
        self.schedule_update();
    }

    /// Makes the state and the entries of now visible to mirrors, before an event about them is sent. `is_state` is
    /// true for an event that follows a change of the state.
    pub(crate) fn precede_event(&self, is_state: bool) {
        if !self.is_followed.load(Ordering::Acquire) {
            return;
        }
        if is_state {
            self.refresh_content();
            self.schedule_update();
        } else {
            // A new entry has scheduled an update already; a piece of an answer needs none.
            lock(&self.log).publish_changes();
        }
    }

    /// Releases the session, whose mirrors get no more changes.
    pub(crate) fn release_session(&self) {
        let mut sources = lock(&self.sources);
        (sources.session, sources.notifier, sources.recorder) = (None, None, None);
    }

    /// Adds the queue of an extension that mirrors these parts.
    pub(crate) fn add_follower(&self, parts: MirrorParts, follower: Weak<dyn MirrorFollower>) {
        let mut sources = lock(&self.sources);
        sources.wanted = sources.wanted.union_with(parts);
        drop(sources);
        lock(&self.followers).push(follower);
        self.is_followed.store(true, Ordering::Release);
    }

    /// Updates the mirrors soon, if there are any.
    pub(crate) fn schedule_update(&self) {
        if !self.is_followed.load(Ordering::Acquire) || self.is_scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let is_due = self.own.upgrade().is_some_and(|own| self.pump.schedule_task(own));
        if !is_due {
            // No pump runs, so nothing is sent either.
            self.is_scheduled.store(false, Ordering::Release);
        }
    }

    /// Takes the current content of the sources.
    pub(crate) fn refresh_content(&self) {
        // Held to the end, so that an older state never replaces a newer one.
        let mut sources = lock(&self.sources);
        let Some(session) = sources.session.clone() else { return };
        if sources.notifier.is_none() {
            let notifier = Arc::new(ChangeNotifier(Weak::clone(&self.own)));
            session.watch_changes(Arc::downgrade(&notifier) as _);
            sources.notifier = Some(notifier);
        }
        if sources.recorder.is_none() && sources.wanted.contains(MirrorPart::Entries) {
            sources.recorder = Some(self.read_entries(&session));
        }
        let state = agent_state::read_state(sources.wanted, sources.agent.as_ref(), &session);
        let mut log = lock(&self.log);
        log.set_state(state);
        log.publish_changes();
    }

    /// Reads the entries of the session and records new ones. To read 4 MB blocks the thread for about 20 ms, once in
    /// a session and only if an extension mirrors the entries.
    fn read_entries(&self, session: &Session) -> Arc<EntryRecorder> {
        let number = lock(&self.log).begin_reading();
        let recorder = Arc::new(EntryRecorder { mirror: Weak::clone(&self.own), number });
        let content = session.watch_changes(Arc::downgrade(&recorder) as _);
        let (header, leaf) = (content.header.clone(), content.leaf);
        let in_memory = content.entries_in_memory().to_vec();
        let entries = content.entries().unwrap_or_else(|error| {
            tracing::warn!(%error, "mirrors have only a part of the session");
            in_memory
        });
        lock(&self.log).finish_reading(&header, leaf, entries);
        recorder
    }

    pub(crate) fn next_frame(&self, place: &mut MirrorPlace) -> Option<Bytes> {
        lock(&self.log).next_frame(place)
    }

    /// Returns the queues that exist, and forgets the others.
    fn living_followers(&self) -> Vec<Arc<dyn MirrorFollower>> {
        let mut followers = lock(&self.followers);
        followers.retain(|follower| follower.strong_count() > 0);
        followers.iter().filter_map(Weak::upgrade).collect()
    }
}

impl PumpTask for SessionMirror {
    fn run_task(&self) {
        self.is_scheduled.store(false, Ordering::Release);
        self.refresh_content();
        self.living_followers().into_iter().for_each(MirrorFollower::follow_up);
        lock(&self.log).forget_frames();
    }
}

/// Records the entries of a session.
struct EntryRecorder {
    mirror: Weak<SessionMirror>,
    /// The number of the session in the log.
    number: u64,
}

impl SessionWatcher for EntryRecorder {
    fn session_changed(&self, change: SessionChange) {
        if let Some(mirror) = self.mirror.upgrade() {
            lock(&mirror.log).add_change(self.number, change);
        }
    }
}

/// Updates the mirrors after each change of a session.
struct ChangeNotifier(Weak<SessionMirror>);

impl SessionWatcher for ChangeNotifier {
    fn session_changed(&self, _: SessionChange) {
        self.0.upgrade().iter().for_each(|mirror| mirror.schedule_update());
    }
}

impl fmt::Debug for SessionMirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionMirror").finish_non_exhaustive()
    }
}

/// After a panic, the content is as complete as before it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
