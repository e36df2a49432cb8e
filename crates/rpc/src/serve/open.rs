//! Sessions begin and end.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use haft_core::session::entry::Name;
use haft_core::session::{Durability, EntryId, Session, SessionError};
use haft_protocol::rpc::{ErrorCode, Failure, Fork, NewSession, SessionData};

use super::carry::{Carried, Outcome, answered, data, off_thread};
use super::hub::{Hub, Meant, News, Place};
use super::seat::{Life, Seat};
use super::session;
use crate::desk::{Desk, Ticket};
use crate::screen::Screens;
use crate::sessions::{Opened, Sessions, Which};
use crate::shortened;

impl<S: Sessions> Hub<S> {
    pub(super) fn new_session(&mut self, ticket: Ticket, wish: NewSession) -> Option<Carried> {
        let which = Which::New { ephemeral: wish.ephemeral };
        self.open(ticket, Meant::Not, async move { Ok(which) }.boxed());
        None
    }

    /// From here on, commands that name no session mean this one.
    pub(super) fn switch_session(&mut self, ticket: Ticket, named: &str) -> Option<Carried> {
        match self.roster.find(Some(named)).map(str::to_owned) {
            Ok(id) if self.is_leaving(&id) => Some(Carried::Now(Err(leaving()))),
            Ok(id) => {
                drop(self.roster.switch(&id));
                Some(Carried::Now(self.described(&id)))
            }
            Err(failure) if self.roster.iter().any(|(id, _)| id.starts_with(named)) => {
                Some(Carried::Now(Err(failure)))
            }
            Err(_) => {
                self.holds = true;
                let which = Which::Stored(named.to_owned());
                self.open(ticket, Meant::FromHereOn, async move { Ok(which) }.boxed());
                None
            }
        }
    }

    pub(super) fn fork(&mut self, ticket: Ticket, id: &str, wish: Fork) -> Option<Carried> {
        let Some(seat) = self.roster.get_mut(id) else {
            return Some(Carried::Now(Err(Failure::other("no session"))));
        };
        let agent = seat.opened.agent.clone();
        let forked = async move {
            let (of, at) = (agent.session().clone(), wish.entry.clone());
            let copy = off_thread(move || copy(&of, at.as_deref())).await?;
            if wish.entry.is_none() {
                // What was set since the last request, too: the model of the copy is the one that is asked here.
                agent.note_setup(&copy).await.map_err(|error| of_session(&error))?;
            }
            let (name, copy) = off_thread(move || Ok((session::name(&copy), copy))).await?;
            if let Some(name) = name {
                let named = Name { name: name_of_copy(&name) };
                copy.append(named, Durability::Soon).await.map_err(|error| of_session(&error))?;
            }
            Ok(Which::Given(copy))
        };
        self.open(ticket, Meant::Not, forked.boxed());
        None
    }

    /// Opens a session beside the others; [`opened`](Self::opened) goes on.
    fn open(&mut self, ticket: Ticket, meant: Meant, which: BoxFuture<'static, Result<Which, Failure>>) {
        let (sessions, ending) = (Arc::clone(&self.sessions), self.ending.clone());
        let screens = Screens::new(self.outlet.clone(), self.questions.clone(), true);
        self.work.spawn(async move {
            let opened = answered(async { sessions.open(which.await?, &screens).await });
            let ended = || Failure::new(ErrorCode::Shutdown, "the process ends");
            let opened = ending.run_until_cancelled(opened).await.unwrap_or_else(|| Err(ended()));
            if opened.is_err() {
                screens.failed();
            }
            News::Opened(ticket, meant, opened)
        });
    }

    pub(super) fn opened(&mut self, ticket: Ticket, meant: Meant, outcome: Result<Opened, Failure>) {
        if meant == Meant::FromHereOn {
            self.holds = false;
        }
        let id = outcome.and_then(|opened| self.take_in(opened));
        let reply = match &id {
            Ok(id) => self.described(id),
            Err(failure) => Err(failure.clone()),
        };
        if let (Ok(id), Meant::FromHereOn) = (&id, meant) {
            drop(self.roster.switch(id));
        }
        self.done(&Place::Lobby, ticket, reply);
        if let Ok(id) = id {
            self.catch_up(id);
        }
    }

