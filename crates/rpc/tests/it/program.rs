//! The program under test: a scripted model, a tool, and an extension behind two streams.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::compact::CompactSettings;
use haft_core::hooks::{AfterModelResponse, CancellationToken, ReceivedResponse, Refusal, ResponseDecision};
use haft_core::model::{Model, ModelId};
use haft_core::services::{ExtensionToolSource, ServiceReach};
use haft_core::session::Session;
use haft_core::session::store::SessionStore;
use haft_core::tool::{Tool, ToolConcurrency, ToolContext, ToolOutput, ToolPreview, ToolSpec};
use haft_host::{Host, HostConfig};
use haft_protocol::content::{CallPreview, FileDiff, ToolCall};
use haft_protocol::message::Rfc3339Time;
use haft_protocol::rpc::{self, CommandFailure, CommandInfo, ErrorCode, SessionInfo};
use haft_rpc::{
    OpenedSession, ScreenFactory, SessionChoice, SessionProvider, TemplateExpansion, stored_info,
};
use haft_test_support::FakePeer;
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Notify;

use crate::played::{Answer, Played};

/// A tool that returns its arguments. The arguments `{"change":PATH}` have a preview.
struct Look;

#[async_trait]
impl Tool for Look {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("look", "Looks at something."))
    }

    async fn execute(&self, context: ToolContext, call: ToolCall) -> ToolOutput {
        context.progress("looking");
        ToolOutput::text(format!("saw {}", call.args))
    }

    async fn preview(&self, _: &ToolContext, call: &ToolCall) -> Option<ToolPreview> {
        let args: BTreeMap<String, String> = call.args.read().ok()?;
        let path = args.get("change")?.clone();
        let unified = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+new\n");
        let diff = FileDiff::new(path, unified, 1, 1);
        Some(ToolPreview::new(CallPreview::Diff(diff)))
    }
}

/// A tool that runs alone, until it is released.
struct Wait(Arc<Notify>);

#[async_trait]
impl Tool for Wait {
    fn spec(&self) -> Arc<ToolSpec> {
        let spec = ToolSpec::new("wait", "Waits.");
        Arc::new(spec.with_concurrency(ToolConcurrency::Exclusive))
    }

    async fn execute(&self, _: ToolContext, _: ToolCall) -> ToolOutput {
        self.0.notified().await;
        ToolOutput::text("waited")
    }
}

/// A file service that describes itself.
struct Looks;

impl ExtensionToolSource for Looks {
    fn tools(&self, _: &ServiceReach) -> Result<Vec<Arc<dyn Tool>>, String> {
        Ok(vec![Arc::new(Read)])
    }
}

/// The host calls of extensions.
struct Read;

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::new(ToolSpec::new("read", "Reads."))
    }

    async fn execute(&self, _: ToolContext, call: ToolCall) -> ToolOutput {
        ToolOutput::text(format!("read {}", call.args))
    }
}

/// A hook that refuses secrets.
struct Discreet;

#[async_trait]
impl AfterModelResponse for Discreet {
    async fn after_model_response(&self, _: &CancellationToken, told: &ReceivedResponse) -> ResponseDecision {
        let text = haft_protocol::message::text_of(&told.content);
        match text.contains("secret") {
            true => ResponseDecision::Refuse(Refusal::for_discarded_turn("a secret")),
            false => ResponseDecision::Keep,
        }
    }

    fn suppresses_deltas(&self) -> bool {
        false
    }

    fn name(&self) -> &str {
        "discreet"
    }
}

/// The streams of a scripted extension.
type Streams = (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>);

/// A program with one model, and a second one to switch to.
pub(crate) struct Program {
    model: Arc<Played>,
    /// The number of sessions it can open.
    opens: AtomicU64,
    /// True if its sessions have no extensions.
    plain: bool,
    /// True if the list of models never arrives.
    asleep: bool,
    /// The extensions of the first session.
    extensions: Mutex<Vec<(&'static str, Streams)>>,
    /// The directory of recorded sessions, if any.
    sessions: Option<PathBuf>,
    ticks: Arc<AtomicU64>,
    /// Releases the tool `wait`.
    gate: Arc<Notify>,
    /// The opened agents, for inspection.
    agents: Arc<Mutex<Vec<Agent>>>,
}

impl Program {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self {
            model: Played::new("one", answers),
            opens: AtomicU64::new(u64::MAX),
            plain: false,
            asleep: false,
            extensions: Mutex::default(),
            sessions: None,
            ticks: Arc::default(),
            gate: Arc::default(),
            agents: Arc::default(),
        }
    }

    /// Adds a scripted extension to the first session.
    pub(crate) fn with_extension(self, name: &'static str) -> (Self, FakePeer) {
        let (peer, reader, writer) = FakePeer::pair();
        self.extensions.lock().unwrap().push((name, (reader, writer)));
        (self, peer)
    }

    /// Limits the number of sessions that can be opened.
    pub(crate) fn opening(self, sessions: u64) -> Self {
        Self { opens: AtomicU64::new(sessions), ..self }
    }

    /// Creates sessions without extensions.
    pub(crate) fn plain(self) -> Self {
        Self { plain: true, ..self }
    }

    /// Makes the list of models never arrive.
    pub(crate) fn asleep(self) -> Self {
        Self { asleep: true, ..self }
    }

    pub(crate) fn recording(self, sessions: &Path) -> Self {
        Self { sessions: Some(sessions.to_owned()), ..self }
    }

