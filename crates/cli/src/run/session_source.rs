//! `SessionSource`: opens the sessions of `haft rpc` and of the screen, and knows models, templates and stored sessions;
//! a printed run opens its session by itself.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::Context as _;
use async_trait::async_trait;
use haft_core::Agent;
use haft_core::model::{Model, ModelId};
use haft_core::session::Session;
use haft_protocol::content::InputSource;
use haft_protocol::ext::HostMode;
use haft_protocol::rpc::{self, CommandFailure, CommandInfo, ErrorCode, SessionInfo};
use haft_rpc::{OpenedSession, ScreenFactory, SessionChoice, SessionScreen, TemplateExpansion, stored_info};

use crate::advice::error_text;
use crate::args::RunArgs;
use crate::console::note;
use crate::exit::Exit;
use crate::resources::{PromptResources, SharedResources};
use crate::run::{self, RunParts, RunningAgent, SelectedSession, SessionOutputs};
use crate::session::SessionFinder;
use crate::setup::RunSetup;

/// The command line, and the state of the process.
pub(crate) struct SessionSource {
    args: Arc<RunArgs>,
    /// True if new sessions are recorded, unless the client decides otherwise.
    records: bool,
    stored: Arc<SessionFinder>,
    /// The parts of the first session, until it is opened.
    initial_session: Mutex<Option<(RunSetup, SelectedSession)>>,
    first_model: OnceLock<ModelId>,
    /// The templates and skills of the latest session.
    resources: Mutex<SharedResources>,
    on_open: Box<dyn Fn(&Agent) + Send + Sync>,
    input_source: InputSource,
    /// True if the process has one session, which its run drives.
    is_printed_run: bool,
}

/// A session to open.
enum RequestedSession {
    /// A new or stored session, as in a run.
    Chosen(SelectedSession),
    Copy(Session),
}

impl SessionSource {
    pub(crate) fn new(args: RunArgs, records: bool, setup: RunSetup, chosen: SelectedSession) -> Self {
        let stored = SessionFinder::new(&setup.home, &setup.cwd);
        Self {
            records,
            initial_session: Mutex::new(Some((setup, chosen))),
            input_source: InputSource::Rpc,
            is_printed_run: false,
            ..Self::for_printed_run(args, stored)
        }
    }

    /// Creates the source of a process whose run opens the only session.
    pub(crate) fn for_printed_run(args: RunArgs, stored: SessionFinder) -> Self {
        Self {
            args: Arc::new(args),
            records: false,
            stored: Arc::new(stored),
            initial_session: Mutex::default(),
            first_model: OnceLock::new(),
            resources: Mutex::default(),
            on_open: Box::new(|_| {}),
            input_source: InputSource::Print,
            is_printed_run: true,
        }
    }

    /// Sets a listener that is called for each opened session, before the client is notified.
    pub(crate) fn with_open_listener(self, opened: impl Fn(&Agent) + Send + Sync + 'static) -> Self {
        Self { on_open: Box::new(opened), ..self }
    }

    /// Sets the origin of the inputs of all sessions.
    pub(crate) fn with_input_source(self, input_source: InputSource) -> Self {
        Self { input_source, ..self }
    }

    async fn setup(&self) -> anyhow::Result<RunSetup> {
        let args = Arc::clone(&self.args);
        off_thread(move || RunSetup::read(&args)).await?
    }

    async fn resolve_request(
        &self,
        which: SessionChoice,
    ) -> Result<(RunSetup, RequestedSession), CommandFailure> {
        let (args, stored, records) = (Arc::clone(&self.args), Arc::clone(&self.stored), self.records);
        let read = move || {
            let setup = RunSetup::read(&args).map_err(|error| command_failure(&error))?;
            run::check_named(&setup).map_err(|error| command_failure(&error))?;
            let wanted = select_session(which, &setup, &stored, records)?;
            Ok((setup, wanted))
        };
        off_thread(read).await.map_err(|error| command_failure(&error))?
    }

    async fn parts(&self, setup: RunSetup, wanted: RequestedSession) -> anyhow::Result<RunParts> {
        match (wanted, self.first_model.get()) {
            (RequestedSession::Chosen(chosen), _) if self.input_source == InputSource::Interactive => {
                run::build_parts_for_screen(&self.args, setup, chosen).await
            }
            (RequestedSession::Chosen(chosen), _) => run::build_parts(&self.args, setup, chosen).await,
            (RequestedSession::Copy(copy), Some(first)) => {
                run::build_parts_for_copy(&self.args, setup, copy, first).await
            }
            (RequestedSession::Copy(_), None) => {
                anyhow::bail!("cannot fork: no session is open yet")
            }
        }
    }