    /// Another session beside the others; one that is open already stays as it is.
    fn take_in(&mut self, opened: Opened) -> Result<String, Failure> {
        let id = opened.screen.session().to_owned();
        if self.roster.get_mut(&id).is_some() {
            self.work.spawn(async move {
                // Nobody waits for what comes of it.
                drop(answered(opened.end_extensions()).await);
                News::Gone
            });
            let error = format!("session {id} is open already; name it with `session`");
            return Err(Failure::new(ErrorCode::SessionLocked, error));
        }
        drop(self.roster.add(id.clone(), Seat::new(opened)));
        Ok(id)
    }

    /// A session that was opened as everything ends at once ends, too.
    fn catch_up(&mut self, id: String) {
        if self.ending.is_cancelled() {
            let place = Place::Session(id);
            let effects = self.desk(&place).map(Desk::shutdown).unwrap_or_default();
            self.apply(&place, None, effects);
        }
    }

    fn is_leaving(&mut self, id: &str) -> bool {
        self.roster.get_mut(id).is_some_and(|seat| seat.life != Life::Open)
    }

    fn described(&mut self, id: &str) -> Outcome {
        let session = self.roster.get_mut(id).map(|seat| seat.opened.agent.session().clone());
        let path = session.and_then(|session| session.path());
        data(SessionData {
            session: id.to_owned(),
            ephemeral: path.is_none(),
            path: path.map(|path| path.to_string_lossy().into_owned()),
        })
    }

    /// Whether a session may be closed: one stays open.
    pub(super) fn may_close(&self, id: &str) -> Result<(), Failure> {
        let open = |other: &str, seat: &Seat| other != id && seat.life == Life::Open;
        match self.roster.iter().any(|(other, seat)| open(other, seat)) {
            true => Ok(()),
            false => self.roster.may_close(id).and_then(|()| {
                let error = "all other sessions are being closed; send `shutdown` to end the process";
                Err(Failure::new(ErrorCode::Busy, error))
            }),
        }
    }
}

fn leaving() -> Failure {
    let error =
        "the session is being closed; one on the disk can be opened again behind its `session_closed`";
    Failure::new(ErrorCode::Shutdown, error)
}

/// What a copy is called, so that nobody takes it for what it comes from.
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

/// A session of its own with the conversation up to an entry.
fn copy(session: &Session, entry: Option<&str>) -> Result<Session, Failure> {
    let at = entry.map(|named| named_entry(session, named)).transpose()?;
    session.fork(at).map_err(|error| of_session(&error))
}

/// The entry whose id begins so.
pub(super) fn named_entry(session: &Session, named: &str) -> Result<EntryId, Failure> {
    let entries = session.entries().map_err(|error| of_session(&error))?;
    let mut alike = entries.iter().map(|entry| entry.id).filter(|id| id.to_string().starts_with(named));
    match (alike.next().filter(|_| !named.is_empty()), alike.next()) {
        (Some(id), None) => Ok(id),
        (found, _) => {
            let named = shortened(named);
            let what =
                if found.is_some() { "more than one entry begins with" } else { "no entry begins with" };
            let error = format!("{what} {named:?}; `tree` says which there are");
            Err(Failure::new(ErrorCode::EntryNotFound, error))
        }
    }
}

/// What went wrong with a session's file.
pub(super) fn of_session(error: &SessionError) -> Failure {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all else has no code of its own")]
    let code = match error {
        SessionError::Locked { .. } => ErrorCode::SessionLocked,
        SessionError::NotFound { .. } => ErrorCode::SessionNotFound,
        SessionError::NoEntry(_) => ErrorCode::EntryNotFound,
        _ => ErrorCode::Failed,
    };
    Failure::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: &str) {
        assert_eq!(name_of_copy(name), expect);
    }

    #[test]
    fn a_copy_has_a_name_of_its_own() {
        check("tidy", "tidy (fork)");
        check("tidy (fork)", "tidy (fork 2)");
        check("tidy (fork 9)", "tidy (fork 10)");
        check("tidy (fork x)", "tidy (fork x) (fork)");
        check("tidy (again)", "tidy (again) (fork)");
        check("(fork)", "(fork) (fork)");
    }
}
