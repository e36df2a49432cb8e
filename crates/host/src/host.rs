//! `Host`: all extensions of one agent.

mod builder;
mod commands;
mod completions;
mod life;
mod reload;
mod source;
mod start;
mod status;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::future::{Either, select};
use haft_core::Caller;
use haft_core::hooks::{HookSource, Hooks};
use haft_core::tool::Tool;
use haft_protocol::ext::{HostFrame, InterceptKind, Limits, PanelClose, PanelKey, PanelResize, capability};
use haft_protocol::ids::{ExtensionName, PanelId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Claim, Names};
use crate::entry::Entry;
use crate::extension::frontend::{Frontend, Reporter};
use crate::gates::Gates;
use crate::hook::{self, HookAudience, HookPart, Turns};
use crate::hooks::{Audience, Blocked, ToolCallHook};
use crate::pins::{Pins, locked};
use crate::process::log::log_path;
use crate::session::offers::OfferedTool;
use crate::supervision::config::HostConfig;
use crate::supervision::shared::Shared;
use crate::tool::{ExtensionTool, Results};
use crate::wire::fault::FaultCode;
pub use builder::HostBuilder;
pub use commands::{CommandError, CommandInfo, CommandOutcome};
use completions::Completing;
pub use life::RestartError;
pub use reload::ReloadStats;
pub use source::{Found, SpecSource};
pub use status::ExtensionStatus;
use status::status;

/// All extensions of one agent. Cheap to clone; the clones are one host.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::tool::{Tool, ToolSet};
/// use haft_core::{Agent, AgentBuilder, BuildError};
/// use haft_host::{Host, HostBuilder};
///
/// async fn with_extensions(agent: AgentBuilder, host: HostBuilder) -> Result<(Agent, Host), BuildError> {
///     let host = host.start().await;
///     let agent = agent.hook_source(host.hook_source()).add_tools(host.tools()).build()?;
///     host.serve(agent.caller()); // what extensions have done for them passes this agent's hooks
///     host.session_start(Some(agent.session()));
///     Ok((agent, host))
/// }
///
/// /// Offers other tools whenever extensions do, until the host is gone. The tools of the program itself come first.
/// async fn keep_offering(agent: Agent, host: Host, own: Vec<Arc<dyn Tool>>) -> Result<(), Box<dyn std::error::Error>> {
///     let mut changes = host.changes();
///     while changes.changed().await.is_ok() {
///         let mut tools = ToolSet::default();
///         for tool in own.iter().cloned().chain(host.tools()) {
///             tools.add(tool)?;
///         }
///         agent.set_tools(tools)?;
///     }
///     Ok(())
/// }
/// ```
///
/// [`shutdown`](Host::shutdown) ends the extensions in good order; dropping the last clone asks them to leave and
/// waits for nothing.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    /// Results that are too long for a model.
    results: Arc<Results>,
    /// The texts of tools as the model was told them before.
    pins: Arc<Pins>,
    /// The turn of the moment, for process hooks.
    turns: Arc<Turns>,
    source: SpecSource,
    gates: Gates,
    set: Mutex<Set>,
    completing: Completing,
    /// One start, restart, reload or shutdown at a time.
    turnstile: tokio::sync::Mutex<()>,
}

/// The extensions of the moment, in order, and who owns which name.
struct Set {
    entries: Vec<Arc<Entry>>,
    tools: Names,
    commands: Names,
    /// See [`Found::blocked`].
    blocked: Option<String>,
}

impl Set {
    /// These extensions, ordered by where they come from and within that as found. No name is claimed yet.
    fn new(config: &HostConfig, mut entries: Vec<Arc<Entry>>, blocked: Option<String>) -> Self {
        entries.sort_by(|one, other| one.spec.rank().cmp(&other.spec.rank()));
        let tools = Names::new(&config.reserved_tools).at_most(config.limits.max_tools_in_all);
        let commands = Names::new(&config.reserved_commands);
        Self { entries, tools, commands, blocked }
    }

