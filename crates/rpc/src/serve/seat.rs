//! `Seat`: an open session, its commands, and what it works on.

use std::sync::Arc;

use haft_protocol::rpc::{ErrorCode, Failure, SessionData, SessionEnd};
use tokio_util::sync::CancellationToken;

use super::outcome::{Outcome, data};
use crate::desk::CommandScheduler;
use crate::roster::OpenSessions;
use crate::sessions::Opened;

/// An open session.
pub(super) struct ActiveSession {
    pub(super) opened: Arc<Opened>,
    pub(super) desk: CommandScheduler,
    pub(super) stop: CancellationToken,
    /// Cancelled when the session is closed: stops what is under way beside that, too.
    pub(super) closing: CancellationToken,
    pub(super) life: Life,
    /// The reason for closing, as the client will be told.
    pub(super) reason: SessionEnd,
}

/// The stage of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// Somebody wants it to be closed.
    Closing,
    Closed,
}

impl ActiveSession {
    /// Begins: extensions are told of the session.
    pub(super) fn new(opened: Opened) -> Self {
        if let Some(extensions) = &opened.extensions {
            extensions.host.session_start(Some(opened.agent.session()));
        }
        let closing = CancellationToken::new();
        Self {
            opened: Arc::new(opened),
            desk: CommandScheduler::default(),
            stop: closing.child_token(),
            closing,
            life: Life::Open,
            reason: SessionEnd::Shutdown,
        }
    }

    pub(super) fn id(&self) -> String {
        self.opened.screen.session().to_owned()
    }
}

impl OpenSessions<ActiveSession> {
    pub(super) fn opened(&self, id: &str) -> Option<&Opened> {
        self.iter().find(|(other, _)| *other == id).map(|(_, seat)| &*seat.opened)
    }

    /// True if the session is about to be closed.
    pub(super) fn is_leaving(&self, id: &str) -> bool {
        self.iter().any(|(other, seat)| other == id && seat.life != Life::Open)
    }

    /// The session as the client is told of it.
    pub(super) fn described(&self, id: &str) -> Outcome {
        let path = self.opened(id).and_then(|opened| opened.agent.session().path());
        data(SessionData {
            session: id.to_owned(),
            ephemeral: path.is_none(),
            path: path.map(|path| path.to_string_lossy().into_owned()),
        })
    }

    pub(super) fn may_close_one(&self, id: &str) -> Result<(), Failure> {
        let open = |other: &str, seat: &ActiveSession| other != id && seat.life == Life::Open;
        match self.iter().any(|(other, seat)| open(other, seat)) {
            true => Ok(()),
            false => self.may_close(id).and_then(|()| {
                let error = "all other sessions are being closed; send `shutdown` to end the process";
                Err(Failure::new(ErrorCode::Busy, error))
            }),
        }
    }

    /// Marks a session that is about to be closed: commands that name none mean another one from here on.
    pub(super) fn leave(&mut self, id: &str, reason: SessionEnd) {
        if let Some(seat) = self.get_mut(id).filter(|seat| seat.life == Life::Open) {
            (seat.life, seat.reason) = (Life::Closing, reason);
        }
        let next = self.iter().find(|(_, seat)| seat.life == Life::Open);
        let next = next.map(|(id, _)| id.to_owned()).filter(|_| self.current() == id);
        if let Some(next) = next {
            drop(self.switch(&next));
        }
    }
}

/// The answer to a command about a session that is about to be closed.
pub(super) fn leaving() -> Failure {
    let error =
        "the session is being closed; one on the disk can be opened again behind its `session_closed`";
    Failure::new(ErrorCode::Shutdown, error)
}
