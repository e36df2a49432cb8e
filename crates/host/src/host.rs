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

use std::cell::LazyCell;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{Either, select};
use haft_core::ExtensionToolRunner;
use haft_core::hooks::{self, HookKind, HookSet, HookSource};
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
use crate::agent::wait_points::SessionStartBarrier;
use crate::session::ExtensionState;
use crate::supervision::config::HostConfig;
use crate::wire::fault::FaultCode;
use active_extensions::ActiveExtensions;
pub use active_extensions::ExtensionCommand;
pub use builder::HostBuilder;
pub use commands::{CommandError, CommandOutcome};
use host_state::HostState;
pub use host_state::{DiscoveredExtensions, SpecSource};
pub use lifecycle::RestartError;
pub use project_trust::ExtensionTrust;
pub use reload::ReloadStats;
pub use resources::ExtensionResources;
pub use shortcuts::ShortcutError;
pub use status::ExtensionStatus;
use status::status;

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
    pub fn commands(&self) -> Vec<ExtensionCommand> {
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

    /// Adds the hooks of one kind.
    fn add_hooks(&self, hooks: &mut HookSet, kind: HookKind, set: &ActiveExtensions) {
        if kind == HookKind::Observer {
            hooks.observers = self.observers(&set.entries);
            return;
        }
        if kind == HookKind::BeforeToolExecute
            && let Some(why) = set.blocked.clone()
        {
            hooks.before_tool_execute.push(Arc::new(DenyAllHook { why }));
        }
        // A prompt first waits for the handlers of the session start.
        if kind == HookKind::BeforeAgentStart && !self.inner.shared.session_start.is_settled() {
            hooks.before_agent_start.push(Arc::new(SessionStartBarrier(Arc::clone(&self.inner.shared))));
        }
        let questions: Vec<InterceptKind> = InterceptKind::ALL
            .iter()
            .copied()
            .filter(|question| hook_kind(*question) == Some(kind))
            .collect();
        // Most kinds of hooks need no context.
        let context = LazyCell::new(|| Arc::new(self.hook_context()));
        for entry in &set.entries {
            let takes_part =
                entry.with_view(|now| questions.iter().any(|&question| now.takes_part(question)));
            if takes_part && !self.inner.gates.is_disabled(entry.name()) {
                add_hook(hooks, kind, Arc::clone(entry), &context);
            }
        }
    }

    /// Returns the observers that pass events to these extensions.
    fn observers(&self, entries: &[Arc<ManagedExtension>]) -> Vec<Arc<dyn hooks::Observer>> {
        let (foreign, native): (Vec<_>, Vec<_>) =
            entries.iter().cloned().partition(|entry| entry.foreign.is_some());
        let observing = native.into_iter().filter(|entry| entry.with_view(|now| !now.is_files_only()));
        let mut observers: Vec<Arc<dyn hooks::Observer>> =
            vec![Arc::new(self.event_broadcaster(observing.collect()))];
        if !foreign.is_empty() {
            let shared = Arc::clone(&self.inner.shared);
            observers.push(Arc::new(ForeignBroadcaster { entries: foreign, shared }));
        }
        observers
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
        self.hooks_of(HookKind::ALL)
    }

    fn hooks_of(&self, kinds: &[HookKind]) -> HookSet {
        let mut hooks = HookSet::default();
        let set = self.inner.set();
        for &kind in kinds {
            self.add_hooks(&mut hooks, kind, &set);
        }
        hooks
    }
}

/// Returns the hook that asks this question; `None` if the host asks it itself.
fn hook_kind(question: InterceptKind) -> Option<HookKind> {
    Some(match question {
        InterceptKind::Input => HookKind::OnInput,
        InterceptKind::UserBash => HookKind::OnUserBash,
        InterceptKind::BeforeSwitch => HookKind::BeforeSwitch,
        InterceptKind::BeforeFork => HookKind::BeforeFork,
        InterceptKind::BeforeTree => HookKind::BeforeTree,
        InterceptKind::BeforeAgentStart => HookKind::BeforeAgentStart,
        InterceptKind::Context => HookKind::BeforeModelRequest,
        InterceptKind::BeforeProviderRequest => HookKind::BeforeProviderRequest,
        InterceptKind::MessageEnd => HookKind::AfterModelResponse,
        InterceptKind::BeforeSettle => HookKind::BeforeSettle,
        InterceptKind::BeforeCompact => HookKind::BeforeCompact,
        InterceptKind::TurnStart => HookKind::BeforeTurn,
        InterceptKind::ToolCall => HookKind::BeforeToolExecute,
        InterceptKind::Approve => HookKind::ApproveTool,
        InterceptKind::ToolResult => HookKind::AfterToolExecute,
        InterceptKind::AssistantMessage => HookKind::BeforeAssistantMessage,
        InterceptKind::AgentStart
        | InterceptKind::AgentEnd
        | InterceptKind::TurnEnd
        | InterceptKind::MessageStart
        | InterceptKind::ToolEnd => HookKind::OnWaitPoint,
        InterceptKind::Resources
        | InterceptKind::ProjectTrust
        | InterceptKind::SessionStart
        | InterceptKind::SessionShutdown => return None,
    })
}

/// Adds a hook in which an extension takes part.
fn add_hook(
    hooks: &mut HookSet,
    kind: HookKind,
    entry: Arc<ManagedExtension>,
    context: &LazyCell<Arc<HookContext>, impl FnOnce() -> Arc<HookContext>>,
) {
    match kind {
        HookKind::OnInput => hooks.on_input.push(entry),
        HookKind::OnUserBash => hooks.on_user_bash.push(entry),
        HookKind::BeforeSwitch => hooks.before_switch.push(entry),
        HookKind::BeforeFork => hooks.before_fork.push(entry),
        HookKind::BeforeTree => hooks.before_tree.push(entry),
        HookKind::BeforeAgentStart => hooks.before_agent_start.push(entry),
        HookKind::BeforeModelRequest => hooks.before_model_request.push(entry),
        HookKind::BeforeProviderRequest => hooks.before_provider_request.push(entry),
        HookKind::AfterModelResponse => hooks.after_model_response.push(entry),
        HookKind::BeforeSettle => hooks.before_settle.push(entry),
        HookKind::BeforeCompact => hooks.before_compact.push(entry),
        HookKind::BeforeTurn => hooks.before_turn.push(entry),
        HookKind::BeforeToolExecute => {
            hooks.before_tool_execute.push(Arc::new(ToolCallHook::new(entry, Arc::clone(context))));
        }
        HookKind::ApproveTool => {
            hooks.approve_tool.push(Arc::new(ApproveHook::new(entry, Arc::clone(context))))
        }
        HookKind::AfterToolExecute => {
            hooks.after_tool_execute.push(Arc::new(ToolResultHook::new(entry, Arc::clone(context))));
        }
        HookKind::BeforeAssistantMessage => hooks.before_assistant_message.push(entry),
        HookKind::OnWaitPoint => hooks.wait_points.push(entry),
        // No question of `hook_kind`.
        HookKind::Observer => {}
        // A kind that only newer versions of haft-core have.
        _ => {}
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("extensions", &self.inner.set().entries).finish_non_exhaustive()
    }
}
