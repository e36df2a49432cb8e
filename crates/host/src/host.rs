//! `Host`: all extensions of one agent.

mod active_extensions;
mod builder;
mod commands;
mod completions;
mod host_state;
mod lifecycle;
mod name_registry;
mod project_trust;
mod reload;
mod resources;
mod shortcuts;
mod start;
mod start_agent;
mod status;

use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{Either, select};
use haft_core::ExtensionToolRunner;
use haft_core::hooks::{HookSet, HookSource, OnWaitPoint};
use haft_core::tool::Tool;
use haft_protocol::ext::{
    CompletionItem, HostFrame, InterceptKind, InterceptProjectTrust, PanelClose, PanelKey, PanelResize,
    ResourcesReason, capability,
};
use haft_protocol::ids::{ExtensionName, PanelId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent::events::{EventBroadcaster, ForeignBroadcaster};
use crate::agent::hook_context::{GateHost, HookContext};
use crate::agent::hooks::{ApproveHook, DenyAllHook, ToolCallHook, ToolResultHook};
use crate::agent::managed_extension::ManagedExtension;
use crate::agent::tool::ExtensionTool;
use crate::agent::wait_points::{SessionStartBarrier, is_wait_point};
use crate::session::ExtensionState;
use crate::supervision::config::HostConfig;
use crate::wire::fault::FaultCode;
pub use active_extensions::CommandInfo;
pub use builder::HostBuilder;
pub use commands::{CommandError, CommandOutcome};
use host_state::HostState;
pub use host_state::{DiscoveredExtensions, SpecSource};
pub use lifecycle::RestartError;
pub use project_trust::ExtensionTrust;
pub use reload::ReloadStats;
pub use resources::ExtensionResources;
pub use shortcuts::ShortcutError;
use status::status;
pub use status::{ExtensionStatus, ShortcutInfo};

/// All extensions of one agent. Cheap to clone; all clones share one host. [`HostBuilder::start_agent`] starts the
/// extensions with their agent.
///
/// ```
/// use haft_core::protocol::ext::CommandAction;
/// use haft_core::{Agent, CancellationToken};
/// use haft_host::Host;
///
/// /// Runs what the user typed: a command of an extension, or a prompt.
/// async fn submit(agent: &Agent, host: &Host, input: &str) -> Result<String, Box<dyn std::error::Error>> {
///     let Some(command) = input.strip_prefix('/') else { return Ok(agent.prompt(input).await?) };
///     let (name, args) = command.split_once(' ').unwrap_or((command, ""));
///     match host.run_command(&CancellationToken::new(), name, args).await?.action {
///         CommandAction::Prompt(prompt) => Ok(agent.prompt(prompt).await?),
///         CommandAction::Failed(message) => Err(message.into()),
///         // The sink of `HostBuilder::events` has received the text.
///         _ => Ok(String::new()),
///     }
/// }
/// ```
///
/// [`shutdown`](Host::shutdown) ends the extensions in order. Dropping the last clone asks them to leave and
/// does not wait.
#[derive(Clone)]
pub struct Host {
    inner: Arc<HostState>,
}

impl Host {
    /// Returns a builder for a host.
    pub fn builder(config: HostConfig) -> HostBuilder {
        HostBuilder::new(config)
    }

    /// Returns the current tools of all extensions, in order. A tool whose name is already in use is reported
    /// and omitted. Tools of an extension that ended stay, and their calls return an error.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        self.inner.claim_tools(|entry, tool| {
            let results = Arc::clone(&self.inner.results);
            let reporter = self.inner.shared.reporter(entry.name());
            let pins = Arc::clone(&self.inner.pins);
            tools.push(Arc::new(ExtensionTool::new(Arc::clone(entry), tool, results, pins, reporter)));
        });
        tools
    }

    /// Returns the current commands of all extensions, in order. A command whose name is already in use is
    /// reported and omitted.
    pub fn commands(&self) -> Vec<CommandInfo> {
        self.inner.claim_commands().into_iter().map(|(info, _)| info).collect()
    }

    /// Runs a command with the text that the user typed after its name. Names are case-insensitive. An
    /// unknown name is looked up again after the extensions that are starting are ready.
    ///
    /// # Errors
    /// [`CommandError`] when there is no such command, or its extension fails.
    pub async fn run_command(
        &self,
        cancel: &CancellationToken,
        name: &str,
        args: &str,
    ) -> Result<CommandOutcome, CommandError> {
        commands::run(&self.inner, cancel, name, args).await
    }

    /// Runs the shortcut of an extension with this key, as registered: [`ExtensionStatus::shortcuts`].
    ///
    /// # Errors
    /// [`ShortcutError`] when there is no such shortcut, or its extension fails.
    pub async fn press_shortcut(
        &self,
        cancel: &CancellationToken,
        extension: &ExtensionName,
        key: &str,
    ) -> Result<(), ShortcutError> {
        shortcuts::press_shortcut(&self.inner, cancel, extension, key).await
    }

    /// Returns the completions of a command with this text after its name. A newer request for the same
    /// command ends the older one. A command without completions returns no items, and so does a failure,
    /// which is reported.
    ///
    /// # Errors
    /// [`CommandError`] when there is no such command, or a newer request arrives.
    pub async fn complete_command(
        &self,
        cancel: &CancellationToken,
        name: &str,
        prefix: &str,
    ) -> Result<Vec<CompletionItem>, CommandError> {
        commands::complete(&self.inner, cancel, name, prefix).await
    }

    /// Counts changes of the extensions' offers, so that the caller can update the tools before the next
    /// turn.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.shared.changes.subscribe()
    }

    /// Asks the extensions for skills and prompt templates, all at the same time, and returns the answers in the
    /// order of the extensions. Does not ask those in `known`. An extension that is starting is not asked: call
    /// this function again after [`wait_until_settled`](Self::wait_until_settled). Failures are reported.
    pub async fn find_resources(
        &self,
        reason: ResourcesReason,
        known: &[ExtensionResources],
    ) -> Vec<ExtensionResources> {
        resources::find(&self.inner, reason, known).await
    }

    /// True if an extension is starting, also again after a crash, so that its hooks are not known yet.
    pub fn has_starting_extension(&self) -> bool {
        let starts = |state| matches!(state, ExtensionState::Starting | ExtensionState::Restarting { .. });
        self.inner.active_extensions().iter().any(|entry| starts(entry.state()))
    }

    /// Reports a path of [`find_resources`](Self::find_resources) that cannot be used.
    pub fn report_resource(&self, extension: &ExtensionName, problem: &str) {
        let text = format!("resources intercept: {problem}");
        self.inner.shared.reporter(extension).report_fault(FaultCode::HookError, text);
    }

    /// Asks the extensions that are ready whether the project is trusted, one after the other. The first opinion
    /// counts; `None` if no extension has one. Failures are reported.
    pub async fn ask_about_trust(&self, question: &InterceptProjectTrust) -> Option<ExtensionTrust> {
        project_trust::ask_for_opinion(&self.inner, question).await
    }

    /// Returns the extensions' hooks for core, now and after every reload. Give them to one agent: extensions know one
    /// session, so that they would take the events of a second agent for those of the first.
    pub fn hook_source(&self) -> Arc<dyn HookSource> {
        Arc::new(self.clone())
    }

    /// Serves calls of extensions from now on, under the hooks of this agent. Earlier calls wait for this for
    /// a limited time; they need [`HostBuilder::services`]. Extensions also mirror the state of this agent.
    pub fn serve(&self, caller: ExtensionToolRunner) {
        self.inner.shared.mirror.set_agent(caller.clone());
        if let Some(provided) = &self.inner.shared.provided {
            provided.set_caller(caller);
        }
    }

    /// Updates the extensions' mirrors of the session soon. Call this after a change of the agent outside of a run,
    /// such as another model; events of runs and entries of the session update the mirrors by themselves.
    pub fn update_mirrors(&self) {
        self.inner.shared.mirror.schedule_update();
    }

    /// Returns the reason why all tools are blocked, if so: see [`DiscoveredExtensions::blocked`]. A reload may remove the
    /// block.
    pub fn blocked_reason(&self) -> Option<String> {
        self.inner.set().blocked.clone()
    }

    /// Returns all extensions with their states, in order.
    pub fn statuses(&self) -> Vec<ExtensionStatus> {
        self.inner.set().entries.iter().map(|entry| status(&self.inner, entry)).collect()
    }

    /// Sends a key to the extension whose panel has the focus.
    pub fn panel_key(&self, extension: &ExtensionName, key: PanelKey) {
        self.send_frame(extension, HostFrame::PanelKey(key), None);
    }

    /// Notifies an extension that the user closed its panel.
    pub fn panel_closed(&self, extension: &ExtensionName, panel_id: PanelId) {
        self.send_frame(extension, HostFrame::PanelClose(PanelClose { panel_id }), None);
    }

    /// Sends an extension the size of its panel if the extension announced the capability.
    pub fn panel_resized(&self, extension: &ExtensionName, room: PanelResize) {
        self.send_frame(extension, HostFrame::PanelResize(room), Some(capability::PANEL_RESIZE));
    }

    fn hook_context(&self) -> HookContext {
        HookContext {
            shared: Arc::clone(&self.inner.shared),
            gates: Arc::clone(&self.inner.gates),
            results: Arc::clone(&self.inner.results),
            host: Arc::new(self.clone()),
        }
    }

    fn event_broadcaster(&self, entries: Vec<Arc<ManagedExtension>>) -> EventBroadcaster {
        EventBroadcaster::new(entries, &self.inner.shared)
    }

    fn send_frame(&self, name: &ExtensionName, frame: HostFrame, capability: Option<&str>) {
        let Some(extension) = self.inner.find_extension(name).and_then(|entry| entry.handle()) else {
            return;
        };
        if capability.is_none_or(|capability| extension.snapshot().offers.has_capability(capability)) {
            extension.send_message(frame);
        }
    }

    /// Waits until a tool is registered; returns `None` when no starting extension can still register it. The
    /// start deadlines bound the wait.
    async fn wait_for_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
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
        match select(pin!(comes), pin!(self.wait_until_settled())).await {
            Either::Left((found, _)) => found,
            Either::Right(_) => find(),
        }
    }
}