    /// Returns the handle that releases the tool `wait`.
    pub(crate) fn gate(&self) -> Arc<Notify> {
        Arc::clone(&self.gate)
    }

    /// Returns the agents that are opened later.
    pub(crate) fn agents(&self) -> Arc<Mutex<Vec<Agent>>> {
        Arc::clone(&self.agents)
    }

    fn cwd() -> &'static Path {
        Path::new("/srv/app")
    }

    fn fresh(&self, ephemeral: bool) -> Session {
        match &self.sessions {
            Some(dir) if !ephemeral => SessionStore::new(dir).create(Self::cwd()),
            _ => Session::in_memory(Self::cwd()),
        }
    }

    async fn begin(
        &self,
        session: Session,
        screens: &ScreenFactory,
    ) -> Result<OpenedSession, CommandFailure> {
        let clock = clock(&self.ticks);
        let session = session.with_clock(clock.clone());
        let screen = screens.open_screen(&session);
        let left = self.opens.load(Ordering::Relaxed);
        self.opens.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 {
            return Err(CommandFailure::new(ErrorCode::Failed, "no room for another session; close one"));
        }
        let mut config = HostConfig::new("1.0.0", self.model.info(), Self::cwd());
        config.reserved_tools = vec!["look".into(), "wait".into()];
        let host = Host::builder(config).events(screen.events()).frontend(screen.clone());
        let mut host = host.services(Arc::new(Looks));
        for (name, (reader, writer)) in std::mem::take(&mut *self.extensions.lock().unwrap()) {
            host = host.streams(name, reader, writer);
        }
        let host = host.start().await;
        let own: Vec<Arc<dyn Tool>> = vec![Arc::new(Look), Arc::new(Wait(Arc::clone(&self.gate)))];
        let agent = Agent::builder(Arc::clone(&self.model))
            .session(session)
            .clock(clock)
            .hook_source(host.hook_source())
            .after_model_response(Discreet)
            .compaction(CompactSettings::default().with_keep(1))
            .tools(own.iter().cloned().chain(host.tools()));
        let agent = screen.attach_to(agent).build().unwrap();
        host.serve(agent.tool_runner());
        self.agents.lock().unwrap().push(agent.clone());
        Ok(match self.plain {
            true => OpenedSession::new(agent, screen),
            false => OpenedSession::new(agent, screen).with_extensions(host, own),
        })
    }
}

/// Returns a clock that advances by a second with each call.
fn clock(ticks: &Arc<AtomicU64>) -> impl Fn() -> Rfc3339Time + Clone + Send + Sync + 'static {
    let ticks = Arc::clone(ticks);
    move || {
        let seconds = ticks.fetch_add(1, Ordering::Relaxed);
        Rfc3339Time(format!("2026-01-02T03:{:02}:{:02}Z", seconds / 60 % 60, seconds % 60))
    }
}

#[async_trait]
impl SessionProvider for Program {
    type Error = CommandFailure;

    async fn first(&self, screens: &ScreenFactory) -> Result<OpenedSession, CommandFailure> {
        self.open(SessionChoice::New { ephemeral: None }, screens).await
    }

    async fn open(
        &self,
        which: SessionChoice,
        screens: &ScreenFactory,
    ) -> Result<OpenedSession, CommandFailure> {
        let session = match which {
            SessionChoice::New { ephemeral } => self.fresh(ephemeral.unwrap_or(false)),
            SessionChoice::Given(session) => session,
            SessionChoice::Stored(name) if name == "cursed" => panic!("the disk is cursed"),
            SessionChoice::Stored(name) => {
                let none = || {
                    CommandFailure::new(ErrorCode::SessionNotFound, format!("no session matches {name:?}"))
                };
                let store = SessionStore::new(self.sessions.as_ref().ok_or_else(none)?);
                let found = store.find(&name).map_err(|_| none())?;
                Session::open(&found.path)
                    .map_err(|error| CommandFailure::new(ErrorCode::SessionLocked, error.to_string()))?
            }
        };
        self.begin(session, screens).await
    }

    async fn stored(&self) -> Result<Vec<SessionInfo>, CommandFailure> {
        let Some(dir) = &self.sessions else { return Ok(Vec::new()) };
        let found = SessionStore::new(dir).list(Self::cwd()).unwrap_or_default();
        Ok(found.iter().map(|found| stored_info(found, found.summary().unwrap())).collect())
    }

    async fn models(&self) -> Result<Vec<rpc::ModelInfo>, CommandFailure> {
        match self.asleep {
            true => std::future::pending().await,
            false => Ok(Vec::new()),
        }
    }

    async fn model(&self, name: &str, _: &ModelId) -> Result<Arc<dyn Model>, CommandFailure> {
        match name {
            "two" | "played/two" => Ok(Played::new("two", [])),
            "cursed" => panic!("the list of models is cursed"),
            "asleep" => std::future::pending().await,
            _ => Err(CommandFailure::new(
                ErrorCode::ModelNotFound,
                format!("there is no model {name}; there is two"),
            )),
        }
    }

    fn templates(&self) -> Vec<CommandInfo> {
        vec![CommandInfo {
            name: "review".into(),
            description: "Looks at a file.".into(),
            extension: None,
            completes: false,
        }]
    }

    fn expand(&self, name: &str, arguments: &str) -> TemplateExpansion {
        match name {
            "review" if arguments.is_empty() => TemplateExpansion::Failed("say which file".into()),
            "review" => TemplateExpansion::Message(format!("/review {arguments} with care")),
            _ => TemplateExpansion::Unknown,
        }
    }
}
