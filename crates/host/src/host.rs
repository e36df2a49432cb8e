//! `Host`: all extensions of one agent.

mod builder;
mod commands;
mod life;
mod reload;
mod source;
mod start;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use haft_core::hooks::{HookSource, Hooks};
use haft_core::model::ModelInfo;
use haft_core::tool::Tool;
use haft_launch::Launcher;
use haft_protocol::ext::{
    Event, ExtensionConfig, HostFrame, InterceptKind, Limits, PanelClose, PanelKey, PanelResize, capability,
};
use haft_protocol::ids::{ExtensionName, PanelId};
use tokio::sync::watch;

use crate::catalog::{Claim, Names};
use crate::entry::Entry;
use crate::environment::ExtensionEnv;
use crate::extension::{ExtensionState, OfferedTool};
use crate::fanout::Topic;
use crate::fault::FaultCode;
use crate::frontend::{Frontend, Reporter};
use crate::gates::Gates;
use crate::hooks::{Audience, ToolCallHook};
use crate::log::log_path;
use crate::shared::Shared;
use crate::spec::{ExtensionSpec, Origin};
use crate::timeouts::Timeouts;
use crate::tool::ExtensionTool;
pub use builder::HostBuilder;
#[cfg(test)]
pub(crate) use builder::stream_spec;
pub use commands::{CommandError, CommandInfo, CommandOutcome};
pub use life::RestartError;
pub use reload::ReloadStats;
pub use source::{Found, SpecSource};

/// What a host needs to know of the program around it.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// The program's version, for `hello_ack`.
    pub version: String,
    /// The active model, for `hello_ack`.
    pub model: ModelInfo,
    /// The directory the agent works in. Made absolute if it is not.
    pub cwd: PathBuf,
    /// Where the log files of extensions go; `None` writes none.
    pub logs: Option<PathBuf>,
    /// Below it each extension has a directory of its own for its data; `None` gives it the one of its code.
    pub data: Option<PathBuf>,
    /// Where the host remembers which extensions were silent when they were started, and what they registered; `None`
    /// remembers nothing.
    pub state: Option<PathBuf>,
    /// Where the whole of a result goes that is too long for a model, which may read it from there; the directory is made
    /// with the first one. `None` takes a temporary one, which goes with the host.
    pub results: Option<PathBuf>,
    /// Whether an extension that has not changed since it last ran may wait for its first use, with what it registered
    /// then in its place. Needs `state`. Otherwise every extension is started at once.
    ///
    /// Started at once in any case: what is named on the command line or `required`, what says so in its manifest
    /// ([`Lazy`](crate::Lazy)), what takes part in every turn, and what registers more after `ready`.
    pub lazy: bool,
    /// How many extensions may be starting at once. As many as there are processors, unless set.
    pub start_at_once: NonZeroUsize,
    /// Tool names that extensions cannot have: those of the built-in tools.
    pub reserved_tools: Vec<String>,
    /// Command names that extensions cannot have.
    pub reserved_commands: Vec<String>,
    /// What of this program's environment extensions get.
    pub env: ExtensionEnv,
    /// What starts and guards extensions: a program that calls [`haft_launch::launcher_main`]. Without one they are
    /// started directly, with all of this program's rights; what leaves its process group then outlives its
    /// extension, and whatever ignores the end of its input outlives a host that is killed.
    pub launcher: Option<Launcher>,
    /// What single extensions are told as `hello_ack.config`.
    pub extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// What those of [`Origin::Project`](crate::Origin::Project) are told in its place, where there is something for them.
    pub project_extension_config: BTreeMap<ExtensionName, ExtensionConfig>,
    /// Extensions whose unanswered `tool_call` intercepts the user lets pass (`on_timeout = "allow"`).
    pub on_timeout_allow: Vec<ExtensionName>,
    /// How long the host waits, for everything.
    pub timeouts: Timeouts,
    /// How much extensions may send, register and print. Its times are not looked at: those of `timeouts` count.
    pub limits: Limits,
}

