//! `HostBuilder`: creates a host with running extensions from a configuration.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use haft_packages::{ExtensionSpec, HookCommand, HookSpec};
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Host;
use super::active_extensions::ActiveExtensions;
use super::completions::CompletionTracker;
use super::host_state::{DiscoveredExtensions, HostState, SpecSource};
use super::start::start_first;
use crate::agent::pins::ToolTextPins;
use crate::agent::tool::ResultFiles;
use crate::extension::frontend::{EventSink, Frontend, HeadlessFrontend};
use crate::extension::services::{ExtensionToolSource, ServiceProvider};
use crate::process::connection::Connection;
use crate::supervision::config::HostConfig;
use crate::supervision::host_context::HostContext;
use crate::supervision::streams::stream_spec;

/// Collects the parts of a [`Host`]. Created by [`Host::builder`].
///
/// ```
/// use std::path::PathBuf;
/// use std::sync::Arc;
///
/// use haft_core::model::ModelId;
/// use haft_core::protocol::event::AgentEvent;
/// use haft_packages::discovery::{Discovery, DiscoveryOptions};
/// use haft_host::{Host, HostConfig};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let model = ModelId { provider: "scripted".into(), model: "demo".into() };
/// let search = DiscoveryOptions { explicit: vec![PathBuf::from("/opt/app/guard")], ..DiscoveryOptions::default() };
/// let host = Host::builder(HostConfig::new("1.0.0", model, "/srv/app"))
/// // Called now and at every reload.
///     .source(move || Discovery::run(&search).into())
/// // Faults of extensions are reported only here.
///     .events(Arc::new(|event| {
///         if let AgentEvent::ExtensionError(fault) = event {
///             println!("{}: {}", fault.extension, fault.message);
///         }
///     }))
///     .start()
///     .await;
/// assert!(host.tools().is_empty()); // the extension does not exist, which was reported
/// host.shutdown().await;
/// # }
/// ```
#[must_use = "a builder starts nothing before `start`"]
pub struct HostBuilder {
    pub(super) config: HostConfig,
    source: SpecSource,
    events: EventSink,
    frontend: Arc<dyn Frontend>,
    services: Option<Arc<dyn ExtensionToolSource>>,
    streams: Vec<(ExtensionSpec, Connection)>,
}

impl HostBuilder {
    pub(super) fn new(config: HostConfig) -> Self {
        Self {
            config,
            source: Arc::new(DiscoveredExtensions::default),
            events: Arc::new(|_| {}),
            frontend: Arc::new(HeadlessFrontend),
            services: None,
            streams: Vec::new(),
        }
    }

    /// Sets a fixed list of extensions for the start and every reload.
    pub fn specs(self, specs: Vec<ExtensionSpec>) -> Self {
        self.source(move || specs.clone().into())
    }

    /// Sets the function that finds the extensions at the start and at every reload.
    pub fn source(mut self, source: impl Fn() -> DiscoveredExtensions + Send + Sync + 'static) -> Self {
        self.source = Arc::new(source);
        self
    }

    /// Sets the receiver of notes and faults. It receives all events, including those during the start.
    pub fn events(mut self, events: EventSink) -> Self {
        self.events = events;
        self
    }

    /// Sets the screen that extensions can draw on.
    pub fn frontend(mut self, frontend: Arc<dyn Frontend>) -> Self {
        self.frontend = frontend;
        self
    }

    /// Sets the services for extensions, which use the tools of the embedding program. Without this call
    /// there are none. Calls are served once [`Host::serve`] sets the agent.
    pub fn services(mut self, services: Arc<dyn ExtensionToolSource>) -> Self {
        self.services = Some(services);
        self
    }

    /// Adds an extension behind a pair of streams. It survives a reload.
    pub fn streams(
        mut self,
        name: &str,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let connection = Connection::Streams(Box::new(reader), Box::new(writer));
        self.streams.push((stream_spec(name), connection));
        self
    }

    /// Adds a process hook behind a pair of streams. It survives a reload.
    pub fn hook_streams(
        mut self,
        name: &str,
        hook: HookSpec,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let connection = Connection::Streams(Box::new(reader), Box::new(writer));
        let command = HookCommand::default();
        let spec = ExtensionSpec::from_hook(ExtensionName::new(name), hook, &command, &self.config.cwd);
        self.streams.push((spec, connection));
        self
    }

    /// Starts all extensions and waits until they are ready or have failed. [`start_agent`](Self::start_agent) also builds
    /// their agent.
    ///
    /// The wait for an extension without `hello` is limited to [`Timeouts::start_patience`](crate::Timeouts),
    /// unless it is required or named on the command line. A slower extension joins when it is ready. The
    /// start itself cannot fail: failures are reported as events.
    pub async fn start(self) -> Host {
        let Self { mut config, source, events, frontend, services, streams } = self;
        if let Ok(cwd) = std::path::absolute(&config.cwd) {
            config.cwd = cwd;
        }
        let set = ActiveExtensions::new(&config, Vec::new(), None);
        let relay = Arc::new(EventRelay { sink: events, host: OnceLock::new() });
        let events: EventSink = {
            let relay = Arc::clone(&relay);
            Arc::new(move |event| relay.send(event))
        };
        let inner = HostState {
            results: Arc::new(ResultFiles::new(config.results.clone(), config.result_filter.clone())),
            pins: Arc::new(ToolTextPins::new(config.tool_pins.clone())),
            shared: Arc::new(HostContext::new(config, events, frontend, services.map(ServiceProvider::new))),
            source,
            gates: Arc::default(),
            set: Mutex::new(set),
            completing: CompletionTracker::default(),
            turnstile: tokio::sync::Mutex::new(()),
        };
        let host = Host { inner: Arc::new(inner) };
        _ = relay.host.set(Arc::downgrade(&host.inner));
        let state = Arc::downgrade(&host.inner);
        host.inner.shared.bus.connect(move |message| {
            if let Some(state) = state.upgrade() {
                state.broadcast_message(message);
            }
        });
        start_first(&host.inner, streams).await;
        host
    }
}

/// Sends the events of the host to the program, and before that to the extensions that watch them.
struct EventRelay {
    sink: EventSink,
    host: OnceLock<Weak<HostState>>,
}

impl EventRelay {
    fn send(&self, event: AgentEvent) {
        if let Some(host) = self.host.get().and_then(Weak::upgrade) {
            host.broadcast_event(&event);
        }
        (self.sink)(event);
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}
