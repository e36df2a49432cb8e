//! `Program`: where the sessions of `haft rpc` come from.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::Context as _;
use async_trait::async_trait;
use haft_core::model::{Model, ModelInfo};
use haft_core::session::Session;
use haft_protocol::rpc::{self, CommandInfo, ErrorCode, Failure, SessionInfo};
use haft_rpc::{Expanded, Opened, Screens, Which, stored_info};

use crate::args::RunArgs;
use crate::console::note;
use crate::exit::Exit;
use crate::resources::Resources;
use crate::run::{self, Chosen, Ends, Parts};
use crate::session::Sessions;
use crate::setup::Setup;

/// The command line, and the state since the process began.
pub(crate) struct Program {
    args: Arc<RunArgs>,
    /// True if new sessions are recorded, unless the client says otherwise.
    records: bool,
    stored: Arc<Sessions>,
    /// The parts of the first session, until it is opened.
    begin: Mutex<Option<(Setup, Chosen)>>,
    first: OnceLock<ModelInfo>,
    /// Templates and skills, as they were when the latest session was opened.
    resources: Mutex<Arc<Resources>>,
    opened: Box<dyn Fn(&Session) + Send + Sync>,
}

/// A session that is about to be opened.
enum Wanted {
    /// One as a run has it.
    Chosen(Chosen),
    Copy(Session),
}

impl Program {
    pub(crate) fn new(args: RunArgs, records: bool, setup: Setup, chosen: Chosen) -> Self {
        Self {
            args: Arc::new(args),
            records,
            stored: Arc::new(Sessions::new(&setup.home, &setup.cwd)),
            begin: Mutex::new(Some((setup, chosen))),
            first: OnceLock::new(),
            resources: Mutex::default(),
            opened: Box::new(|_| {}),
        }
    }

    /// Tells of each session that is open, before the client hears of it.
    pub(crate) fn telling(self, opened: impl Fn(&Session) + Send + Sync + 'static) -> Self {
        Self { opened: Box::new(opened), ..self }
    }

    async fn setup(&self) -> anyhow::Result<Setup> {
        let args = Arc::clone(&self.args);
        off_thread(move || Setup::read(&args)).await?
    }

    async fn wanted(&self, which: Which) -> Result<(Setup, Wanted), Failure> {
        let (args, stored, records) = (Arc::clone(&self.args), Arc::clone(&self.stored), self.records);
        let read = move || {
            let setup = Setup::read(&args).map_err(|error| failed(&error))?;
            run::check_named(&setup).map_err(|error| failed(&error))?;
            let wanted = wanted(which, &setup, &stored, records)?;
            Ok((setup, wanted))
        };
        off_thread(read).await.map_err(|error| failed(&error))?
    }

    async fn parts(&self, setup: Setup, wanted: Wanted) -> anyhow::Result<Parts> {
        match (wanted, self.first.get()) {
            (Wanted::Chosen(chosen), _) => run::parts(&self.args, setup, chosen).await,
            (Wanted::Copy(copy), Some(first)) => run::parts_of_copy(&self.args, setup, copy, first).await,
            (Wanted::Copy(_), None) => anyhow::bail!("there is no session yet that could be copied"),
        }
    }

    async fn joined(&self, parts: Parts, screens: &Screens) -> anyhow::Result<Opened> {
        let screen = screens.begin(&parts.session);
        // Opening has mended its file already: what is not told now, nobody ever hears of.
        let events = screen.events();
        parts.session.take_repair_events().into_iter().for_each(|event| events(event));
        let joined = run::join(parts, Ends::screen(&screen)).await?;
        if let Err(error) = joined.check().await {
            joined.host.shutdown().await;
            return Err(error);
        }
        (self.opened)(joined.agent.session());
        *lock(&self.resources) = Arc::new(joined.resources);
        Ok(Opened::new(joined.agent, screen).with_extensions(joined.host, joined.builtin))
    }

    fn resources(&self) -> Arc<Resources> {
        Arc::clone(&lock(&self.resources))
    }
}

fn wanted(which: Which, setup: &Setup, stored: &Sessions, records: bool) -> Result<Wanted, Failure> {
    Ok(match which {
        Which::New { ephemeral } => {
            let recorded = ephemeral.map_or(records, |ephemeral| !ephemeral);
            let session = if recorded { stored.create() } else { Session::in_memory(&setup.cwd) };
            Wanted::Chosen(Chosen { session, resumed: false })
        }
        Which::Stored(id) => {
            let found = stored.by_id(&id).map_err(|error| not_found(&error))?;
            let session = run::resume(&found, setup).map_err(|error| failed(&error))?;
            Wanted::Chosen(Chosen { session, resumed: true })
        }
        Which::Given(copy) => Wanted::Copy(copy),
    })
}

#[async_trait]
impl haft_rpc::Sessions for Program {
    type Error = anyhow::Error;

