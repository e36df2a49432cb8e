//! What extensions registered when they last ran. One that nobody needs yet is not started: what it registered then
//! stands in for it, as long as its files are the same and nothing else has changed that it is told.
//!
//! Everything here is a shortcut: without a file, or with one that cannot be read, all extensions are started.

mod difference;
mod file;
mod record;
mod stamp;

use std::collections::HashMap;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use haft_packages::hash::{Fnv, fnv};
use haft_packages::{ExtensionSpec, Launch, Lazy, Origin};
use haft_protocol::ext::{InterceptKind, Limits, PROTOCOL_VERSION};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::session::offers::Offers;
use crate::supervision::config::HostConfig;
use file::{File, Line};
pub(crate) use record::Mark;
use record::{Owner, Record};
use stamp::{Glances, Stamp};

/// The registrations of one host. Without a directory for its state it has none.
#[derive(Debug)]
pub(crate) struct Registrations {
    store: Option<Arc<Store>>,
}

/// What was written down when the host started.
#[derive(Debug, Default)]
pub(crate) struct Remembered(Option<String>);

/// The same, to look things up.
#[derive(Debug, Default)]
pub(crate) struct Lookup<'a> {
    lines: HashMap<&'a str, &'a str>,
    glances: Glances,
}

/// What is remembered of one extension, and will be.
#[derive(Debug)]
pub(crate) struct Memory {
    store: Arc<Store>,
    spec: Arc<ExtensionSpec>,
    id: u64,
    owner: Owner,
    /// What it registered last, if that still holds, and why it is started at once.
    known: Option<(Arc<Offers>, Option<Mark>)>,
    /// When the process of the moment was started.
    started: Option<(Instant, SystemTime)>,
    /// What that had registered when it was ready.
    registered: Option<Arc<Offers>>,
    /// A start that takes longer is slow.
    longest: Duration,
}

#[derive(Debug)]
struct Store {
    file: File,
    pending: Mutex<Pending>,
}

/// What is to be written down.
#[derive(Debug, Default)]
struct Pending {
    /// Many start at once: nothing is written before all have.
    open: bool,
    seen: Vec<Seen>,
    writer: Option<JoinHandle<()>>,
}

/// A registration.
#[derive(Debug)]
struct Seen {
    id: u64,
    owner: Owner,
    spec: Arc<ExtensionSpec>,
    offers: Arc<Offers>,
    mark: Option<Mark>,
    /// When its process was started.
    since: SystemTime,
}

impl Registrations {
    pub(crate) fn new(config: &HostConfig) -> Self {
        let dir = config.state.as_deref().filter(|_| config.lazy);
        let store = dir.map(|dir| {
            let header = header(config);
            let file = File::new(dir, fnv(header.as_bytes()), header);
            Arc::new(Store { file, pending: Mutex::default() })
        });
        Self { store }
    }

    /// Reads what was written down.
    pub(crate) fn read(&self) -> Remembered {
        Remembered(self.store.as_ref().and_then(|store| store.file.read()))
    }

    /// What is known of an extension; nothing when it is always started and nothing of it is written down.
    pub(crate) fn recall(
        &self,
        spec: &Arc<ExtensionSpec>,
        config: &HostConfig,
        limits: &Arc<Limits>,
        lookup: &Lookup<'_>,
    ) -> Option<Memory> {
        let store = self.store.as_ref().filter(|_| may_wait(spec))?;
        let cwd = (spec.lifecycle.lazy == Lazy::InSameDirectory).then(|| config.cwd.clone());
        let owner = Owner { name: spec.name.clone(), dir: spec.dir.clone(), cwd };
        let id = id(spec, config, &owner);
        let known = lookup.find(id, &owner, limits).filter(|record| {
            // What is started in any case need not be compared.
            needs_start(&record.offers) || record.stamp.holds(spec, &lookup.glances)
        });
        Some(Memory {
            store: Arc::clone(store),
            spec: Arc::clone(spec),
            id,
            owner,
            known: known.map(|record| (Arc::new(record.offers), record.mark)),
            started: None,
            registered: None,
            longest: config.timeouts.lazy_start,
        })
    }

    /// A start is over: what it brought is written down, and from now on whatever comes.
    pub(crate) fn open(&self) {
        if let Some(store) = &self.store {
            store.pending().open = true;
            store.write_behind();
        }
    }

    /// Waits until everything is written down.
    pub(crate) async fn written(&self) {
        let Some(store) = &self.store else { return };
        loop {
            let writer = store.pending().writer.take();
            // One that was stopped has written nothing, and nothing can be done about it.
            let Some(writer) = writer else { return };
            _ = writer.await;
            store.write_behind();
        }
    }
}

impl Remembered {
    pub(crate) fn lookup(&self) -> Lookup<'_> {
        Lookup { lines: self.0.as_deref().map(file::index).unwrap_or_default(), glances: Glances::default() }
    }
}

impl Lookup<'_> {
    fn find(&self, id: u64, owner: &Owner, limits: &Arc<Limits>) -> Option<Record> {
        let json = self.lines.get(format!("{id:016x}").as_str())?;
        let mut record: Record = serde_json::from_str(json).ok()?;
        record.offers.limits = Arc::clone(limits);
        (record.owner == *owner).then_some(record)
    }
}

