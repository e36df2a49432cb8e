//! `SessionProvider`: the source of sessions, and other information that only the program has.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::error::TurnError;
use haft_core::hooks::UserInput;
use haft_core::model;
use haft_core::session::Session;
use haft_core::session::store::{SessionFile, SessionSummary};
use haft_core::tool::{Tool, ToolSet};
use haft_host::Host;
use haft_protocol::content::{Image, InputSource};
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{SessionShutdownReason, SessionStartReason};
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{CommandFailure, CommandInfo, ErrorCode, ModelInfo, SessionInfo};
use tokio::sync::{Mutex, mpsc};

use crate::screen::{ScreenFactory, SessionScreen};
use crate::shorten_name;

/// The sessions that a program offers to [`serve`](crate::serve()): its agents, models, stored
/// sessions and templates. The futures of its methods block nothing else, and are dropped when the
/// process is told to end.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::model::ModelResponse;
/// # use haft_core::hooks::CancellationToken;
/// # use haft_core::model::{Model, ModelError, ModelId, ModelRequest, ModelStream};
/// use haft_core::session::Session;
/// use haft_core::{Agent, BuildError};
/// use haft_rpc::{OpenedSession, ScreenFactory, ServeOptions, SessionChoice, SessionProvider};
/// use haft_protocol::rpc::{ErrorCode, CommandFailure};
/// # struct Parrot;
/// # #[async_trait::async_trait]
/// # impl Model for Parrot {
/// #     fn info(&self) -> ModelId { ModelId { provider: "zoo".into(), model: "parrot".into() } }
/// #     async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
/// #         Ok(ModelResponse::text("Hello!").into_stream())
/// #     }
/// # }
///
/// struct Mine;
///
/// #[async_trait::async_trait]
/// impl SessionProvider for Mine {
///     type Error = BuildError;
///
///     async fn first(&self, screens: &ScreenFactory) -> Result<OpenedSession, BuildError> {
///         let session = Session::in_memory("/srv/app".as_ref());
///         let screen = screens.open_screen(&session);
///         let agent = screen.attach_to(Agent::builder(Parrot).session(session)).build()?;
///         Ok(OpenedSession::new(agent, screen))
///     }
///
///     async fn open(&self, _: SessionChoice, _: &ScreenFactory) -> Result<OpenedSession, CommandFailure> {
///         Err(CommandFailure::new(ErrorCode::Unsupported, "this program has one session"))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let input = &b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"Hi\"}\n"[..];
/// let mut output = Vec::new();
/// let cancel = CancellationToken::new();
/// haft_rpc::serve(&cancel, Arc::new(Mine), input, &mut output, ServeOptions::new("1.0")).await?;
/// assert!(String::from_utf8(output)?.contains(r#"{"type":"text_delta","delta":"Hello!""#));
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait SessionProvider: Send + Sync + 'static {
    /// The reason why the first session failed to open, for the caller of
    /// [`serve`](crate::serve()).
    type Error: Send;

    /// Opens the first session of the process.
    ///
    /// # Errors
    /// The reason why it cannot be opened; no command is then read.
    async fn first(&self, screens: &ScreenFactory) -> Result<OpenedSession, Self::Error>;

    /// Opens another session.
    ///
    /// # Errors
    /// [`CommandFailure`], which the client receives.
    async fn open(
        &self,
        which: SessionChoice,
        screens: &ScreenFactory,
    ) -> Result<OpenedSession, CommandFailure>;

    /// Lists the sessions on disk, the most recently written first, each converted by
    /// [`stored_info`]. Open sessions may be included.
    ///
    /// # Errors
    /// [`CommandFailure`], which the client receives.
    async fn stored(&self) -> Result<Vec<SessionInfo>, CommandFailure> {
        Ok(Vec::new())
    }

    /// Lists the available models; empty if the program knows only the models in use.
    ///
    /// # Errors
    /// [`CommandFailure`], which the client receives.
    async fn models(&self) -> Result<Vec<ModelInfo>, CommandFailure> {
        Ok(Vec::new())
    }

    /// Returns the model for a client's request, by id or as `PROVIDER/MODEL`. `asked` is the
    /// session's model: an id without a provider refers to its provider.
    ///
    /// # Errors
    /// [`CommandFailure`], which the client receives.
    async fn model(
        &self,
        _name: &str,
        _asked: &model::ModelId,
    ) -> Result<Arc<dyn model::Model>, CommandFailure> {
        Err(CommandFailure::new(ErrorCode::Unsupported, "this program has only one model"))
    }

    /// Lists the templates and skills that clients can call by name, after the commands of
    /// extensions. May read the disk.
    fn templates(&self) -> Vec<CommandInfo> {
        Vec::new()
    }

    /// Expands `/name arguments` if no extension has such a command. May read the disk.
    fn expand(&self, _name: &str, _arguments: &str) -> TemplateExpansion {
        TemplateExpansion::Unknown
    }
}

