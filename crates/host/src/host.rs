//! `Host`: all extensions of one agent.

mod builder;
mod catalog;
mod commands;
mod completions;
mod inner;
mod life;
mod reload;
mod set;
mod start;
mod status;

use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{Either, select};
use haft_core::ExtensionToolRunner;
use haft_core::hooks::{HookSet, HookSource};
use haft_core::tool::Tool;
use haft_protocol::ext::{
    CompletionItem, HostFrame, InterceptKind, PanelClose, PanelKey, PanelResize, capability,
};
use haft_protocol::ids::{ExtensionName, PanelId};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent::entry::ManagedExtension;
use crate::agent::hook_context::{HookContext, RestartGate};
use crate::agent::hooks::{DenyAllHook, EventBroadcaster, ToolCallHook};
use crate::agent::process_hook::{self, HookEventBroadcaster, ProcessHookAdapter};
use crate::agent::tool::ExtensionTool;
use crate::supervision::config::HostConfig;
pub use builder::HostBuilder;
pub use commands::{CommandError, CommandOutcome};
use inner::HostState;
pub use inner::{DiscoveredExtensions, SpecSource};
pub use life::RestartError;
pub use reload::ReloadStats;
pub use set::CommandInfo;
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
/// /// ExtensionOffers other tools whenever extensions do, until the host is gone. The tools of the program itself come first.
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
    inner: Arc<HostState>,
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
        self.inner.claim_tools(|entry, tool| {
            let results = Arc::clone(&self.inner.results);
            let reporter = self.inner.shared.reporter(entry.name());
            let pins = Arc::clone(&self.inner.pins);
            tools.push(Arc::new(ExtensionTool::new(Arc::clone(entry), tool, results, pins, reporter)));
        });
        tools
    }

    /// The commands of all extensions at this moment, in order; a command whose name somebody else has is
    /// reported and left out.
    pub fn commands(&self) -> Vec<CommandInfo> {
        self.inner.claim_commands().into_iter().map(|(info, _)| info).collect()
    }

    /// Runs a command with everything the user typed after its name. Upper and lower case are one. A name that nobody
    /// has is looked for again when the extensions that are still starting are ready.
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

    /// Returns the completions of a command with this text behind its name. Of two questions about one command, the
    /// newer one ends the older. A command that does not complete has no items, nor has one that fails to: that is
    /// reported.
    ///
    /// # Errors
    /// [`CommandError`] when there is no such command, or a newer question is asked.
    pub async fn complete_command(
        &self,
        cancel: &CancellationToken,
        name: &str,
        prefix: &str,
    ) -> Result<Vec<CompletionItem>, CommandError> {
        commands::complete(&self.inner, cancel, name, prefix).await
    }

    /// Counts changes of what extensions offer, so that the tools can be taken again before the next turn.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.shared.changes.subscribe()
    }

    /// The extensions' part in core's hooks, now and after every reload. Several agents may share it, and tell their
    /// events at the same time.
    pub fn hook_source(&self) -> Arc<dyn HookSource> {
        Arc::new(self.clone())
    }

    /// Does things for extensions from here on, under the hooks of this agent. What they wanted before waits for it a
    /// moment. Without [`HostBuilder::services`] there is nothing to do.
    pub fn serve(&self, caller: ExtensionToolRunner) {
        if let Some(provided) = &self.inner.shared.provided {
            provided.set_caller(caller);
        }
    }

    /// Why no tool runs, if so: see [`Found::blocked`]. Until a reload finds it mended.
    pub fn blocked_reason(&self) -> Option<String> {
        self.inner.set().blocked.clone()
    }

    /// All extensions and how they are, in order.
    pub fn statuses(&self) -> Vec<ExtensionStatus> {
        self.inner.set().entries.iter().map(|entry| status(&self.inner, entry)).collect()
    }

    /// Sends a key to the extension whose panel has the focus.
    pub fn panel_key(&self, extension: &ExtensionName, key: PanelKey) {
        self.send_frame(extension, HostFrame::PanelKey(key), None);
    }

    /// Tells an extension that the user closed its panel.
    pub fn panel_closed(&self, extension: &ExtensionName, panel_id: PanelId) {
        self.send_frame(extension, HostFrame::PanelClose(PanelClose { panel_id }), None);
    }

    /// Tells an extension the room of its panel, if it announced that it wants to know.
    pub fn panel_resized(&self, extension: &ExtensionName, room: PanelResize) {
        self.send_frame(extension, HostFrame::PanelResize(room), Some(capability::PANEL_RESIZE));
    }

    fn hook_context(&self) -> HookContext {
        HookContext {
            shared: Arc::clone(&self.inner.shared),
            gates: Arc::clone(&self.inner.gates),
            results: Arc::clone(&self.inner.results),
            restarts: Arc::new(self.clone()),
        }
    }

    fn event_broadcaster(&self, entries: Vec<Arc<ManagedExtension>>) -> EventBroadcaster {
        EventBroadcaster::new(entries, Arc::clone(&self.inner.shared.pump))
    }

    fn send_frame(&self, name: &ExtensionName, frame: HostFrame, capability: Option<&str>) {
        let Some(extension) = self.inner.find_extension(name).and_then(|entry| entry.handle()) else {
            return;
        };
        if capability.is_none_or(|capability| extension.snapshot().offers.has_capability(capability)) {
            extension.send_message(frame);
        }
    }

    /// A tool, once it is registered; nothing when nobody is starting any more who could bring it. The deadlines of a start
    /// see to it that this ends.
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
impl RestartGate for Host {
    async fn restart_gate(&self, name: &ExtensionName) {
        if let Err(error) = self.restart(name).await {
            tracing::warn!(extension = %name, %error, "a gate was not restarted");
        }
    }
}