#[async_trait]
impl GateHost for Host {
    async fn restart_gate(&self, name: &ExtensionName) {
        if let Err(error) = self.restart(name).await {
            tracing::warn!(extension = %name, %error, "cannot restart a gate");
        }
    }

    fn tool_names(&self) -> Option<Vec<String>> {
        let reserved = &self.inner.shared.config.reserved_tools;
        let entries = self.inner.active_extensions();
        // An extension that is starting may register a tool, and a program may not name its own tools.
        let is_unknown =
            reserved.is_empty() || entries.iter().any(|entry| entry.state() == ExtensionState::Starting);
        let offered = entries.iter().map(|entry| entry.offers());
        let names = || {
            let of_extensions = offered
                .flat_map(|offers| offers.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
            reserved.iter().cloned().chain(of_extensions).collect()
        };
        (!is_unknown).then(names)
    }
}

#[async_trait]
impl HookSource for Host {
    async fn late_tool(&self, cancel: &CancellationToken, name: &str) -> Option<Arc<dyn Tool>> {
        cancel.run_until_cancelled(self.wait_for_tool(name)).await.flatten()
    }

    fn hooks(&self) -> HookSet {
        let (mut hooks, mut observing, mut foreign) = (HookSet::default(), Vec::new(), Vec::new());
        let context = Arc::new(self.hook_context());
        let set = self.inner.set();
        if let Some(why) = set.blocked.clone() {
            hooks.before_tool_execute.push(Arc::new(DenyAllHook { why }));
        }
        // A prompt first waits for the handlers of the session start.
        if !self.inner.shared.session_start.is_settled() {
            hooks.before_agent_start.push(Arc::new(SessionStartBarrier(Arc::clone(&self.inner.shared))));
        }
        for entry in &set.entries {
            let off = self.inner.gates.is_disabled(entry.name());
            entry.with_view(|now| {
                if entry.foreign.is_some() {
                    foreign.push(Arc::clone(entry));
                } else if !now.is_files_only() {
                    observing.push(Arc::clone(entry));
                }
                if off {
                    return;
                }
                now.joined_hooks().for_each(|kind| add_hook(&mut hooks, entry, kind, &context));
            });
        }
        drop(set);
        hooks.wait_points = self.wait_points();
        hooks.observers.push(Arc::new(self.event_broadcaster(observing)));
        if !foreign.is_empty() {
            let shared = Arc::clone(&self.inner.shared);
            hooks.observers.push(Arc::new(ForeignBroadcaster { entries: foreign, shared }));
        }
        hooks
    }

