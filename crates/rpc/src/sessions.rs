//! `SessionProvider`: where the sessions of a process come from, and what else only the program knows.

use std::sync::Arc;

use async_trait::async_trait;
use haft_core::Agent;
use haft_core::model;
use haft_core::session::Session;
use haft_core::session::store::{SessionFile, SessionSummary};
use haft_core::tool::{Tool, ToolSet};
use haft_host::Host;
use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{CommandFailure, CommandInfo, ErrorCode, ModelInfo, SessionInfo};

use crate::screen::{ScreenFactory, SessionScreen};
use crate::shorten_name;

/// The sessions that a program gives [`serve`](crate::serve()): its agents, and what it knows of models, sessions and
/// templates. What a future of its methods waits for holds up nothing: it is dropped when the process is told to end.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::model::ModelResponse;
/// # use haft_core::hooks::CancellationToken;
/// # use haft_core::model::{Model, ModelError, ModelInfo, ModelRequest, ModelStream};
/// use haft_core::session::Session;
/// use haft_core::{Agent, BuildError};
/// use haft_rpc::{Opened, ServeOptions, ScreenFactory, SessionProvider, SessionChoice};
/// use haft_protocol::rpc::{ErrorCode, Failure};
/// # struct Parrot;
/// # #[async_trait::async_trait]
/// # impl Model for Parrot {
/// #     fn info(&self) -> ModelInfo { ModelInfo { provider: "zoo".into(), model: "parrot".into() } }
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
///     async fn first(&self, screens: &ScreenFactory) -> Result<Opened, BuildError> {
///         let session = Session::in_memory("/srv/app".as_ref());
///         let screen = screens.begin(&session);
///         let agent = screen.joined(Agent::builder(Parrot).session(session)).build()?;
///         Ok(Opened::new(agent, screen))
///     }
///
///     async fn open(&self, _: SessionChoice, _: &ScreenFactory) -> Result<Opened, Failure> {
///         Err(Failure::new(ErrorCode::Unsupported, "this program has one session"))
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
    /// Why there is no first session, for whoever called [`serve`](crate::serve()).
    type Error: Send;

    /// Opens the session that the process begins with.
    ///
    /// # Errors
    /// Why it cannot be; then nothing is read and nothing served.
    async fn first(&self, screens: &ScreenFactory) -> Result<OpenedSession, Self::Error>;

    /// Opens another session.
    ///
    /// # Errors
    /// [`Failure`], which the client is told.
    async fn open(
        &self,
        which: SessionChoice,
        screens: &ScreenFactory,
    ) -> Result<OpenedSession, CommandFailure>;

    /// The sessions on the disk, the one that was written last first; those that are open may be among them. Each as
    /// [`stored_info`] makes it.
    ///
    /// # Errors
    /// [`Failure`], which the client is told.
    async fn stored(&self) -> Result<Vec<SessionInfo>, CommandFailure> {
        Ok(Vec::new())
    }

    /// The models that can be asked; nothing where the program knows of no other than those that are asked.
    ///
    /// # Errors
    /// [`Failure`], which the client is told.
    async fn models(&self) -> Result<Vec<ModelInfo>, CommandFailure> {
        Ok(Vec::new())
    }

    /// The model that a client wants, by its id or as `PROVIDER/MODEL`. `asked` is the session's model: an id alone is
    /// meant beside it.
    ///
    /// # Errors
    /// [`Failure`], which the client is told.
    async fn model(
        &self,
        _name: &str,
        _asked: &model::ModelInfo,
    ) -> Result<Arc<dyn model::Model>, CommandFailure> {
        Err(CommandFailure::new(ErrorCode::Unsupported, "this program asks one model only"))
    }

    /// The templates and skills that can be called by name, after the commands of extensions. May read the disk.
    fn templates(&self) -> Vec<CommandInfo> {
        Vec::new()
    }

    /// Expands `/name arguments`, where no extension has such a command. May read the disk.
    fn expand(&self, _name: &str, _arguments: &str) -> TemplateExpansion {
        TemplateExpansion::Unknown
    }
}

/// A session that is wanted.
#[derive(Debug, Clone)]
pub enum SessionChoice {
    /// A new one.
    New {
        /// True if the session leaves no file; `None`: as the process was started.
        ephemeral: Option<bool>,
    },
    /// The one on the disk whose id begins so.
    Stored(String),
    /// This one, which is open already: the copy of another one's conversation.
    Given(Session),
}

/// The expansion of `/name arguments`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateExpansion {
    /// A message for the model.
    Message(String),
    /// Nothing can be made of it; why, for people.
    Failed(String),
    /// There is no template and no skill of this name.
    Unknown,
}

/// A session that is open.
#[derive(Debug)]
pub struct OpenedSession {
    pub(crate) agent: Agent,
    pub(crate) screen: Arc<SessionScreen>,
    pub(crate) extensions: Option<SessionExtensions>,
}

pub(crate) struct SessionExtensions {
    pub(crate) host: Host,
    /// The tools that are offered before theirs.
    pub(crate) own: Vec<Arc<dyn Tool>>,
}

impl OpenedSession {
    /// An agent, built with what [`SessionScreen::attach_to`] has put into its builder, and its screen.
    pub fn new(agent: Agent, screen: Arc<SessionScreen>) -> Self {
        Self { agent, screen, extensions: None }
    }

    /// With the extensions of this host, whose front end and events are those of the screen. Their tools are offered from
    /// here on, behind these of the program.
    #[must_use]
    pub fn with_extensions(self, host: Host, own: Vec<Arc<dyn Tool>>) -> Self {
        Self { extensions: Some(SessionExtensions { host, own }), ..self }
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
        let error = format!("extension {extension} has no panel {panel:?} open");
        Err(CommandFailure::new(ErrorCode::NotOpen, error))
    }

    pub(crate) fn extension_host(&self) -> Result<&Host, CommandFailure> {
        let none = || CommandFailure::new(ErrorCode::Unsupported, "this session has no extensions");
        self.host().ok_or_else(none)
    }

    /// Offers the tools of this moment: the program's, then the extensions'.
    pub(crate) fn offer_tools(&self) {
        let Some(SessionExtensions { host, own }) = &self.extensions else { return };
        let mut tools = ToolSet::default();
        for tool in own.iter().cloned().chain(host.tools()) {
            if let Err(error) = tools.add(Arc::clone(&tool)) {
                tracing::error!(%error, "a tool is not offered");
            }
        }
        if let Err(error) = self.agent.set_tools(tools) {
            tracing::error!(%error, "the tools stay as they were");
        }
    }

    /// Has the extensions leave, if there are any, and waits until they have.
    pub(crate) async fn end_extensions(&self) -> Result<(), CommandFailure> {
        if let Some(extensions) = &self.extensions {
            extensions.host.shutdown().await;
        }
        Ok(())
    }
}

/// A session on the disk, as [`SessionProvider::stored`] tells it. Whether it is open, the server knows.
pub fn stored_info(found: &SessionFile, summary: SessionSummary) -> SessionInfo {
    let SessionSummary { cwd, created, last, name, tags, first_text, messages, usage, forked_from } = summary;
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
        f.debug_struct("Extensions").field("own", &self.own.len()).finish_non_exhaustive()
    }
}
