//! The list of sessions, and the contents of one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use haft_core::Agent;
use haft_core::hooks::{PendingFork, SessionChangeError};
use haft_core::session::entry::{EntryBody, Name, SessionEntry};
use haft_core::session::{Durability, EntryId, Session, SessionError, labels};
use haft_protocol::content::{joined_text, written_text};
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::{Message, text_of};
use haft_protocol::rpc::{
    CommandFailure, EntryInfo, ErrorCode, FindSessions, ForkCommand, SessionInfo, SessionsData, SetName,
    TreeData,
};
use tokio_util::sync::CancellationToken;

use super::active_session::ActiveSession;
use super::outcome::{CommandExecution, ReplyResult, empty_reply, reply_data, run_blocking};
use crate::open_sessions::OpenSessions;
use crate::session_provider::{OpenedSession, SessionChoice, SessionProvider};
use crate::shorten_name;

/// Lists the open sessions, then the others on disk.
pub(super) fn list_sessions(
    roster: &OpenSessions<ActiveSession>,
    sessions: Arc<impl SessionProvider>,
    ending: CancellationToken,
) -> CommandExecution {
    select_sessions(roster, sessions, ending, |_| true)
}

fn select_sessions(
    roster: &OpenSessions<ActiveSession>,
    sessions: Arc<impl SessionProvider>,
    ending: CancellationToken,
    is_wanted: impl Fn(&SessionInfo) -> bool + Send + 'static,
) -> CommandExecution {
    let current = roster.current_id();
    let described = |(id, seat): (&str, &ActiveSession)| {
        (session_info(id, seat, id == current), seat.opened.agent.session().clone())
    };
    let open: Vec<_> = roster.iter().map(described).collect();
    CommandExecution::until_cancelled(ending, async move {
        let stored = sessions.stored().await?;
        run_blocking(move || {
            let SessionsData { mut sessions } = merge_session_lists(open, stored);
            sessions.retain(is_wanted);
            reply_data(SessionsData { sessions })
        })
        .await
    })
}

/// Lists the sessions with all these tags, as [`list_sessions`] does.
pub(super) fn find_sessions(
    roster: &OpenSessions<ActiveSession>,
    sessions: Arc<impl SessionProvider>,
    ending: CancellationToken,
    wish: FindSessions,
) -> CommandExecution {
    select_sessions(roster, sessions, ending, move |info| has_tags(info, &wish.tags))
}

fn has_tags(info: &SessionInfo, wanted: &BTreeMap<String, Option<String>>) -> bool {
    let has = |(key, value): (&String, &Option<String>)| match (info.tags.get(key), value) {
        (Some(found), Some(value)) => found == value,
        (found, None) => found.is_some(),
        (None, Some(_)) => false,
    };
    wanted.iter().all(has)
}

/// Merges the lists: the open sessions, then those that are only on disk.
fn merge_session_lists(open: Vec<(SessionInfo, Session)>, mut stored: Vec<SessionInfo>) -> SessionsData {
    let joined = open.into_iter().map(|(open, session)| {
        let at = stored.iter().position(|stored| stored.path.is_some() && stored.path == open.path);
        match at.map(|at| stored.remove(at)) {
            // The file contains the name, the tags and the facts of all branches.
            Some(stored) => SessionInfo {
                session: open.session,
                open: true,
                current: open.current,
                busy: open.busy,
                ..stored
            },
            None => SessionInfo { name: session_name(&session), tags: session_tags(&session), ..open },
        }
    });
    let open: Vec<SessionInfo> = joined.collect();
    SessionsData { sessions: open.into_iter().chain(stored).collect() }
}

/// Returns the name of an open session. May read its file.
pub(super) fn session_name(session: &Session) -> Option<String> {
    session.name().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read the session's name");
        None
    })
}

/// Returns the tags of an open session. May read its file.
fn session_tags(session: &Session) -> BTreeMap<String, String> {
    session.tags().unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read the session's tags");
        BTreeMap::new()
    })
}

pub(super) fn set_name(session: &OpenedSession, wish: SetName) -> CommandExecution {
    let named = session.agent.session().append(Name { name: wish.name }, Durability::Now);
    CommandExecution::from_future(async move {
        named.await.map_err(|error| session_failure(&error))?;
        empty_reply()
    })
}