    async fn open_session(&self, parts: RunParts, screens: &ScreenFactory) -> anyhow::Result<OpenedSession> {
        let screen = screens.open_screen(&parts.session);
        // Opening repaired the file already, so the repairs are reported now or never.
        let events = screen.events();
        parts.session.take_repair_events().into_iter().for_each(|event| events(event));
        let mode =
            if self.input_source == InputSource::Interactive { HostMode::Interactive } else { HostMode::Rpc };
        let joined = run::build_agent(parts.in_mode(mode), SessionOutputs::for_screen(&screen)).await?;
        if let Err(error) = joined.check().await {
            joined.host.shutdown().await;
            return Err(error);
        }
        (self.on_open)(&joined.agent);
        Ok(self.adopt_session(&joined, &screen))
    }

    /// Takes the session that the run opened.
    pub(super) fn adopt_session(&self, joined: &RunningAgent, screen: &Arc<SessionScreen>) -> OpenedSession {
        self.first_model.get_or_init(|| joined.agent.model());
        *lock(&self.resources) = joined.resources.shared_resources();
        let opened = OpenedSession::new(joined.agent.clone(), Arc::clone(screen));
        let opened = opened.with_input_source(self.input_source);
        opened.with_extensions(joined.host.clone(), Arc::clone(&joined.resources))
    }

    pub(super) fn resources(&self) -> Arc<PromptResources> {
        lock(&self.resources).get()
    }
}

fn select_session(
    which: SessionChoice,
    setup: &RunSetup,
    stored: &SessionFinder,
    records: bool,
) -> Result<RequestedSession, CommandFailure> {
    Ok(match which {
        SessionChoice::New { ephemeral } => {
            let recorded = ephemeral.map_or(records, |ephemeral| !ephemeral);
            let session = if recorded { stored.create() } else { Session::in_memory(&setup.cwd) };
            RequestedSession::Chosen(SelectedSession { session, resumed: false })
        }
        SessionChoice::Stored(id) => {
            let found = stored.by_id(&id).map_err(|error| lookup_failure(&error))?;
            let session = run::resume(&found, setup).map_err(|error| command_failure(&error))?;
            RequestedSession::Chosen(SelectedSession { session, resumed: true })
        }
        SessionChoice::Given(copy) => RequestedSession::Copy(copy),
    })
}

#[async_trait]
impl haft_rpc::SessionProvider for SessionSource {
    type Error = anyhow::Error;

    async fn first(&self, screens: &ScreenFactory) -> anyhow::Result<OpenedSession> {
        let begin = lock(&self.initial_session).take();
        let (setup, chosen) = begin.context("the first session is already open")?;
        let parts = self.parts(setup, RequestedSession::Chosen(chosen)).await?;
        if let Some(warning) = run::thinking_level_note(&*parts.model, parts.thinking) {
            note(&warning);
        }
        self.first_model.get_or_init(|| parts.model.info());
        self.open_session(parts, screens).await
    }

    async fn open(
        &self,
        which: SessionChoice,
        screens: &ScreenFactory,
    ) -> Result<OpenedSession, CommandFailure> {
        if self.is_printed_run {
            let error = "`haft -p` and `--json` have one session; use `haft rpc` to open others";
            return Err(CommandFailure::new(ErrorCode::Unsupported, error));
        }
        let (setup, wanted) = self.resolve_request(which).await?;
        let opened = async { self.open_session(self.parts(setup, wanted).await?, screens).await };
        opened.await.map_err(|error| command_failure(&error))
    }

    async fn stored(&self) -> Result<Vec<SessionInfo>, CommandFailure> {
        let stored = Arc::clone(&self.stored);
        let listed = off_thread(move || list_stored_sessions(&stored)).await;
        listed.flatten().map_err(|error| command_failure(&error))
    }

    async fn models(&self) -> Result<Vec<rpc::ModelInfo>, CommandFailure> {
        let setup = self.setup().await.map_err(|error| command_failure(&error))?;
        Ok(run::models_for_clients(&setup).await)
    }