/// The session to open.
#[derive(Debug, Clone)]
pub enum SessionChoice {
    /// A new session.
    New {
        /// True for a session without a file; `None` for the default of the process.
        ephemeral: Option<bool>,
    },
    /// The session on disk whose id begins with this text.
    Stored(String),
    /// This session, which is already open: a copy of another conversation.
    Given(Session),
}

impl SessionChoice {
    /// Returns the reason for the start of the session, for extensions.
    pub(crate) fn start_reason(&self) -> SessionStartReason {
        match self {
            Self::New { .. } => SessionStartReason::New,
            Self::Stored(_) => SessionStartReason::Resume,
            Self::Given(_) => SessionStartReason::Fork,
        }
    }
}

/// The result of expanding `/name arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateExpansion {
    /// A message for the model.
    Message(String),
    /// The expansion failed; the reason for people.
    Failed(String),
    /// There is no template and no skill of this name.
    Unknown,
}

/// An update of a run that an extension asked for, for [`OpenedSession::with_run_listener`].
#[derive(Debug)]
pub enum RunUpdate {
    /// An event.
    Event(AgentEvent),
    /// The end of the run, with the reason if it failed.
    Ended(Result<(), TurnError>),
    /// A command or compaction failed; an `error` event says why.
    Failed,
}

/// An open session.
#[derive(Debug)]
pub struct OpenedSession {
    pub(crate) agent: Agent,
    pub(crate) screen: Arc<SessionScreen>,
    pub(crate) extensions: Option<SessionExtensions>,
    /// The reason for its start, for extensions.
    pub(crate) reason: SessionStartReason,
    pub(crate) input_source: InputSource,
    /// The receiver of the events of runs, if the client is not.
    pub(crate) run_listener: Option<mpsc::Sender<RunUpdate>>,
    /// Held while an input is on its way to the agent, so that inputs keep their order.
    pub(crate) input_order: Arc<Mutex<()>>,
    /// Keeps records of programs in the order in which they were sent.
    pub(crate) record_order: Arc<Mutex<()>>,
}

/// The tools of the program in a session, which precede those of extensions. A list of tools never changes.
#[async_trait]
pub trait ProgramTools: Send + Sync {
    /// Returns the current tools.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// Prepares the session for the extensions after a reload.
    async fn extensions_reloaded(&self) {}
}

#[async_trait]
impl<T: ProgramTools + ?Sized> ProgramTools for Arc<T> {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        (**self).tools()
    }

    async fn extensions_reloaded(&self) {
        (**self).extensions_reloaded().await;
    }
}

#[async_trait]
impl ProgramTools for Vec<Arc<dyn Tool>> {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.clone()
    }
}

pub(crate) struct SessionExtensions {
    pub(crate) host: Host,
    pub(crate) own: Arc<dyn ProgramTools>,
}

impl OpenedSession {
    /// Creates an open session from an agent and its screen. The agent's builder must have been
    /// passed to [`SessionScreen::attach_to`].
    pub fn new(agent: Agent, screen: Arc<SessionScreen>) -> Self {
        let (input_source, input_order, record_order) = (InputSource::Rpc, Arc::default(), Arc::default());
        let reason = SessionStartReason::Startup;
        let (extensions, run_listener) = (None, None);
        Self { agent, screen, extensions, reason, input_source, run_listener, input_order, record_order }
    }

    /// Adds the extensions of this host, whose front end and event sink are the screen. The agent
    /// now also has their tools, after the program's own.
    #[must_use]
    pub fn with_extensions(self, host: Host, own: impl ProgramTools + 'static) -> Self {
        Self { extensions: Some(SessionExtensions { host, own: Arc::new(own) }), ..self }
    }

