//! The sessions that there are, and what is in one.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::session::entry::{Entry, EntryBody};
use haft_core::session::{EntryId, Session, labels};
use haft_protocol::content::joined_text;
use haft_protocol::message::{Message, text_of};
use haft_protocol::rpc::{EntryInfo, Failure, SessionInfo, SessionsData, TreeData};

use super::carry::{Carried, Outcome, data, nothing};
use super::hub::Hub;
use super::open::of_session;
use super::seat::Seat;
use crate::sessions::{Opened, Sessions};

impl<S: Sessions> Hub<S> {
    /// Those that are open, then those on the disk.
    pub(super) fn list_sessions(&self) -> Carried {
        let open: Vec<SessionInfo> =
            self.roster.iter().map(|(id, seat)| info(id, seat, id == self.roster.current())).collect();
        let sessions = Arc::clone(&self.sessions);
        Carried::before(self.ending.clone(), async move {
            let mut stored = sessions.stored().await?;
            let open: Vec<SessionInfo> = open
                .into_iter()
                .map(|open| {
                    let at =
                        stored.iter().position(|stored| stored.path.is_some() && stored.path == open.path);
                    match at.map(|at| stored.remove(at)) {
                        // The disk knows its name, its tags and what all branches have.
                        Some(stored) => SessionInfo {
                            session: open.session,
                            open: true,
                            current: open.current,
                            busy: open.busy,
                            ..stored
                        },
                        None => open,
                    }
                })
                .collect();
            data(SessionsData { sessions: open.into_iter().chain(stored).collect() })
        })
    }
}

/// What is known of a session that is open, without its file.
fn info(id: &str, seat: &Seat, current: bool) -> SessionInfo {
    let (agent, header) = (&seat.opened.agent, seat.opened.agent.session().header());
    let (session, messages) = (agent.session(), agent.messages());
    let first = messages.iter().find_map(|message| match message {
        Message::User { content, .. } => Some(joined_text(content)),
        Message::Assistant(_) | Message::Tool(_) => None,
    });
    SessionInfo {
        session: id.to_owned(),
        open: true,
        current,
        busy: seat.desk.works(),
        path: session.path().map(|path| path.to_string_lossy().into_owned()),
        cwd: header.cwd,
        created: header.created,
        last: session.leaf().and_then(|leaf| session.entry(leaf)).map(|entry| entry.time.clone()),
        name: None,
        tags: Vec::new(),
        first_text: first,
        messages: messages.len() as u64,
        usage: agent.usage(),
        forked_from: header.forked_from.map(|origin| origin.session.to_string()),
    }
}

/// Forgets the conversation.
pub(super) fn clear(session: &Opened) -> Outcome {
    // What the disk refused before belongs to what is left, and not to the new beginning.
    session.agent.reload().map_err(Failure::other)?;
    session.agent.session().clear().map_err(|error| of_session(&error))?;
    session.agent.reload().map_err(Failure::other)?;
    nothing()
}

/// The entries with all branches.
pub(super) fn tree(session: &Opened) -> Carried {
    let session: Session = session.agent.session().clone();
    Carried::blocking(move || {
        let entries = session.entries().map_err(|error| of_session(&error))?;
        let labels = labels(entries.iter().map(AsRef::as_ref));
        let entries = entries.iter().map(|entry| shown(entry, &labels)).collect();
        data(TreeData { entries, leaf: session.leaf().map(|leaf| leaf.to_string()) })
    })
}

/// How much of what an entry says is told, in characters.
const LONGEST_TEXT: usize = 200;

fn shown(entry: &Entry, labels: &HashMap<EntryId, String>) -> EntryInfo {
    let message = if let EntryBody::Said(said) = &entry.body { Some(&said.message) } else { None };
    let (role, text) = match message {
        Some(Message::User { content, .. }) => (Some("user"), joined_text(content)),
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

/// What an entry says that is no message.
fn other_text(body: &EntryBody) -> String {
    match body {
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::Name(name) => name.name.clone(),
        EntryBody::CustomMessage(message) => joined_text(&message.content),
        EntryBody::Said(_)
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