impl HostConfig {
    /// A config without logs, reserved names or an environment of its own.
    pub fn new(version: impl Into<String>, model: ModelInfo, cwd: impl Into<PathBuf>) -> Self {
        Self {
            version: version.into(),
            model,
            cwd: cwd.into(),
            logs: None,
            data: None,
            state: None,
            results: None,
            lazy: true,
            start_at_once: processors(),
            reserved_tools: Vec::new(),
            reserved_commands: Vec::new(),
            env: ExtensionEnv::default(),
            launcher: None,
            extension_config: BTreeMap::new(),
            project_extension_config: BTreeMap::new(),
            on_timeout_allow: Vec::new(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
        }
    }

    /// What this extension is told as `hello_ack.config`.
    pub(crate) fn config_of(&self, spec: &ExtensionSpec) -> Option<&ExtensionConfig> {
        let projects = self.project_extension_config.get(&spec.name);
        let projects = projects.filter(|_| spec.origin == Origin::Project);
        projects.or_else(|| self.extension_config.get(&spec.name))
    }
}

/// How many there are. Asked once: the answer takes the system as long as it takes to read five files.
fn processors() -> NonZeroUsize {
    static PROCESSORS: OnceLock<NonZeroUsize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

/// All extensions of one agent. Cheap to clone; the clones are one host.
///
/// [`shutdown`](Host::shutdown) ends the extensions in good order; dropping the last clone asks them to leave and
/// waits for nothing.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    source: SpecSource,
    gates: Gates,
    set: Mutex<Set>,
    /// One start, restart, reload or shutdown at a time.
    turnstile: tokio::sync::Mutex<()>,
}

/// The extensions of the moment, in order, and who owns which name.
struct Set {
    entries: Vec<Arc<Entry>>,
    tools: Names,
    commands: Names,
}

impl Set {
    /// These extensions, ordered by where they come from and within that as found. No name is claimed yet.
    fn new(config: &HostConfig, mut entries: Vec<Arc<Entry>>) -> Self {
        entries.sort_by_key(|entry| entry.spec.origin);
        entries.iter().for_each(|entry| entry.watching.put_in_place());
        let tools = Names::new(&config.reserved_tools).at_most(config.limits.max_tools_in_all);
        let commands = Names::new(&config.reserved_commands);
        Self { entries, tools, commands }
    }

    /// Further extensions; the names that others have stay theirs.
    fn add(&mut self, entries: Vec<Arc<Entry>>) {
        entries.iter().for_each(|entry| entry.watching.put_in_place());
        self.entries.extend(entries);
        self.entries.sort_by_key(|entry| entry.spec.origin);
    }
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionStatus {
    /// Its name.
    pub name: ExtensionName,
    /// Its version, as the manifest says.
    pub version: Option<String>,
    /// What it says of itself.
    pub description: Option<String>,
    /// Where it was found.
    pub origin: Origin,
    /// Where it lies.
    pub dir: PathBuf,
    /// Whether its manifest says that what it guards must not happen without it.
    pub required: bool,
    /// How it is.
    pub state: ExtensionState,
    /// Whether the person goes on without it in this session: it is not asked about anything.
    pub gates_off: bool,
    /// Its log file, if logs are written.
    pub log: Option<PathBuf>,
    /// The commands it registered, whether or not it got the names.
    pub commands: Vec<String>,
    /// The tools it registered, whether or not it got the names.
    pub tools: Vec<String>,
    /// Events that it was not told, because it does not read fast enough.
    pub events_dropped: usize,
}

impl Host {
    /// Begins a host.
    pub fn builder(config: HostConfig) -> HostBuilder {
        HostBuilder::new(config)
    }

