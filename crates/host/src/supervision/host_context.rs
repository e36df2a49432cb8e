//! State that all extensions of one host share: configuration, event sinks, and the start gate.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_core::file_queue::LockOwner;
use haft_launch::sandbox::NetworkAccess;
use haft_packages::environment::{self, FOR_PROJECTS};
use haft_packages::file_name::safe_file_name;
use haft_packages::state_files::StateFiles;
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan};
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::ext::{HelloAck, Limits, PROTOCOL_VERSION, capability};
use haft_protocol::foreign::{ForeignPeer, PeerSetup};
use haft_protocol::ids::ExtensionName;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::extension::frontend::{EventSink, FaultReporter, Frontend};
use crate::extension::message_bus::MessageBus;
use crate::extension::mirror::SessionMirror;
use crate::extension::send_queue::pump::EventPump;
use crate::extension::services::{self, HostCallServer, ServiceProvider, ServiceReach};
use crate::extension::status_line::StatusLine;
use crate::extension::turn_reports::TurnReports;
use crate::process::ExtensionProcess;
use crate::process::connection::Connection;
use crate::process::log::ExtensionLog;
use crate::session::SessionConfig;
use crate::session::hello_ack::{CommonHelloAck, HelloAckFields, PreparedHelloAck};
use crate::supervision::code_digests::CodeDigests;
use crate::supervision::config::HostConfig;
use crate::supervision::project_check::ProjectCheckCache;
use crate::supervision::sandbox_setup::SandboxedStart;
use crate::supervision::session_start::SessionStartNotice;
use crate::supervision::silent_starts::SilentStarts;
use crate::timeouts::Timeouts;
use crate::wire::fault::{ExtensionFailure, FaultCode};
use crate::wire::translator::SharedTranslator;

/// The prefix of file names that record approved extensions as they were at their verification.
const PINNED: &str = "pinned-";

/// The state that all extensions of one host share.
pub(crate) struct HostContext {
    pub(crate) config: HostConfig,
    /// The configuration's timeouts, shared.
    pub(crate) timeouts: Arc<Timeouts>,
    /// The configuration's limits, shared.
    pub(crate) limits: Arc<Limits>,
    pub(crate) events: EventSink,
    pub(crate) frontend: Arc<dyn Frontend>,
    pub(crate) status_line: Arc<StatusLine>,
    /// Counts changes of the state or offers of any extension.
    pub(crate) changes: watch::Sender<u64>,
    /// One permit for each extension that may start at the same time.
    pub(crate) gate: Semaphore,
    /// Cancelled when a shutdown begins: every extension leaves, and no start is waited for.
    pub(crate) closing: CancellationToken,
    pub(crate) silent: SilentStarts,
    pub(crate) turn_reports: Arc<TurnReports>,
    pub(crate) state: Arc<StateFiles>,
    project_checks: ProjectCheckCache,
    code_digests: Arc<CodeDigests>,
    /// The common environment of extensions without a grant.
    plain_env: OnceLock<Arc<[(OsString, OsString)]>>,
    /// The common hello of extensions without their own deadlines.
    common_hello_ack: OnceLock<CommonHelloAck>,
    pub(crate) pump: Arc<EventPump>,
    pub(crate) mirror: Arc<SessionMirror>,
    pub(crate) bus: Arc<MessageBus>,
    pub(crate) session_start: SessionStartNotice,
    pub(crate) provided: Option<Arc<ServiceProvider>>,
}

impl HostContext {
    pub(crate) fn new(
        config: HostConfig,
        events: EventSink,
        frontend: Arc<dyn Frontend>,
        provided: Option<Arc<ServiceProvider>>,
    ) -> Self {
        let state = Arc::new(StateFiles::new(config.state.clone()));
        let pump = Arc::new(EventPump::new(&config.limits));
        Self {
            events,
            status_line: Arc::new(StatusLine::new(Arc::clone(&frontend))),
            frontend,
            provided,
            changes: watch::Sender::new(0),
            gate: Semaphore::new(config.start_at_once.get()),
            closing: CancellationToken::new(),
            project_checks: ProjectCheckCache::default(),
            code_digests: Arc::default(),
            plain_env: OnceLock::new(),
            common_hello_ack: OnceLock::new(),
            silent: SilentStarts::new(Arc::clone(&state)),
            turn_reports: Arc::default(),
            state,
            mirror: SessionMirror::new(&config.limits, Arc::clone(&pump)),
            pump,
            bus: Arc::default(),
            session_start: SessionStartNotice::default(),
            timeouts: Arc::new(config.timeouts),
            limits: Arc::new(config.limits),
            config,
        }
    }

