//! Starting, stopping, and both: the only places where the set of extensions changes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use haft_protocol::event::{AgentEvent, ExtensionFault};
use haft_protocol::ext::{HelloAck, InterceptKind, PROTOCOL_VERSION, capability};
use haft_protocol::ids::ExtensionName;
use tokio::io::{AsyncRead, AsyncWrite};

use super::builder::stream_spec;
use super::{Host, Set, running};
use crate::entry::{Body, Entry};
use crate::extension::{self, Connection, Extension, ExtensionState, Facts, Start};
use crate::fault::FaultCode;
use crate::log::{Log, slug};
use crate::process::Process;
use crate::spec::{ExtensionSpec, Launch};

/// What a reload did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadStats {
    /// Extensions that ran before and were stopped.
    pub stopped: usize,
    /// Extensions that were found and started, or only bring files.
    pub loaded: usize,
    /// Of those, the ones that are ready.
    pub ready: usize,
    /// What went wrong; each was reported as an event, too.
    pub errors: Vec<ExtensionFault>,
}

impl Host {
    /// Stops all extensions, looks for extensions again, starts what is found and waits until it is ready.
    /// Extensions that came as streams stay as they are. Until the new ones are ready, gates of the old ones block; a
    /// gate that does not come up again keeps blocking. After a shutdown nothing happens.
    pub async fn reload(&self) -> ReloadStats {
        let _turn = self.inner.turnstile.lock().await;
        if self.inner.closing.is_cancelled() {
            return ReloadStats::default();
        }
        let (kept, old) = self.partition();
        let stopped = stop(&old).await;
        let (loaded, mut errors) = self.start_found(kept, &old).await;
        let ready = loaded.iter().filter(|entry| entry.state() == ExtensionState::Ready).count();
        errors.extend(loaded.iter().filter_map(failure));
        let loaded = loaded.len() - not_started(&loaded);
        ReloadStats { stopped, loaded, ready, errors }
    }

    /// Stops all extensions at once: each has its time to leave, then is asked by signal, then killed. Events that
    /// were sent before are delivered first. Gates block from here on, for good. What is starting is not waited for.
    pub async fn shutdown(&self) {
        self.inner.closing.cancel();
        let _turn = self.inner.turnstile.lock().await;
        let entries = self.set().entries.clone();
        stop(&entries).await;
    }

    /// Adds an extension at the other end of two streams and waits until it is ready. It stays over a reload.
    pub async fn add_streams(
        &self,
        name: &str,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) {
        let _turn = self.inner.turnstile.lock().await;
        let connection = Connection::Streams(Box::new(reader), Box::new(writer));
        let present = self.set().entries.clone();
        let (added, _) = self.start_all(vec![(stream_spec(name), Some(connection))], &present);
        self.settle(added.iter()).await;
        let added = shared(added);
        self.set().add(added.clone());
        self.announce(&added);
    }

    pub(super) async fn start_first(&self, streams: Vec<(ExtensionSpec, Connection)>) {
        let _turn = self.inner.turnstile.lock().await;
        let streams = streams.into_iter().map(|(spec, connection)| (spec, Some(connection))).collect();
        let (kept, _) = self.start_all(streams, &[]);
        self.start_found(shared(kept), &[]).await;
    }

    /// Starts what the source finds beside what is kept and instead of what is old. Returns the new ones, and what was
    /// not even started.
    async fn start_found(
        &self,
        kept: Vec<Arc<Entry>>,
        old: &[Arc<Entry>],
    ) -> (Vec<Arc<Entry>>, Vec<ExtensionFault>) {
        let found = (self.inner.source)();
        for fault in &found.faults {
            (self.inner.events)(AgentEvent::ExtensionError(fault.clone()));
        }
        let specs = found.specs.into_iter().map(|spec| (spec, None)).collect();
        let (mut started, mut faults) = self.start_all(specs, &kept);
        self.settle(kept.iter().map(Arc::as_ref).chain(&started)).await;
        let missing = inherit(old, &mut started, &found.faults);
        let started = shared(started);
        let entries = kept.into_iter().chain(started.iter().cloned()).chain(missing).collect();
        *self.set() = Set::new(&self.inner.config, entries);
        self.announce(&started);
        faults.extend(found.faults);
        (started, faults)
    }

    /// Waits until each is ready or has failed; not at all when the end has begun.
    async fn settle(&self, entries: impl Iterator<Item = &Entry> + Send) {
        let all = async {
            for extension in entries.filter_map(Entry::extension) {
                extension.settled().await;
            }
        };
        self.inner.closing.run_until_cancelled(all).await;
    }