/// Describes an open session without reading its file.
fn session_info(id: &str, seat: &ActiveSession, current: bool) -> SessionInfo {
    let (agent, header) = (&seat.opened.agent, seat.opened.agent.session().header());
    let (session, messages) = (agent.session(), agent.messages());
    let first = messages.iter().find_map(|message| match message {
        Message::User { content, .. } => Some(written_text(content)),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    SessionInfo {
        session: id.to_owned(),
        open: true,
        current,
        busy: seat.scheduler.is_working(),
        path: session.path().map(|path| path.to_string_lossy().into_owned()),
        cwd: header.cwd,
        created: header.created,
        last: session.leaf().and_then(|leaf| session.entry(leaf)).map(|entry| entry.time.clone()),
        name: None,
        tags: BTreeMap::new(),
        first_text: first,
        messages: messages.len() as u64,
        usage: agent.usage(),
        forked_from: header.forked_from.map(|origin| origin.session.to_string()),
    }
}

pub(super) fn clear(session: &OpenedSession) -> ReplyResult {
    switch_branch(session, Session::clear)?;
    empty_reply()
}

pub(super) fn switch_branch(
    session: &OpenedSession,
    go: impl FnOnce(&Session) -> Result<(), SessionError>,
) -> Result<(), CommandFailure> {
    // A write error of the old branch must not affect the new one.
    session.agent.reload().map_err(CommandFailure::other)?;
    go(session.agent.session()).map_err(|error| session_failure(&error))?;
    session.agent.reload().map_err(CommandFailure::other)
}

pub(super) fn tree(session: &OpenedSession) -> CommandExecution {
    let session: Session = session.agent.session().clone();
    CommandExecution::from_blocking(move || {
        let entries = session.entries().map_err(|error| session_failure(&error))?;
        let labels = labels(entries.iter().map(AsRef::as_ref));
        let entries = entries.iter().map(|entry| entry_info(entry, &labels)).collect();
        reply_data(TreeData { entries, leaf: session.leaf().map(|leaf| leaf.to_string()) })
    })
}

/// The maximum length of the text in an entry's description, in characters.
const LONGEST_TEXT: usize = 200;

fn entry_info(entry: &SessionEntry, labels: &HashMap<EntryId, String>) -> EntryInfo {
    let message = if let EntryBody::MessageEntry(said) = &entry.body { Some(&said.message) } else { None };
    let (role, text) = match message {
        Some(Message::User { content, .. }) => (Some("user"), written_text(content)),
        Some(Message::Assistant(said)) => (Some("assistant"), text_of(&said.content)),
        Some(Message::Tool(result)) => (Some("tool"), joined_text(&result.content)),
        None => (None, other_text(&entry.body)),
    };
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let first = first.map(|line| line.chars().take(LONGEST_TEXT).collect());
    EntryInfo {
        id: entry.id.to_string(),
        parent: entry.parent.map(|parent| parent.to_string()),
        kind: entry.body.kind().to_owned(),
        role: role.map(str::to_owned),
        text: first,
        label: labels.get(&entry.id).cloned(),
        time: entry.time.clone(),
    }
}

fn other_text(body: &EntryBody) -> String {
    match body {
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::Name(name) => name.name.clone(),
        EntryBody::CustomMessage(message) => joined_text(&message.content),
        EntryBody::MessageEntry(_)
        | EntryBody::ModelChange(_)
        | EntryBody::ThinkingChange(_)
        | EntryBody::ToolsChange(_)
        | EntryBody::ToolStart(_)
        | EntryBody::Custom(_)
        | EntryBody::Label(_)
        | EntryBody::Tags(_)
        | EntryBody::Unknown(_) => String::new(),
    }
}

pub(super) fn named_entry(session: &Session, named: &str) -> Result<EntryId, CommandFailure> {
    find_entry(&session.entries().map_err(|error| session_failure(&error))?, named)
}

/// Returns the entry whose id begins with `named`.
pub(super) fn find_entry(entries: &[Arc<SessionEntry>], named: &str) -> Result<EntryId, CommandFailure> {
    let mut alike = entries.iter().map(|entry| entry.id).filter(|id| id.to_string().starts_with(named));
    match (alike.next().filter(|_| !named.is_empty()), alike.next()) {
        (Some(id), None) => Ok(id),
        (found, _) => {
            let named = shorten_name(named);
            let what =
                if found.is_some() { "more than one entry begins with" } else { "no entry begins with" };
            let error = format!("{what} {named:?}; `tree` lists the entries");
            Err(CommandFailure::new(ErrorCode::EntryNotFound, error))
        }
    }
}

pub(super) fn session_failure(error: &SessionError) -> CommandFailure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other errors have no code of their own")]
    let code = match error {
        SessionError::Locked { .. } => ErrorCode::SessionLocked,
        SessionError::NotFound { .. } => ErrorCode::SessionNotFound,
        SessionError::NoEntry(_) => ErrorCode::EntryNotFound,
        SessionError::DuplicateId(_) => ErrorCode::EntryExists,
        _ => ErrorCode::Failed,
    };
    CommandFailure::new(code, error.to_string())
}

/// Returns the failure of a command that a hook blocked or that was cancelled.
pub(super) fn change_failure(error: SessionChangeError) -> CommandFailure {
    let code = match &error {
        SessionChangeError::Blocked { .. } => ErrorCode::Blocked,
        SessionChangeError::Aborted => ErrorCode::Aborted,
        _ => ErrorCode::Failed,
    };
    CommandFailure::new(code, error.to_string())
}

/// Copies the conversation of an agent into a new session, unless a hook blocks it. `cancel` ends the wait for hooks.
pub(super) async fn copy_session(
    agent: Agent,
    wish: ForkCommand,
    caller: Option<ExtensionName>,
    cancel: CancellationToken,
) -> Result<SessionChoice, CommandFailure> {
    let (log, named) = (agent.session().clone(), wish.entry.clone());
    let at = run_blocking(move || match named {
        Some(named) => named_entry(&log, &named).map(Some),
        None => Ok(log.leaf()),
    });
    let at = at.await?;
    let pending = PendingFork::new(at).with_caller(caller);
    agent.review_fork(&cancel, &pending).await.map_err(change_failure)?;
    let log = agent.session().clone();
    let copy = run_blocking(move || log.fork(at).map_err(|error| session_failure(&error))).await?;
    if wish.entry.is_none() {
        // Includes the settings changed since the last request: the copy uses the model that is
        // selected here.
        agent.record_setup(&copy).await.map_err(|error| session_failure(&error))?;
    }
    let (name, copy) = run_blocking(move || Ok((session_name(&copy), copy))).await?;
    if let Some(name) = name {
        let named = Name { name: name_of_copy(&name) };
        copy.append(named, Durability::Soon).await.map_err(|error| session_failure(&error))?;
    }
    Ok(SessionChoice::Given(copy))
}

/// Returns a name for a copy that differs from the original's.
fn name_of_copy(name: &str) -> String {
    let (of, number) = match name.strip_suffix(')').and_then(|name| name.rsplit_once(" (fork")) {
        Some((of, "")) => (of, Some(2)),
        Some((of, number)) => {
            (of, number.trim().parse::<u32>().ok().and_then(|number| number.checked_add(1)))
        }
        None => (name, None),
    };
    match number {
        Some(number) => format!("{of} (fork {number})"),
        None => format!("{name} (fork)"),
    }
}

#[cfg(test)]
mod tests {
    use haft_core::session::entry::Tags;

    use super::*;

    #[track_caller]
    fn check(name: &str, expect: &str) {
        assert_eq!(name_of_copy(name), expect);
    }

    #[tokio::test]
    async fn open_session_without_a_file_is_listed_with_its_tags() {
        let session = Session::in_memory(std::path::Path::new("/w"));
        let tags = [("ticket".to_owned(), Some("HA-7".to_owned()))].into();
        session.append(Tags::new(tags), Durability::Soon).await.unwrap();
        let header = session.header();
        let info = SessionInfo {
            session: header.id.to_string(),
            open: true,
            current: true,
            busy: false,
            path: None,
            cwd: header.cwd,
            created: header.created,
            last: None,
            name: None,
            tags: BTreeMap::new(),
            first_text: None,
            messages: 0,
            usage: Default::default(),
            forked_from: None,
        };
        let listed = merge_session_lists(vec![(info, session)], Vec::new()).sessions;
        assert_eq!(listed[0].tags, [("ticket".to_owned(), "HA-7".to_owned())].into());
    }

    #[test]
    fn copy_gets_a_different_name() {
        check("tidy", "tidy (fork)");
        check("tidy (fork)", "tidy (fork 2)");
        check("tidy (fork 9)", "tidy (fork 10)");
        check("tidy (fork x)", "tidy (fork x) (fork)");
        check("tidy (again)", "tidy (again) (fork)");
        check("(fork)", "(fork) (fork)");
    }
}