    fn wait_points(&self) -> Vec<Arc<dyn OnWaitPoint>> {
        let waits = |entry: &&Arc<ManagedExtension>| {
            !self.inner.gates.is_disabled(entry.name())
                && entry.with_view(|now| now.joined_hooks().any(is_wait_point))
        };
        self.inner.set().entries.iter().filter(waits).map(|entry| Arc::clone(entry) as _).collect()
    }
}

/// Adds a hook in which an extension takes part.
fn add_hook(
    hooks: &mut HookSet,
    entry: &Arc<ManagedExtension>,
    kind: InterceptKind,
    context: &Arc<HookContext>,
) {
    let entry = Arc::clone(entry);
    match kind {
        InterceptKind::Input => hooks.on_input.push(entry),
        InterceptKind::UserBash => hooks.on_user_bash.push(entry),
        InterceptKind::BeforeSwitch => hooks.before_switch.push(entry),
        InterceptKind::BeforeFork => hooks.before_fork.push(entry),
        InterceptKind::BeforeTree => hooks.before_tree.push(entry),
        InterceptKind::BeforeAgentStart => hooks.before_agent_start.push(entry),
        InterceptKind::Context => hooks.before_model_request.push(entry),
        InterceptKind::BeforeProviderRequest => hooks.before_provider_request.push(entry),
        InterceptKind::MessageEnd => hooks.after_model_response.push(entry),
        InterceptKind::BeforeSettle => hooks.before_settle.push(entry),
        InterceptKind::BeforeCompact => hooks.before_compact.push(entry),
        InterceptKind::TurnStart => hooks.before_turn.push(entry),
        InterceptKind::ToolCall => {
            hooks.before_tool_execute.push(Arc::new(ToolCallHook::new(entry, Arc::clone(context))));
        }
        InterceptKind::Approve => {
            hooks.approve_tool.push(Arc::new(ApproveHook::new(entry, Arc::clone(context))));
        }
        InterceptKind::ToolResult => {
            hooks.after_tool_execute.push(Arc::new(ToolResultHook::new(entry, Arc::clone(context))));
        }
        InterceptKind::AssistantMessage => hooks.before_assistant_message.push(entry),
        // The host asks about these itself.
        InterceptKind::Resources
        | InterceptKind::ProjectTrust
        | InterceptKind::SessionStart
        | InterceptKind::SessionShutdown => {}
        // See `wait_points`.
        InterceptKind::AgentStart
        | InterceptKind::AgentEnd
        | InterceptKind::TurnEnd
        | InterceptKind::MessageStart
        | InterceptKind::ToolEnd => {}
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("extensions", &self.inner.set().entries).finish_non_exhaustive()
    }
}