    /// The tools of all extensions at this moment, in order; a tool whose name somebody else has is reported and
    /// left out. Tools of an extension that is gone stay, and say so when they are called.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        self.claim_tools(|entry, tool| {
            let results = Arc::clone(&self.shared().results);
            let reporter = self.reporter(entry.name());
            tools.push(Arc::new(ExtensionTool::new(Arc::clone(entry), tool, results, reporter)));
        });
        tools
    }

    /// Claims the names of all tools, in order; `granted` is told each tool that got its own.
    fn claim_tools(&self, mut granted: impl FnMut(&Arc<Entry>, &OfferedTool)) {
        let mut set = self.set();
        let Set { entries, tools: names, .. } = &mut *set;
        let mut lost = Lost::default();
        for entry in entries.iter() {
            for tool in &entry.offers().tools {
                match names.claim(&tool.name, entry.name()) {
                    Claim::Granted => granted(entry, tool),
                    Claim::Lost { to } => lost.add(entry, format!("tool {}: {to} has that name", tool.name)),
                    Claim::Full { most } => lost.add(
                        entry,
                        format!("tool {}: all extensions together have {most} tools already", tool.name),
                    ),
                    Claim::LostBefore => {}
                }
            }
        }
        drop(set);
        self.report_lost(lost);
    }

    /// Counts changes of what extensions offer, so that the tools can be taken again before the next turn.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared().changes.subscribe()
    }

    /// The extensions' part in core's hooks, now and after every reload. Several agents may share it, and tell their
    /// events at the same time.
    pub fn hook_source(&self) -> Arc<dyn HookSource> {
        Arc::new(self.clone())
    }

    /// Tells the extensions that watch it that the session begins.
    pub fn session_start(&self) {
        let topic = Topic { name: "session_start", tool: None };
        let entries = self.set().entries.clone();
        self.audience(entries).tell(topic, || Some(Event::session_start()));
    }

    /// All extensions and how they are, in order.
    pub fn states(&self) -> Vec<ExtensionStatus> {
        let logs = self.shared().config.logs.as_deref();
        self.set()
            .entries
            .iter()
            .map(|entry| ExtensionStatus {
                gates_off: self.gates().is_off(entry.name()),
                ..status(entry, logs.map(|dir| log_path(dir, entry.name())))
            })
            .collect()
    }

    /// Sends a key to the extension whose panel has the focus.
    pub fn panel_key(&self, extension: &ExtensionName, key: PanelKey) {
        self.tell(extension, HostFrame::PanelKey(key), None);
    }

    /// Tells an extension that the user closed its panel.
    pub fn panel_closed(&self, extension: &ExtensionName, panel_id: PanelId) {
        self.tell(extension, HostFrame::PanelClose(PanelClose { panel_id }), None);
    }

    /// Tells an extension the room of its panel, if it announced that it wants to know.
    pub fn panel_resized(&self, extension: &ExtensionName, room: PanelResize) {
        self.tell(extension, HostFrame::PanelResize(room), Some(capability::PANEL_RESIZE));
    }

    fn audience(&self, entries: Vec<Arc<Entry>>) -> Audience {
        Audience { entries, fanout: Arc::clone(&self.shared().fanout) }
    }

    fn tell(&self, name: &ExtensionName, frame: HostFrame, capability: Option<&str>) {
        let Some(extension) = self.entry(name).and_then(|entry| entry.extension()) else { return };
        if capability.is_none_or(|capability| extension.snapshot().offers.announced(capability)) {
            extension.tell(frame);
        }
    }

    /// How the gates do.
    pub(crate) fn gates(&self) -> &Gates {
        &self.inner.gates
    }

    pub(crate) fn frontend(&self) -> &dyn Frontend {
        self.shared().frontend.as_ref()
    }

    /// Starts an extension again, because the person wants it. What goes wrong is reported.
    pub(crate) async fn restart_gate(&self, name: &ExtensionName) {
        if let Err(error) = self.restart(name).await {
            tracing::warn!(extension = %name, %error, "a gate was not restarted");
        }
    }

    fn set(&self) -> MutexGuard<'_, Set> {
        self.inner.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reporter(&self, name: &ExtensionName) -> Reporter {
        self.shared().reporter(name)
    }

    fn entry(&self, name: &ExtensionName) -> Option<Arc<Entry>> {
        self.set().entries.iter().find(|entry| entry.name() == name).cloned()
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Outside the lock, because a sink may ask the host something.
    fn report_lost(&self, lost: Lost) {
        for (name, text) in lost.0 {
            self.reporter(&name).fault(FaultCode::RegisterRejected, text);
        }
    }
}

/// Names that extensions wanted and did not get.
#[derive(Debug, Default)]
struct Lost(Vec<(ExtensionName, String)>);

impl Lost {
    fn add(&mut self, entry: &Entry, text: String) {
        self.0.push((entry.name().clone(), text));
    }
}

impl HookSource for Host {
    fn hooks(&self) -> Hooks {
        let (mut hooks, mut told) = (Hooks::default(), Vec::new());
        for entry in &self.set().entries {
            let off = self.gates().is_off(entry.name());
            entry.look(|now| {
                if !now.is_files() {
                    told.push(Arc::clone(entry));
                }
                if off {
                    return;
                }
                if now.takes_part(InterceptKind::BeforeAgentStart) {
                    hooks.before_agent_start.push(Arc::clone(entry) as _);
                }
                if now.takes_part(InterceptKind::BeforeCompact) {
                    hooks.before_compact.push(Arc::clone(entry) as _);
                }
                if now.takes_part(InterceptKind::TurnStart) {
                    hooks.before_turn.push(Arc::clone(entry) as _);
                }
                if now.takes_part(InterceptKind::ToolCall) {
                    let hook = ToolCallHook::new(Arc::clone(entry), self.clone());
                    hooks.before_tool_execute.push(Arc::new(hook));
                }
                if now.takes_part(InterceptKind::AssistantMessage) {
                    hooks.before_assistant_message.push(Arc::clone(entry) as _);
                }
            });
        }
        hooks.observers.push(Arc::new(self.audience(told)));
        hooks
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("extensions", &self.set().entries).finish_non_exhaustive()
    }
}

fn status(entry: &Entry, log: Option<PathBuf>) -> ExtensionStatus {
    let offers = entry.offers();
    ExtensionStatus {
        name: entry.name().clone(),
        version: entry.spec.version.clone(),
        description: entry.spec.description.clone(),
        origin: entry.spec.origin,
        dir: entry.spec.dir.clone(),
        required: entry.spec.roles.required,
        gates_off: false,
        state: entry.state(),
        log,
        commands: offers.commands.iter().map(|command| command.name.clone()).collect(),
        tools: offers.tools.iter().map(|tool| tool.name.clone()).collect(),
        events_dropped: entry.events_dropped(),
    }
}