    /// Sets the origin of the client's inputs, which hooks receive. The default is
    /// [`InputSource::Rpc`].
    #[must_use]
    pub fn with_input_source(self, input_source: InputSource) -> Self {
        Self { input_source, ..self }
    }

    /// Sends the events of runs to this channel instead of the screen. A run waits until each is taken, so
    /// that none is dropped.
    #[must_use]
    pub fn with_run_listener(self, listener: mpsc::Sender<RunUpdate>) -> Self {
        Self { run_listener: Some(listener), ..self }
    }

    /// Shows an event of a run.
    pub(crate) async fn show_run_event(&self, event: AgentEvent) {
        match &self.run_listener {
            // A program that has stopped listening is about to end.
            Some(listener) => drop(listener.send(RunUpdate::Event(event)).await),
            None => self.screen.event(event),
        }
    }

    /// Reports the end of a job.
    pub(crate) async fn report_end(&self, end: RunUpdate) {
        if let Some(listener) = &self.run_listener {
            drop(listener.send(end).await);
        }
    }

    /// Creates an input of the client.
    pub(crate) fn create_input(&self, text: String, images: Vec<Image>) -> UserInput {
        UserInput::new(text, self.input_source).with_images(images)
    }

    /// Returns the host of the session's extensions, if it has any.
    pub(crate) fn host(&self) -> Option<&Host> {
        self.extensions.as_ref().map(|extensions| &extensions.host)
    }

    pub(crate) fn panel_host(
        &self,
        extension: &ExtensionName,
        panel: &PanelId,
    ) -> Result<&Host, CommandFailure> {
        let host = self.extension_host()?;
        if self.screen.has_panel(extension, panel) {
            return Ok(host);
        }
        let (extension, panel) = (shorten_name(extension.as_str()), shorten_name(panel.as_str()));
        let error = format!("panel {panel:?} of extension {extension} is not open");
        Err(CommandFailure::new(ErrorCode::NotOpen, error))
    }

    pub(crate) fn extension_host(&self) -> Result<&Host, CommandFailure> {
        let none = || CommandFailure::new(ErrorCode::Unsupported, "this session has no extensions");
        self.host().ok_or_else(none)
    }

    /// Sets the agent's current tools: the program's, then the extensions'.
    pub(crate) fn offer_tools(&self) {
        let Some(SessionExtensions { host, own }) = &self.extensions else { return };
        let mut tools = ToolSet::default();
        // The host lets an extension's tool have the name of a tool of the program only if the user agreed
        // that it replaces that tool.
        own.tools().into_iter().chain(host.tools()).for_each(|tool| tools.replace(tool));
        if let Err(error) = self.agent.set_tools(tools) {
            tracing::error!(%error, "cannot set the tools; the agent keeps the previous ones");
        }
    }

    /// Prepares the session for the extensions after a reload, and sets the tools.
    pub(crate) async fn adopt_reloaded(&self) {
        if let Some(extensions) = &self.extensions {
            extensions.own.extensions_reloaded().await;
        }
        self.offer_tools();
    }

    /// Stops the background commands and shuts down the extensions, and waits for their end.
    pub(crate) async fn end_processes(&self, reason: SessionShutdownReason) -> Result<(), CommandFailure> {
        let extensions = async {
            if let Some(extensions) = &self.extensions {
                extensions.host.shutdown_for(reason).await;
            }
        };
        tokio::join!(self.agent.background_jobs().stop_all(), extensions);
        Ok(())
    }
}

/// Describes a session on disk for [`SessionProvider::stored`]. The server sets whether it is open.
pub fn stored_info(found: &SessionFile, summary: SessionSummary) -> SessionInfo {
    let SessionSummary { cwd, created, last, name, tags, first_text, messages, usage, forked_from, .. } =
        summary;
    SessionInfo {
        session: found.id.to_string(),
        open: false,
        current: false,
        busy: false,
        path: Some(found.path.to_string_lossy().into_owned()),
        cwd,
        created,
        last,
        name,
        tags,
        first_text,
        messages: messages as u64,
        usage,
        forked_from: forked_from.map(|origin| origin.session.to_string()),
    }
}

impl std::fmt::Debug for SessionExtensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extensions").field("own", &self.own.tools().len()).finish_non_exhaustive()
    }
}