    /// Further extensions; the names that others have stay theirs.
    fn add(&mut self, entries: Vec<Arc<Entry>>) {
        self.entries.extend(entries);
        self.entries.sort_by(|one, other| one.spec.rank().cmp(&other.spec.rank()));
    }
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
            let results = Arc::clone(&self.inner.results);
            let reporter = self.reporter(entry.name());
            let pins = Arc::clone(&self.inner.pins);
            tools.push(Arc::new(ExtensionTool::new(Arc::clone(entry), tool, results, pins, reporter)));
        });
        tools
    }

    /// Claims the names of all tools, in order; `granted` is told each tool that got its own.
    fn claim_tools(&self, mut granted: impl FnMut(&Arc<Entry>, &OfferedTool)) {
        let mut set = self.set();
        let Set { entries, tools: names, .. } = &mut *set;
        let pins = &self.inner.pins;
        let mut lost = Lost::default();
        for entry in entries.iter() {
            for tool in &entry.offers().tools {
                if pins.locks(&entry.spec, tool) {
                    if pins.tells(entry.name(), tool) {
                        lost.0.push((
                            entry.name().clone(),
                            FaultCode::ToolChanged,
                            locked(entry.name(), &tool.name),
                        ));
                    }
                    continue;
                }
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
        pins.save();
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

    /// Does things for extensions from here on, under the hooks of this agent. What they wanted before waits for it a
    /// moment. Without [`HostBuilder::services`] there is nothing to do.
    pub fn serve(&self, caller: Caller) {
        if let Some(provided) = &self.shared().provided {
            provided.serve(caller);
        }
    }

    /// Why no tool runs, if so: see [`Found::blocked`]. Until a reload finds it mended.
    pub fn blocked(&self) -> Option<String> {
        self.set().blocked.clone()
    }

    /// All extensions and how they are, in order.
    pub fn states(&self) -> Vec<ExtensionStatus> {
        let logs = self.shared().config.logs.as_deref();
        self.set()
            .entries
            .iter()
            .map(|entry| ExtensionStatus {
                gates_off: self.gates().is_off(entry.name()),
                status_items: self.shared().status_line.of(entry.name()),
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

    pub(crate) fn audience(&self, entries: Vec<Arc<Entry>>) -> Audience {
        Audience::new(entries, Arc::clone(&self.shared().pump))
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

    /// A tool, once it is registered; nothing when nobody is starting any more who could bring it. The deadlines of a start
    /// see to it that this ends.
    async fn tool_once_there(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let find = || self.tools().into_iter().find(|tool| tool.spec().name == name);
        let mut changes = self.changes();
        let comes = async {
            loop {
                let found = find();
                if found.is_some() || changes.changed().await.is_err() {
                    return found;
                }
            }
        };
        match select(pin!(comes), pin!(self.settled())).await {
            Either::Left((found, _)) => found,
            Either::Right(_) => find(),
        }
    }

    /// How much extensions may say.
    pub(crate) fn limits(&self) -> Limits {
        *self.shared().limits
    }

    /// Where the whole of what is too long for a model is kept.
    pub(crate) fn results(&self) -> &Arc<Results> {
        &self.inner.results
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
        for (name, code, text) in lost.0 {
            self.reporter(&name).fault(code, text);
        }
    }
}

/// Names that extensions wanted and did not get.
#[derive(Debug, Default)]
struct Lost(Vec<(ExtensionName, FaultCode, String)>);

impl Lost {
    fn add(&mut self, entry: &Entry, text: String) {
        self.0.push((entry.name().clone(), FaultCode::RegisterRejected, text));
    }
}

#[async_trait]
impl HookSource for Host {
    async fn late_tool(&self, cancel: &CancellationToken, name: &str) -> Option<Arc<dyn Tool>> {
        cancel.run_until_cancelled(self.tool_once_there(name)).await.flatten()
    }

    fn hooks(&self) -> Hooks {
        let (mut hooks, mut told, mut listening) = (Hooks::default(), Vec::new(), Vec::new());
        let set = self.set();
        if let Some(why) = set.blocked.clone() {
            hooks.before_tool_execute.push(Arc::new(Blocked { why }));
        }
        for entry in &set.entries {
            let off = self.gates().is_off(entry.name());
            if let Some(process_hook) = entry.spec.as_hook() {
                listening.push(Arc::clone(entry));
                if !off {
                    let turns = || Arc::clone(&self.inner.turns);
                    hook::add(&mut hooks, &process_hook.watch, || {
                        HookPart::new(entry, turns(), self.clone())
                    });
                }
                continue;
            }
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
        drop(set);
        hooks.observers.push(Arc::new(self.audience(told)));
        if !listening.is_empty() {
            let turns = Arc::clone(&self.inner.turns);
            let workspace = self.shared().config.cwd.display().to_string();
            let host = self.clone();
            hooks.observers.push(Arc::new(HookAudience { entries: listening, turns, workspace, host }));
        }
        hooks
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("extensions", &self.set().entries).finish_non_exhaustive()
    }
}