impl Memory {
    /// What stands in for the extension until it is needed; nothing when it has to be started.
    pub(crate) fn stand_in(&self) -> Option<Arc<Offers>> {
        let (offers, mark) = self.known.as_ref()?;
        (mark.is_none() && !needs_start(offers)).then(|| Arc::clone(offers))
    }

    /// A process is being started.
    pub(crate) fn started(&mut self) {
        self.started = Some((Instant::now(), SystemTime::now()));
        self.registered = None;
    }

    /// It is ready.
    pub(crate) fn ready(&mut self, offers: &Arc<Offers>) {
        self.registered = Some(Arc::clone(offers));
        let slow = self.started.is_some_and(|(at, _)| at.elapsed() > self.longest);
        let mark = slow.then_some(Mark::Slow);
        let as_before = self.known.as_ref().is_some_and(|(known, before)| {
            let same_mark = *before == mark || *before == Some(Mark::Late);
            difference::is_same(known, offers) && (same_mark || needs_start(known))
        });
        if !as_before {
            self.remember(Arc::clone(offers), mark);
        }
    }

    /// Its process is gone.
    pub(crate) fn ended(&mut self, offers: &Arc<Offers>) {
        let Some(registered) = self.registered.take() else { return };
        if !difference::is_same(&registered, offers) {
            self.remember(registered, Some(Mark::Late));
        }
    }

    fn remember(&mut self, offers: Arc<Offers>, mark: Option<Mark>) {
        let Some((_, since)) = self.started else { return };
        self.known = Some((Arc::clone(&offers), mark));
        let (owner, spec) = (self.owner.clone(), Arc::clone(&self.spec));
        self.store.pending().seen.push(Seen { id: self.id, owner, spec, offers, mark, since });
        self.store.write_behind();
    }
}

/// What is different in what an extension registered now, in words; nothing when it is the same as what stood in.
pub(crate) fn difference(stood_in: &Offers, now: &Offers) -> Option<String> {
    (!difference::is_same(stood_in, now)).then(|| difference::described(stood_in, now))
}

impl Store {
    /// Writes on a thread of its own, if there is anything to write and none does it already.
    fn write_behind(self: &Arc<Self>) {
        let mut pending = self.pending();
        let writes = pending.writer.as_ref().is_some_and(|writer| !writer.is_finished());
        if pending.open && !writes && !pending.seen.is_empty() {
            // Outside of a runtime nobody can be started, and nobody has anything to say.
            let Ok(runtime) = Handle::try_current() else { return };
            let store = Arc::clone(self);
            pending.writer = Some(runtime.spawn_blocking(move || store.write()));
        }
    }

    fn write(&self) {
        loop {
            let seen = std::mem::take(&mut self.pending().seen);
            if seen.is_empty() {
                return;
            }
            let lines: Vec<Line> = seen.into_iter().filter_map(Seen::line).collect();
            if let Err(error) = self.file.add(&lines) {
                let path = self.file.path.display();
                tracing::warn!(%path, %error, "registrations of extensions cannot be remembered");
            }
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// As it is written down; nothing when it may come from other files than those that are there now.
    fn line(self) -> Option<Line> {
        let stamp = Stamp::take(&self.spec)?;
        if !stamp.is_older_than(self.since) {
            return None;
        }
        let offers = Arc::unwrap_or_clone(self.offers);
        Some(Line { id: self.id, record: Record { owner: self.owner, stamp, mark: self.mark, offers } })
    }
}

/// Whether an extension may wait for its first use at all. Whoever names one on the command line, or relies on one that
/// is required, wants to know at the start that it works.
fn may_wait(spec: &ExtensionSpec) -> bool {
    matches!(spec.launch, Launch::Process { .. })
        && spec.lifecycle.lazy != Lazy::Never
        && spec.origin != Origin::Explicit
        && !spec.roles.required
}

/// Whether an extension that registered this would be started at the beginning of every session anyway, and had better
/// be started beside the others than one after the other.
fn needs_start(offers: &Offers) -> bool {
    let asked_always = offers.intercepts.iter().any(|hook| *hook != InterceptKind::ToolCall);
    asked_always || offers.events.contains("session_start")
}

/// What all extensions are told, and so may decide by what they register.
fn header(config: &HostConfig) -> String {
    let HostConfig { version, model, env, limits, .. } = config;
    let set: Vec<_> = env.set.iter().map(|(name, _)| name).collect();
    let all = (PROTOCOL_VERSION, version, &model.provider, &model.model, set, limits);
    format!("haft registrations 1 {all:?}").replace('\n', " ")
}

/// The number of an extension: another one when it is started otherwise.
fn id(spec: &ExtensionSpec, config: &HostConfig, owner: &Owner) -> u64 {
    let granted = config.env_of(spec);
    // Only their hash is written down.
    let env: Vec<_> = granted.map(|name| (name, std::env::var_os(name))).collect();
    let mut hash = Fnv::default();
    (owner, &spec.launch, env, config.config_of(spec)).hash(&mut hash);
    // What it could read, and whom it could ask, may decide what it registered. Those without have the number they had.
    if let Some(level) = config.level_of(spec) {
        match config.sandbox.get(&spec.name).and_then(Option::as_ref) {
            Some(grant) => grant.hash(&mut hash),
            None => level.hash(&mut hash),
        }
    }
    // What was left out of a registration under another grant is missing in it, and what was not is too much.
    if let Some(granted) = &spec.permissions {
        granted.hash(&mut hash);
    }
    hash.finish()
}