    /// Starts all of these in one go; nobody waits for anybody.
    fn start_all(
        &self,
        specs: Vec<(ExtensionSpec, Option<Connection>)>,
        beside: &[Arc<Entry>],
    ) -> (Vec<Entry>, Vec<ExtensionFault>) {
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
                let code = FaultCode::RegisterRejected;
                self.reporter(&spec.name).fault(code, message.as_str());
                let code = code.as_str().to_owned();
                faults.push(ExtensionFault { extension: spec.name, code, message });
                continue;
            }
            names.insert(spec.name.clone(), spec.dir.clone());
            started.push(self.start_one(spec, connection));
        }
        (started, faults)
    }

    fn start_one(&self, spec: ExtensionSpec, connection: Option<Connection>) -> Entry {
        let loosened = self.inner.config.on_timeout_allow.contains(&spec.name);
        let stays = connection.is_some();
        let entry = |spec, body| Entry { spec, loosened, stays, body, inherited: BTreeSet::new() };
        let log =
            Arc::new(Log::open(self.inner.config.logs.as_deref(), &spec.name, &self.inner.config.limits));
        let started = match (connection, &spec.launch) {
            (Some(connection), _) => Ok(connection),
            (None, Launch::ThemeOnly) => return entry(spec, Body::Files),
            (None, Launch::Impossible { why }) => Err(why.clone()),
            (None, Launch::Process { program, args }) => {
                Process::start(&spec, program, args, &self.inner.config)
                    .map(|started| Connection::Process(Box::new(started)))
                    .map_err(|error| error.to_string())
            }
        };
        let connection = match started {
            Ok(connection) => connection,
            Err(message) => {
                let code = FaultCode::SpawnFailed;
                log.host(&format!("{code}: {message}"));
                self.reporter(&spec.name).fault(code, message.as_str());
                return entry(spec, Body::NotStarted { code, message });
            }
        };
        let start = Start {
            facts: self.facts(&spec),
            reporter: self.reporter(&spec.name),
            frontend: Arc::clone(&self.inner.frontend),
            log,
            changes: self.inner.changes.clone(),
        };
        entry(spec, Body::Running(extension::start(start, connection)))
    }

    fn facts(&self, spec: &ExtensionSpec) -> Facts {
        let config = &self.inner.config;
        let dir = (!spec.dir.as_os_str().is_empty()).then(|| spec.dir.display().to_string());
        let ack = HelloAck {
            protocol_version: PROTOCOL_VERSION,
            zot_version: config.version.clone(),
            haft_version: Some(config.version.clone()),
            provider: config.model.provider.clone(),
            model: config.model.model.clone(),
            cwd: config.cwd.display().to_string(),
            data_dir: self.data_dir(&spec.name).or_else(|| dir.clone()),
            extension_dir: dir,
            capabilities: vec![
                capability::BEFORE_AGENT_START.to_owned(),
                capability::PANEL_RESIZE.to_owned(),
                capability::PING.to_owned(),
                capability::INTERCEPT_ROLES.to_owned(),
            ],
            limits: Some(Box::new(config.timeouts.announced_in(config.limits))),
        };
        Facts { name: spec.name.clone(), ack, timeouts: config.timeouts, limits: config.limits }
    }

    /// Where an extension keeps its data, made before it is told. None when data has no place of its own.
    fn data_dir(&self, name: &ExtensionName) -> Option<String> {
        let dir = self.inner.config.data.as_ref()?.join(slug(name.as_str()));
        if let Err(error) = std::fs::create_dir_all(&dir) {
            tracing::warn!(extension = %name, dir = %dir.display(), %error, "cannot make the data directory");
        }
        Some(dir.display().to_string())
    }

    /// A new set is in place: claims names in its order, so that the order decides who owns what, and reports
    /// required gates that the new ones in it did not put up.
    fn announce(&self, new: &[Arc<Entry>]) {
        for entry in new.iter().filter(|entry| entry.state() == ExtensionState::Ready) {
            for &hook in InterceptKind::ALL.iter().filter(|&&hook| entry.lacks(hook)) {
                let text =
                    format!("is required for {0} and did not subscribe to it: {0} is blocked", hook.name());
                self.reporter(entry.name()).fault(FaultCode::HookError, text);
            }
        }
        self.tools();
        self.commands();
        self.inner.changes.send_modify(|count| *count += 1);
    }

    /// Those that stay over a reload, and the others.
    fn partition(&self) -> (Vec<Arc<Entry>>, Vec<Arc<Entry>>) {
        self.set().entries.iter().cloned().partition(|entry| entry.stays)
    }
}

fn shared(entries: Vec<Entry>) -> Vec<Arc<Entry>> {
    entries.into_iter().map(Arc::new).collect()
}

/// A gate that does not come up again stays shut: a guard with a typo must not be a guard that is switched off. Returns
/// those of which no more than their failure was found; one that the user disabled or removed is not among them.
fn inherit(old: &[Arc<Entry>], started: &mut [Entry], faults: &[ExtensionFault]) -> Vec<Arc<Entry>> {
    let mut missing = Vec::new();
    for old in old.iter().filter(|old| !old.gates().is_empty()) {
        if let Some(new) = started.iter_mut().find(|new| new.name() == old.name()) {
            if new.state() != ExtensionState::Ready {
                new.inherited = old.gates();
            }
        } else if let Some(fault) = faults.iter().find(|fault| old.is_called(&fault.extension)) {
            missing.push(Arc::new(old.not_found_again(&fault.message)));
        }
    }
    missing
}

/// Asks all at once and waits for all. Returns how many were alive.
async fn stop(entries: &[Arc<Entry>]) -> usize {
    let alive = running(entries).filter(|(_, extension)| extension.snapshot().is_alive()).count();
    running(entries).for_each(|(_, extension)| Extension::shutdown(extension));
    for (_, extension) in running(entries) {
        extension.gone().await;
    }
    alive
}

fn failure(entry: &Arc<Entry>) -> Option<ExtensionFault> {
    match entry.state() {
        ExtensionState::Failed { code, message } => {
            Some(ExtensionFault { extension: entry.name().clone(), code: code.as_str().to_owned(), message })
        }
        ExtensionState::Starting
        | ExtensionState::Ready
        | ExtensionState::Stopping
        | ExtensionState::Stopped => None,
    }
}

fn not_started(entries: &[Arc<Entry>]) -> usize {
    entries.iter().filter(|entry| matches!(entry.body, Body::NotStarted { .. })).count()
}
