//! What all extensions of one host share: its configuration, its ears, and the gate that they start through.

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use haft_protocol::ext::{HelloAck, Limits, PROTOCOL_VERSION, capability};
use haft_protocol::ids::ExtensionName;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::extension::{Connection, Facts};
use crate::fanout::Fanout;
use crate::fault::FaultCode;
use crate::frontend::{EventSink, Frontend, Reporter};
use crate::host::HostConfig;
use crate::log::slug;
use crate::process::Process;
use crate::registration::Registrations;
use crate::slow::SlowStarts;
use crate::spec::{ExtensionSpec, Launch};
use crate::supervisor::Failure;
use crate::timeouts::Timeouts;

/// See the module.
pub(crate) struct Shared {
    pub(crate) config: HostConfig,
    /// Those of the configuration, for whoever keeps them.
    pub(crate) timeouts: Arc<Timeouts>,
    /// Those of the configuration, for whoever keeps them.
    pub(crate) limits: Arc<Limits>,
    pub(crate) events: EventSink,
    pub(crate) frontend: Arc<dyn Frontend>,
    /// Counts changes of any extension's state or offers.
    pub(crate) changes: watch::Sender<u64>,
    /// As many may be starting at once as there are permits.
    pub(crate) gate: Semaphore,
    /// A shutdown has begun: every extension leaves, and nothing is waited for that starts.
    pub(crate) closing: CancellationToken,
    pub(crate) slow: SlowStarts,
    /// The environment of those to whom nothing was granted: the same for all of them.
    plain_env: OnceLock<Vec<(OsString, OsString)>>,
    /// For extensions that only watch.
    pub(crate) fanout: Arc<Fanout>,
    pub(crate) registrations: Registrations,
}

impl Shared {
    pub(crate) fn new(config: HostConfig, events: EventSink, frontend: Arc<dyn Frontend>) -> Self {
        Self {
            events,
            frontend,
            changes: watch::Sender::new(0),
            gate: Semaphore::new(config.start_at_once.get()),
            closing: CancellationToken::new(),
            plain_env: OnceLock::new(),
            slow: SlowStarts::new(config.state.clone()),
            fanout: Arc::new(Fanout::new(&config.limits)),
            registrations: Registrations::new(&config),
            timeouts: Arc::new(config.timeouts),
            limits: Arc::new(config.limits),
            config,
        }
    }

    pub(crate) fn reporter(&self, name: &ExtensionName) -> Reporter {
        Reporter { name: name.clone(), events: Arc::clone(&self.events) }
    }

    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Starts the process of an extension.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) fn connect(&self, spec: &ExtensionSpec) -> Result<Connection, Failure> {
        let failed = |message| Failure { code: FaultCode::SpawnFailed, message };
        match &spec.launch {
            Launch::Process { program, args } => {
                Process::start(spec, program, args, self.env(&spec.name), self.config.launcher.clone())
                    .map(|started| Connection::Process(Box::new(started)))
                    .map_err(|error| failed(error.to_string()))
            }
            Launch::Impossible { why } => Err(failed(why.clone())),
            Launch::ThemeOnly => Err(failed("has no program that could be started".to_owned())),
        }
    }

    /// The environment of an extension. This program's does not change while it runs.
    fn env(&self, name: &ExtensionName) -> Vec<(OsString, OsString)> {
        let env = || self.config.env.of(name, std::env::vars_os());
        match self.config.env.granted.contains_key(name) {
            true => env(),
            false => self.plain_env.get_or_init(env).clone(),
        }
    }

    pub(crate) fn facts(&self, spec: &ExtensionSpec) -> Facts {
        let config = &self.config;
        let mut timeouts = Arc::clone(&self.timeouts);
        if let Some(hello) = spec.lifecycle.hello {
            Arc::make_mut(&mut timeouts).hello = hello;
        }
        if let Some(ready) = spec.lifecycle.ready {
            Arc::make_mut(&mut timeouts).ready = ready;
        }
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
                capability::EVENT_GAP.to_owned(),
                capability::INTERCEPT_ROLES.to_owned(),
            ],
            limits: Some(Box::new(timeouts.announced_in(config.limits))),
            config: config.extension_config.get(&spec.name).cloned(),
        };
        Facts {
            name: spec.name.clone(),
            ack: Some(Box::new(ack)),
            timeouts,
            limits: Arc::clone(&self.limits),
        }
    }

    /// Where an extension keeps its data, made before it is told. None when data has no place of its own.
    fn data_dir(&self, name: &ExtensionName) -> Option<String> {
        let dir = self.config.data.as_ref()?.join(slug(name.as_str()));
        if let Err(error) = std::fs::create_dir_all(&dir) {
            tracing::warn!(extension = %name, dir = %dir.display(), %error, "cannot make the data directory");
        }
        Some(dir.display().to_string())
    }
}
