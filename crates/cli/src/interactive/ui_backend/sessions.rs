//! The open sessions, and the files of the others.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use haft_core::session::Session;
use haft_core::session::entry::Name;
use haft_core::{Agent, ContextShares};
use haft_protocol::message::Message;
use haft_protocol::rpc::{CommandFailure, ErrorCode};
use haft_tui::app::ContextUse;

use super::UiContext;
use super::files::resolve_path;
use crate::session::{SessionFinder, add_entry, explain_error, export_to_file, short_id};
use crate::usage::UsageReport;

#[derive(Default)]
pub(in crate::interactive) struct OpenSessions(Mutex<OpenSessionsState>);

#[derive(Default)]
struct OpenSessionsState {
    sessions: BTreeMap<String, Session>,
    /// The agents of the sessions.
    agents: BTreeMap<String, Agent>,
    current: Option<String>,
}

impl OpenSessions {
    /// Adds an opened session. The interface shows the first one.
    pub(in crate::interactive) fn add(&self, session: &Session) {
        self.with_state(|known| {
            let id = session.id().to_string();
            known.current.get_or_insert_with(|| id.clone());
            known.sessions.insert(id, session.clone());
        });
    }

    /// Adds an opened session with its agent.
    pub(in crate::interactive) fn add_agent(&self, agent: &Agent) {
        self.with_state(|known| known.agents.insert(agent.session().id().to_string(), agent.clone()));
        self.add(agent.session());
    }

    /// Returns the agent of the visible session.
    pub(super) fn current_agent(&self) -> Option<Agent> {
        self.with_state(|known| known.agents.get(known.current.as_ref()?).cloned())
    }

    pub(in crate::interactive) fn current(&self) -> Option<Session> {
        self.with_state(|known| known.sessions.get(known.current.as_ref()?).cloned())
    }

    /// Makes a session the visible one and returns its messages. The other sessions are dropped, because a session file
    /// stays locked while its session exists.
    pub(super) fn switch_to(&self, id: &str) -> Result<Arc<Vec<Message>>, CommandFailure> {
        let session = self.with_state(|known| {
            let session = known.sessions.get(id).cloned()?;
            known.sessions.retain(|other, _| other == id);
            known.agents.retain(|other, _| other == id);
            known.current = Some(id.to_owned());
            Some(session)
        });
        let gone =
            || CommandFailure::new(ErrorCode::SessionNotFound, format!("session {id} is no longer open"));
        Ok(Arc::new(session.ok_or_else(gone)?.context().messages))
    }

    fn find(&self, id: &str) -> Option<Session> {
        self.with_state(|known| known.sessions.get(id).cloned())
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut OpenSessionsState) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the usage of all recorded sessions as Markdown.
pub(super) fn usage_text(context: &UiContext) -> anyhow::Result<String> {
    Ok(UsageReport::read(&context.home)?.to_text())
}

/// Counts what fills the context of the visible session.
pub(super) fn context_use(context: &UiContext) -> anyhow::Result<ContextUse> {
    let agent = context.open.current_agent().context("no session is open yet")?;
    let (shares, used) = (ContextShares::of_messages(&agent.messages()), agent.stats().context);
    // Before the first answer, the provider has not counted the system prompt and the tools.
    let tokens = used.tokens.max(shares.total_tokens());
    let ContextShares { prompts, answers, thinking, calls, results, .. } = shares;
    let mut parts = vec![
        ("system prompt and tools", tokens - shares.total_tokens()),
        ("your messages", prompts),
        ("answers", answers),
        ("thinking", thinking),
        ("tool calls", calls),
        ("tool results", results),
    ];
    parts.retain(|(_, tokens)| *tokens > 0);
    parts.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    Ok(ContextUse { tokens, window: used.window, parts })
}

/// Exports a session to a file, after its entries are written.
pub(super) async fn export(
    context: Arc<UiContext>,
    session: String,
    to: Option<String>,
) -> anyhow::Result<PathBuf> {
    let path = match context.open.find(&session) {
        Some(open) => {
            open.flush().await?;
            open.path()
                .filter(|path| path.exists())
                .context("nothing of this session has been recorded yet")?
        }
        None => SessionFinder::new(&context.home, &context.cwd).by_id(&session)?.path,
    };
    let to = to.map(|to| resolve_path(&context.cwd, to.as_ref()).to_string_lossy().into_owned());
    let written = move || export_to_file(&path, to.as_deref(), &context.cwd);
    tokio::task::spawn_blocking(written).await.context("internal error while writing the file")?
}

/// Renames a session that is not open, and returns its new title.
pub(super) fn rename(
    context: &UiContext,
    session: &str,
    name: &str,
) -> anyhow::Result<(String, Option<String>)> {
    let found = SessionFinder::new(&context.home, &context.cwd).by_id(session)?;
    // Repairs are logged, because the interface covers the terminal.
    add_entry(&found, Name { name: name.to_owned() }, |repair| tracing::warn!("{repair}"))?;
    Ok((found.id.to_string(), Some(name.to_owned()).filter(|name| !name.is_empty())))
}

pub(super) fn delete(context: &UiContext, session: &str) -> anyhow::Result<String> {
    let found = SessionFinder::new(&context.home, &context.cwd).by_id(session)?;
    let id = found.id;
    anyhow::ensure!(
        context.open.find(&id.to_string()).is_none(),
        "cannot delete session {}: it is open here; switch to another session first",
        short_id(id)
    );
    found.remove().map_err(|error| explain_error(error, id))?;
    Ok(id.to_string())
}