    pub(crate) fn reporter(&self, name: &ExtensionName) -> FaultReporter {
        FaultReporter { name: name.clone(), events: Arc::clone(&self.events), foreign: None }
    }

    /// Returns the reporter of an extension that may speak another protocol.
    pub(crate) fn reporter_of(
        &self,
        name: &ExtensionName,
        peer: Option<&Arc<dyn ForeignPeer>>,
    ) -> FaultReporter {
        let foreign = peer.map(|peer| (Arc::clone(peer), Arc::clone(&self.turn_reports)));
        FaultReporter { foreign, ..self.reporter(name) }
    }

    /// Returns the peer of an extension that speaks another protocol.
    pub(crate) fn open_peer(&self, spec: &ExtensionSpec, run: &str) -> Option<Arc<dyn ForeignPeer>> {
        let hook = spec.as_hook()?;
        let user = ["USER", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let peer = hook.dialect.open_peer(PeerSetup {
            name: spec.name.clone(),
            config: self.config.config_of(spec).cloned(),
            workspace: self.config.cwd.display().to_string(),
            run: run.to_owned(),
            user: user.unwrap_or_else(|| "user".to_owned()),
            now: || jiff::Timestamp::now().to_string(),
        });
        let session = self.pump.session();
        if !session.is_empty() {
            peer.set_session(&session);
        }
        Some(peer)
    }

    pub(crate) fn notify_change(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    /// Checks that an extension matches its approval or trust, and that a hook is unchanged since its first
    /// start. Runs on a blocking thread. After an error, the extension must not be started.
    pub(crate) async fn verify(&self, spec: &ExtensionSpec) -> Result<(), ExtensionFailure> {
        let failed = |message| ExtensionFailure { code: FaultCode::PinMismatch, message };
        if let (true, Some(check)) = (spec.is_from_project(), &self.config.project_check) {
            let checked = self.project_checks.check_now(check).await;
            checked.map_err(|why| failed(format!("was not started: {why}")))?;
        }
        if let Some(hook) = spec.as_hook().filter(|hook| !hook.code.is_empty()) {
            let (first, hook) = (Arc::clone(&self.code_digests), Arc::clone(hook));
            let same = tokio::task::spawn_blocking(move || first.check_unchanged(&hook.code)).await;
            let same = same.map_err(|error| error.to_string()).flatten();
            same.map_err(|why| failed(format!("was not started: {why}")))?;
        }
        self.check_unpinned_gate(spec).await.map_err(|why| failed(format!("was not started: {why}")))?;
        let Some(pin) = spec.pin.clone() else { return Ok(()) };
        let (state, name) =
            (Arc::clone(&self.state), format!("{PINNED}{}", safe_file_name(spec.name.as_str())));
        let verified = tokio::task::spawn_blocking(move || pin.verify(&state, &name)).await;
        let changed =
            verified.map_err(|error| failed(format!("was not started: {error}")))?.map_err(failed)?;
        if let Some(text) = restored_copy_text(&spec.name, &changed) {
            self.reporter(&spec.name).report_fault(FaultCode::CodeRestored, text);
        }
        Ok(())
    }

    /// Checks that the code of a gate without an approval is unchanged since its first start, which may be now.
    async fn check_unpinned_gate(&self, spec: &ExtensionSpec) -> Result<(), String> {
        if !spec.roles.is_gate() || !has_unpinned_code(spec) || !is_up(Defense::RequiredGates) {
            return Ok(());
        }
        let (known, dir) = (Arc::clone(&self.code_digests), spec.dir.clone());
        let checked = tokio::task::spawn_blocking(move || known.check_directory(&dir)).await;
        checked.map_err(|error| error.to_string()).flatten()
    }

    pub(crate) fn connect(&self, spec: &ExtensionSpec) -> Result<Connection, ExtensionFailure> {
        let failed = |message| ExtensionFailure { code: FaultCode::SpawnFailed, message };
        match &spec.launch {
            LaunchPlan::Process { program, args } => {
                let confined = SandboxedStart::new(spec, program, &self.config)
                    .map_err(|message| ExtensionFailure { code: FaultCode::SandboxUnavailable, message })?;
                let (env, sandbox) = match confined {
                    None => (self.env(spec), None),
                    Some(confined) => {
                        (confined.adjust_env(self.own_env(spec)).into(), Some(confined.sandbox))
                    }
                };
                ExtensionProcess::start(spec, program, args, env, self.config.launcher.clone(), sandbox)
                    .map(|started| Connection::Process(Box::new(started)))
                    .map_err(|error| failed(error.to_string()))
            }
            LaunchPlan::Impossible { why } => Err(failed(why.clone())),
            LaunchPlan::ThemeOnly => Err(failed("has no program to start".to_owned())),
        }
    }

    /// Returns the environment of an extension. This program's environment does not change while it runs.
    fn env(&self, spec: &ExtensionSpec) -> Arc<[(OsString, OsString)]> {
        let env = || self.own_env(spec).into();
        let is_own = self.config.env_of(spec).next().is_some()
            || spec.code_is_pinned()
            || spec.roles.is_gate()
            || spec.as_hook().is_some();
        match is_own {
            true => env(),
            false => Arc::clone(self.plain_env.get_or_init(env)),
        }
    }

    fn own_env(&self, spec: &ExtensionSpec) -> Vec<(OsString, OsString)> {
        let confined = self.config.level_of(spec).is_some();
        let mut env = match spec.as_hook() {
            Some(_) if !confined => self.config.env.inheritable_variables(std::env::vars_os()).collect(),
            Some(_) | None => self.config.env.variables_for(self.config.env_of(spec), std::env::vars_os()),
        };
        if let Some(hook) = spec.as_hook() {
            env = environment::merge_variables(env.into_iter(), &hook.env);
        }
        if spec.code_is_pinned() || spec.roles.is_gate() {
            env.extend(FOR_PROJECTS.iter().map(|(name, value)| (name.into(), value.into())));
        }
        env
    }

    /// Returns the deadline of `hello`: that of the user, of the manifest, or the default.
    fn hello_timeout(&self, spec: &ExtensionSpec) -> Duration {
        let awaited = spec.roles.is_gate() || spec.origin == ExtensionOrigin::Explicit;
        let usual = match awaited {
            true => self.timeouts.hello.min(self.timeouts.awaited_hello),
            false => self.timeouts.hello,
        };
        let of_user = self.config.hello_timeouts.get(&spec.name).copied();
        of_user.or(spec.lifecycle.hello).unwrap_or(usual)
    }

    pub(crate) fn session_config(
        &self,
        spec: &ExtensionSpec,
        peer: Option<&Arc<dyn ForeignPeer>>,
    ) -> SessionConfig {
        let mut timeouts = Arc::clone(&self.timeouts);
        let hello = self.hello_timeout(spec);
        if hello != timeouts.hello {
            Arc::make_mut(&mut timeouts).hello = hello;
        }
        if let Some(ready) = spec.lifecycle.ready {
            Arc::make_mut(&mut timeouts).ready = ready;
        }
        if let Some(hook) = spec.as_hook() {
            // An extension that computes, or waits for a person, reads nothing meanwhile.
            let times = Arc::make_mut(&mut timeouts);
            times.write_stall = times.write_stall.max(hook.longest_timeout());
        }
        let translator = peer.map(|peer| SharedTranslator::new(Arc::clone(peer).new_translator()));
        let greeting = translator.is_none().then(|| Box::new(self.prepared_hello_ack(spec, &timeouts)));
        SessionConfig {
            name: spec.name.clone(),
            greeting,
            has_terminate_signal: spec.as_hook().is_none(),
            translator,
            timeouts,
            limits: Arc::clone(&self.limits),
            services: self.provided.is_some(),
            granted: spec.permissions.clone().map(Arc::new),
        }
    }

    fn prepared_hello_ack(&self, spec: &ExtensionSpec, timeouts: &Arc<Timeouts>) -> PreparedHelloAck {
        let common = match Arc::ptr_eq(timeouts, &self.timeouts) {
            true => Arc::clone(self.common_hello_ack.get_or_init(|| self.encode_common_hello_ack(timeouts))),
            false => self.encode_common_hello_ack(timeouts),
        };
        let extension_dir = (!spec.dir.as_os_str().is_empty()).then(|| spec.dir.display().to_string());
        let data_dir = self.data_dir(&spec.name).or_else(|| extension_dir.clone());
        let config = self.config.config_of(spec).cloned();
        let sandbox = self.config.level_of(spec).map(|level| level.to_string());
        let places =
            HelloAckFields { extension_dir, data_dir, config, sandbox, granted: spec.permissions.clone() };
        PreparedHelloAck::new(common, places)
    }

    /// Returns the common hello of extensions with these deadlines.
    fn encode_common_hello_ack(&self, timeouts: &Timeouts) -> CommonHelloAck {
        let config = &self.config;
        PreparedHelloAck::encode_common(HelloAck {
            protocol_version: PROTOCOL_VERSION,
            zot_version: config.version.clone(),
            haft_version: Some(config.version.clone()),
            provider: config.model.provider.clone(),
            model: config.model.model.clone(),
            cwd: config.cwd.display().to_string(),
            data_dir: None,
            extension_dir: None,
            capabilities: self.host_capabilities(),
            limits: Some(Box::new(timeouts.apply_to_limits(config.limits))),
            mode: config.mode,
            config: None,
            sandbox: None,
            granted: None,
        })
    }

    fn host_capabilities(&self) -> Vec<String> {
        let always = [
            capability::BEFORE_AGENT_START,
            capability::BEFORE_COMPACT,
            capability::TOOL_RESULT,
            capability::INPUT,
            capability::BEFORE_SETTLE,
            capability::CONTEXT,
            capability::MESSAGE_END,
            capability::BEFORE_PROVIDER_REQUEST,
            capability::USER_BASH,
            capability::BEFORE_SWITCH,
            capability::BEFORE_FORK,
            capability::BEFORE_TREE,
            capability::RESOURCES,
            capability::APPROVE,
            capability::PROJECT_TRUST,
            capability::PANEL_RESIZE,
            capability::PING,
            capability::EVENT_GAP,
            capability::INTERCEPT_ROLES,
            capability::REGISTER_REJECTED,
            capability::COMMAND_COMPLETIONS,
            capability::STATUS,
            capability::ASKS,
            capability::SHOWS,
            capability::SESSION,
            capability::BUS,
            capability::TOOLS_2,
            capability::CANCEL,
            capability::TOOL_CANCEL,
            capability::PROGRESS,
            capability::EVENTS_2,
            capability::MIRROR,
            capability::HOOKS_2,
            capability::CALLS,
        ];
        let services =
            [capability::HOST_SERVICES, capability::FILES, capability::MODELS, capability::CALL_TOOL];
        let services = services.into_iter().filter(|_| self.provided.is_some());
        always.into_iter().chain(services).map(str::to_owned).collect()
    }

    pub(crate) fn host_call_server(
        &self,
        spec: &ExtensionSpec,
        log: &Arc<ExtensionLog>,
    ) -> Option<Arc<HostCallServer>> {
        let provided = Arc::clone(self.provided.as_ref()?);
        let data = self.config.data_dir(&spec.name);
        let granted = spec.permissions.as_ref();
        let within = granted.filter(|_| is_up(Defense::ServiceGrants)).map(|granted| {
            let data = data.as_deref().unwrap_or(&spec.dir);
            let (home, network) = (std::env::home_dir(), granted.net == NetworkAccess::All);
            services::granted_paths(&granted.fs, &self.config.cwd, data, home.as_deref(), network)
        });
        let mut reach = ServiceReach::new(spec.name.clone(), LockOwner::new()).with_within(within);
        reach.data = data;
        let (reporter, log) = (self.reporter(&spec.name), Arc::clone(log));
        let desk = HostCallServer::new(provided, reach, reporter, log, Arc::clone(&self.timeouts));
        Some(Arc::new(desk))
    }

    /// Returns an extension's data directory, which is created first; `None` without a separate data
    /// directory.
    fn data_dir(&self, name: &ExtensionName) -> Option<String> {
        let dir = self.config.data_dir(name)?;
        if let Err(error) = std::fs::create_dir_all(&dir) {
            tracing::warn!(extension = %name, dir = %dir.display(), %error, "cannot create the data directory");
        }
        Some(dir.display().to_string())
    }
}

/// True if the extension runs from a directory of the user, and no approval or trust covers its files.
fn has_unpinned_code(spec: &ExtensionSpec) -> bool {
    matches!(spec.origin, ExtensionOrigin::Explicit | ExtensionOrigin::Global)
        && !spec.code_is_pinned()
        && matches!(spec.launch, LaunchPlan::Process { .. })
}

/// The maximum number of restored files that a message names.
const NAMED: usize = 3;

/// Returns the text about a changed copy that was restored.
fn restored_copy_text(extension: &ExtensionName, changed: &[PathBuf]) -> Option<String> {
    let names: Vec<_> = changed.iter().take(NAMED).map(|name| name.display().to_string()).collect();
    let more = match changed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        format!(
            "the installed copy was changed and restored to the approved version: {}{more}; change the files in the install source \
             and run `haft ext update {extension}`",
            names.join(", ")
        )
    })
}