    async fn model(&self, name: &str, asked: &ModelId) -> Result<Arc<dyn Model>, CommandFailure> {
        let found = async {
            let setup = self.setup().await?;
            run::choose_by_name(&self.args, &setup, self.first_model.get().unwrap_or(asked), name, asked)
                .await
        };
        found.await.map_err(|error| failure_with_code(ErrorCode::ModelNotFound, &error))
    }

    fn templates(&self) -> Vec<CommandInfo> {
        let resources = self.resources();
        let templates = resources.find_templates().templates.into_iter();
        let skills = resources.skills.skills.iter();
        let skills = skills.map(|skill| (format!("skill:{}", skill.name), skill.description.clone()));
        let all = templates.map(|template| (template.name, template.description)).chain(skills);
        all.map(|(name, description)| CommandInfo { name, description, extension: None, completes: false })
            .collect()
    }

    fn expand(&self, name: &str, arguments: &str) -> TemplateExpansion {
        let resources = self.resources();
        match resources.expand(&resources.find_templates(), name, arguments) {
            haft_config::TemplateExpansion::Prompt(text) => TemplateExpansion::Message(text),
            haft_config::TemplateExpansion::Failed(why) => TemplateExpansion::Failed(why),
            haft_config::TemplateExpansion::Unknown => TemplateExpansion::Unknown,
        }
    }
}

/// Runs blocking work on another thread.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("internal error while reading files")
}

/// Locks the mutex. A panic cannot leave the value half changed, because each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn command_failure(error: &anyhow::Error) -> CommandFailure {
    let code = if Exit::from_error(error) == Exit::SessionInUse {
        ErrorCode::SessionLocked
    } else {
        ErrorCode::Failed
    };
    failure_with_code(code, error)
}

/// Returns the failure of a session lookup: no match, or more than one.
fn lookup_failure(error: &anyhow::Error) -> CommandFailure {
    if Exit::from_error(error) == Exit::Session {
        failure_with_code(ErrorCode::SessionNotFound, error)
    } else {
        command_failure(error)
    }
}

fn failure_with_code(code: ErrorCode, error: &anyhow::Error) -> CommandFailure {
    CommandFailure::new(code, error_text(error))
}

/// Returns the sessions of the directory, latest first. Unreadable sessions are left out.
fn list_stored_sessions(sessions: &SessionFinder) -> anyhow::Result<Vec<SessionInfo>> {
    let listed = sessions.in_directory()?.into_iter().filter_map(|found| match found.summary() {
        Ok(summary) => Some(stored_info(&found, summary)),
        Err(error) => {
            tracing::warn!(%error, path = %found.path.display(), "cannot read a session; it is not listed");
            None
        }
    });
    Ok(listed.collect())
}

#[cfg(test)]
mod tests {
    use haft_config::Home;
    use haft_core::session::Durability;
    use haft_core::session::entry::Name;

    use super::*;

    #[test]
    fn derives_error_code_from_exit_code() {
        let error = |exit: Exit| exit.attach_to(anyhow::anyhow!("why"));
        assert_eq!(
            command_failure(&error(Exit::SessionInUse)),
            CommandFailure::new(ErrorCode::SessionLocked, "why")
        );
        assert_eq!(command_failure(&error(Exit::Session)).code, ErrorCode::Failed);
        assert_eq!(lookup_failure(&error(Exit::Session)).code, ErrorCode::SessionNotFound);
        assert_eq!(lookup_failure(&error(Exit::SessionInUse)).code, ErrorCode::SessionLocked);
        let chain = Err::<(), _>(anyhow::anyhow!("why")).context("what").unwrap_err();
        assert_eq!(lookup_failure(&chain), CommandFailure::new(ErrorCode::Failed, "what: why"));
    }

    #[test]
    fn lists_session_as_stored_in_file() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = SessionFinder::new(&Home::at(dir.path()), dir.path());
        assert_eq!(list_stored_sessions(&sessions).unwrap(), []);
        let session = sessions.create();
        let named = session.append(Name { name: "tidy".into() }, Durability::Now);
        futures::executor::block_on(named).unwrap();
        let listed = list_stored_sessions(&sessions).unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].session, session.id().to_string());
        assert_eq!((listed[0].name.as_deref(), listed[0].messages), (Some("tidy"), 0));
        assert!(!listed[0].open && !listed[0].current && !listed[0].busy);
        assert_eq!(listed[0].path.as_deref(), session.path().unwrap().to_str());
    }
}