    async fn first(&self, screens: &Screens) -> anyhow::Result<Opened> {
        let begin = lock(&self.begin).take();
        let (setup, chosen) = begin.context("the first session was opened already")?;
        let parts = self.parts(setup, Wanted::Chosen(chosen)).await?;
        if let Some(warning) = run::clamped(&*parts.model, parts.thinking) {
            note(&warning);
        }
        self.first.get_or_init(|| parts.model.info());
        self.joined(parts, screens).await
    }

    async fn open(&self, which: Which, screens: &Screens) -> Result<Opened, Failure> {
        let (setup, wanted) = self.wanted(which).await?;
        let opened = async { self.joined(self.parts(setup, wanted).await?, screens).await };
        opened.await.map_err(|error| failed(&error))
    }

    async fn stored(&self) -> Result<Vec<SessionInfo>, Failure> {
        let stored = Arc::clone(&self.stored);
        let listed = off_thread(move || stored_here(&stored)).await;
        listed.flatten().map_err(|error| failed(&error))
    }

    async fn models(&self) -> Result<Vec<rpc::ModelInfo>, Failure> {
        let setup = self.setup().await.map_err(|error| failed(&error))?;
        Ok(run::models_for_clients(&setup).await)
    }

    async fn model(&self, name: &str, asked: &ModelInfo) -> Result<Arc<dyn Model>, Failure> {
        let found = async {
            let setup = self.setup().await?;
            run::choose_by_name(&self.args, &setup, self.first.get().unwrap_or(asked), name, asked).await
        };
        found.await.map_err(|error| coded(ErrorCode::ModelNotFound, &error))
    }

    fn templates(&self) -> Vec<CommandInfo> {
        let resources = self.resources();
        let templates = resources.templates().templates.into_iter();
        let skills = resources.skills.skills.iter();
        let skills = skills.map(|skill| (format!("skill:{}", skill.name), skill.description.clone()));
        let all = templates.map(|template| (template.name, template.description)).chain(skills);
        all.map(|(name, description)| CommandInfo { name, description, extension: None, completes: false })
            .collect()
    }

    fn expand(&self, name: &str, arguments: &str) -> Expanded {
        let resources = self.resources();
        match resources.expand(&resources.templates(), name, arguments) {
            haft_config::Expanded::Prompt(text) => Expanded::Message(text),
            haft_config::Expanded::Failed(why) => Expanded::Failed(why),
            haft_config::Expanded::Unknown => Expanded::Unknown,
        }
    }
}

/// Does what reads files where it holds up nothing else.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("haft failed while it read its files")
}

/// Each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(error: &anyhow::Error) -> Failure {
    let code =
        if Exit::of(error) == Exit::SessionInUse { ErrorCode::SessionLocked } else { ErrorCode::Failed };
    coded(code, error)
}

/// An error of looking for a session: that there is none, or more than one.
fn not_found(error: &anyhow::Error) -> Failure {
    if Exit::of(error) == Exit::Session { coded(ErrorCode::SessionNotFound, error) } else { failed(error) }
}

fn coded(code: ErrorCode, error: &anyhow::Error) -> Failure {
    Failure::new(code, format!("{error:#}"))
}

/// The sessions of the directory, the latest first. A session that cannot be read is left out.
fn stored_here(sessions: &Sessions) -> anyhow::Result<Vec<SessionInfo>> {
    let told = sessions.here()?.into_iter().filter_map(|found| match found.summary() {
        Ok(summary) => Some(stored_info(&found, summary)),
        Err(error) => {
            tracing::warn!(%error, path = %found.path.display(), "a session is not listed");
            None
        }
    });
    Ok(told.collect())
}

#[cfg(test)]
mod tests {
    use haft_config::Home;
    use haft_core::session::Durability;
    use haft_core::session::entry::Name;

    use super::*;

    #[test]
    fn the_code_follows_from_the_exit() {
        let error = |exit: Exit| exit.with(anyhow::anyhow!("why"));
        assert_eq!(failed(&error(Exit::SessionInUse)), Failure::new(ErrorCode::SessionLocked, "why"));
        assert_eq!(failed(&error(Exit::Session)).code, ErrorCode::Failed);
        assert_eq!(not_found(&error(Exit::Session)).code, ErrorCode::SessionNotFound);
        assert_eq!(not_found(&error(Exit::SessionInUse)).code, ErrorCode::SessionLocked);
        let chain = Err::<(), _>(anyhow::anyhow!("why")).context("what").unwrap_err();
        assert_eq!(not_found(&chain), Failure::new(ErrorCode::Failed, "what: why"));
    }

    #[test]
    fn a_session_is_told_as_its_file_says() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(&Home::at(dir.path()), dir.path());
        assert_eq!(stored_here(&sessions).unwrap(), []);
        let session = sessions.create();
        let named = session.append(Name { name: "tidy".into() }, Durability::Now);
        futures::executor::block_on(named).unwrap();
        let told = stored_here(&sessions).unwrap();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].session, session.id().to_string());
        assert_eq!((told[0].name.as_deref(), told[0].messages), (Some("tidy"), 0));
        assert!(!told[0].open && !told[0].current && !told[0].busy);
        assert_eq!(told[0].path.as_deref(), session.path().unwrap().to_str());
    }
}