#[async_trait]
impl HookSource for Host {
    async fn late_tool(&self, cancel: &CancellationToken, name: &str) -> Option<Arc<dyn Tool>> {
        cancel.run_until_cancelled(self.wait_for_tool(name)).await.flatten()
    }

    fn hooks(&self) -> HookSet {
        let (mut hooks, mut told, mut listening) = (HookSet::default(), Vec::new(), Vec::new());
        let context = Arc::new(self.hook_context());
        let set = self.inner.set();
        if let Some(why) = set.blocked.clone() {
            hooks.before_tool_execute.push(Arc::new(DenyAllHook { why }));
        }
        for entry in &set.entries {
            let off = self.inner.gates.is_disabled(entry.name());
            if let Some(hook) = entry.spec.as_hook() {
                listening.push(Arc::clone(entry));
                if !off {
                    let turns = || Arc::clone(&self.inner.turns);
                    process_hook::register_hooks(&mut hooks, &hook.watch, || {
                        ProcessHookAdapter::new(entry, turns(), Arc::clone(&context))
                    });
                }
                continue;
            }
            entry.with_view(|now| {
                if !now.is_files_only() {
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
                    let hook = ToolCallHook::new(Arc::clone(entry), Arc::clone(&context));
                    hooks.before_tool_execute.push(Arc::new(hook));
                }
                if now.takes_part(InterceptKind::AssistantMessage) {
                    hooks.before_assistant_message.push(Arc::clone(entry) as _);
                }
            });
        }
        drop(set);
        hooks.observers.push(Arc::new(self.event_broadcaster(told)));
        if !listening.is_empty() {
            let turns = Arc::clone(&self.inner.turns);
            let workspace = self.inner.shared.config.cwd.display().to_string();
            hooks.observers.push(Arc::new(HookEventBroadcaster {
                entries: listening,
                turns,
                workspace,
                context,
            }));
        }
        hooks
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("extensions", &self.inner.set().entries).finish_non_exhaustive()
    }
}
