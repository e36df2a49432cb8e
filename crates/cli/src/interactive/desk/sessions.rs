//! The sessions that are open, and files of those that are not.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use haft_core::session::Session;
use haft_core::session::entry::Name;
use haft_protocol::message::Message;
use haft_protocol::rpc::{CommandFailure, ErrorCode};

use super::UiContext;
use super::files::resolve_path;
use crate::session::{SessionFinder, add_entry, explain_error, export_to_file, short_id};

#[derive(Default)]
pub(in crate::interactive) struct OpenSessions(Mutex<OpenSessionsState>);

#[derive(Default)]
struct OpenSessionsState {
    sessions: BTreeMap<String, Session>,
    current: Option<String>,
}

impl OpenSessions {
    /// A session was opened. The first one is what the person sees.
    pub(in crate::interactive) fn add(&self, session: &Session) {
        self.with_state(|known| {
            let id = session.id().to_string();
            known.current.get_or_insert_with(|| id.clone());
            known.sessions.insert(id, session.clone());
        });
    }

    pub(in crate::interactive) fn current(&self) -> Option<Session> {
        self.with_state(|known| known.sessions.get(known.current.as_ref()?).cloned())
    }

    /// The messages of the session that the person sees from here on. The others are about to be closed, and a session is
    /// open to nobody else as long as anybody holds it.
    pub(super) fn switch_to(&self, id: &str) -> Result<Arc<Vec<Message>>, CommandFailure> {
        let session = self.with_state(|known| {
            let session = known.sessions.get(id).cloned()?;
            known.sessions.retain(|other, _| other == id);
            known.current = Some(id.to_owned());
            Some(session)
        });
        let gone =
            || CommandFailure::new(ErrorCode::SessionNotFound, format!("session {id} is not open any more"));
        Ok(Arc::new(session.ok_or_else(gone)?.context().messages))
    }

    fn find(&self, id: &str) -> Option<Session> {
        self.with_state(|known| known.sessions.get(id).cloned())
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut OpenSessionsState) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes a session into a file, once all that was said is on the disk.
pub(super) async fn export(
    ground: Arc<UiContext>,
    session: String,
    to: Option<String>,
) -> anyhow::Result<PathBuf> {
    let path = match ground.open.find(&session) {
        Some(open) => {
            open.flush().await?;
            open.path().filter(|path| path.exists()).context("nothing of this session is recorded yet")?
        }
        None => SessionFinder::new(&ground.home, &ground.cwd).by_id(&session)?.path,
    };
    let to = to.map(|to| resolve_path(&ground.cwd, to.as_ref()).to_string_lossy().into_owned());
    let written = move || export_to_file(&path, to.as_deref(), &ground.cwd);
    tokio::task::spawn_blocking(written).await.context("haft failed while it wrote the file")?
}

/// Names a session that is not open, and says what it is called then.
pub(super) fn rename(
    ground: &UiContext,
    session: &str,
    name: &str,
) -> anyhow::Result<(String, Option<String>)> {
    let found = SessionFinder::new(&ground.home, &ground.cwd).by_id(session)?;
    // The screen is the interface's: what was mended goes into the log.
    add_entry(&found, Name { name: name.to_owned() }, |repair| tracing::warn!("{repair}"))?;
    Ok((found.id.to_string(), Some(name.to_owned()).filter(|name| !name.is_empty())))
}

pub(super) fn delete(ground: &UiContext, session: &str) -> anyhow::Result<String> {
    let found = SessionFinder::new(&ground.home, &ground.cwd).by_id(session)?;
    let id = found.id;
    anyhow::ensure!(
        ground.open.find(&id.to_string()).is_none(),
        "session {} is the one that is open here; go to another one first",
        short_id(id)
    );
    found.remove().map_err(|error| explain_error(error, id))?;
    Ok(id.to_string())
}
