//! `ActiveSession`: an open session, its scheduler, and its current job.

use std::path::Path;
use std::sync::Arc;

use haft_protocol::ext::{SessionShutdownReason, SessionStartReason};
use haft_protocol::rpc::{CommandFailure, ErrorCode, SessionData, SessionEnd};
use tokio_util::sync::CancellationToken;

use super::outcome::{ReplyResult, reply_data};
use crate::command_scheduler::CommandScheduler;
use crate::open_sessions::OpenSessions;
use crate::session_provider::OpenedSession;

/// An open session with its scheduler.
pub(super) struct ActiveSession {
    pub(super) opened: Arc<OpenedSession>,
    pub(super) scheduler: CommandScheduler,
    pub(super) stop: CancellationToken,
    /// Cancelled when the session is closed, to stop the commands that run beside the job.
    pub(super) closing: CancellationToken,
    pub(super) stage: SessionStage,
    /// The reason for closing, for the client.
    pub(super) reason: SessionEnd,
}

/// The stage in the life of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionStage {
    Open,
    /// A client or the shutdown has requested the end of the session.
    Closing,
    Closed,
}

impl ActiveSession {
    /// Creates the session and sends its start event to extensions. `previous` is the file of the session that
    /// was open before.
    pub(super) fn new(opened: OpenedSession, previous: Option<&Path>) -> Self {
        if let Some(extensions) = &opened.extensions {
            extensions.host.session_started(opened.agent.session(), opened.reason, previous);
        }
        let closing = CancellationToken::new();
        Self {
            opened: Arc::new(opened),
            scheduler: CommandScheduler::default(),
            stop: closing.child_token(),
            closing,
            stage: SessionStage::Open,
            reason: SessionEnd::Shutdown,
        }
    }

    pub(super) fn id(&self) -> String {
        self.opened.screen.session().to_owned()
    }
}

impl OpenSessions<ActiveSession> {
    pub(super) fn opened_session(&self, id: &str) -> Option<&Arc<OpenedSession>> {
        self.iter().find(|(other, _)| *other == id).map(|(_, seat)| &seat.opened)
    }

    /// Returns the reason for the end of a session, for extensions: the start of the current session if that was
    /// opened later.
    pub(super) fn shutdown_reason(&self, id: &str) -> SessionShutdownReason {
        let later = self.iter().skip_while(|(other, _)| *other != id).skip(1);
        let current =
            later.filter(|(other, _)| *other == self.current_id()).map(|(_, seat)| seat.opened.reason);
        match current.last() {
            Some(SessionStartReason::New) => SessionShutdownReason::New,
            Some(SessionStartReason::Resume) => SessionShutdownReason::Resume,
            Some(SessionStartReason::Fork) => SessionShutdownReason::Fork,
            Some(SessionStartReason::Startup | SessionStartReason::Reload) | None => {
                SessionShutdownReason::Quit
            }
        }
    }

    /// True if the session is closing.
    pub(super) fn is_closing(&self, id: &str) -> bool {
        self.iter().any(|(other, seat)| other == id && seat.stage != SessionStage::Open)
    }

    /// Returns the description of the session for the client.
    pub(super) fn describe_session(&self, id: &str) -> ReplyResult {
        let path = self.opened_session(id).and_then(|opened| opened.agent.session().path());
        reply_data(SessionData {
            session: id.to_owned(),
            ephemeral: path.is_none(),
            path: path.map(|path| path.to_string_lossy().into_owned()),
        })
    }

    pub(super) fn check_can_close_one(&self, id: &str) -> Result<(), CommandFailure> {
        let open = |other: &str, seat: &ActiveSession| other != id && seat.stage == SessionStage::Open;
        match self.iter().any(|(other, seat)| open(other, seat)) {
            true => Ok(()),
            false => self.check_can_close(id).and_then(|()| {
                let error = "all other sessions are being closed; send `shutdown` to end the process";
                Err(CommandFailure::new(ErrorCode::Busy, error))
            }),
        }
    }

    /// Marks a session as closing. Another session becomes the current one.
    pub(super) fn mark_closing(&mut self, id: &str, reason: SessionEnd) {
        if let Some(seat) = self.get_mut(id).filter(|seat| seat.stage == SessionStage::Open) {
            (seat.stage, seat.reason) = (SessionStage::Closing, reason);
        }
        let next = self.iter().find(|(_, seat)| seat.stage == SessionStage::Open);
        let next = next.map(|(id, _)| id.to_owned()).filter(|_| self.current_id() == id);
        if let Some(next) = next {
            drop(self.switch_to(&next));
        }
    }
}

/// Returns the reply to a command for a closing session.
pub(super) fn session_closing_failure() -> CommandFailure {
    let error = "the session is closing; a session on disk can be opened again after its `session_closed`";
    CommandFailure::new(ErrorCode::Shutdown, error)
}
