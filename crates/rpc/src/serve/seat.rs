//! `Seat`: an open session, its commands, and what it works on.

use std::sync::Arc;

use haft_protocol::rpc::SessionEnd;
use tokio_util::sync::CancellationToken;

use crate::desk::Desk;
use crate::sessions::Opened;

/// An open session.
pub(super) struct Seat {
    pub(super) opened: Arc<Opened>,
    pub(super) desk: Desk,
    /// Stops what is worked on.
    pub(super) stop: CancellationToken,
    /// Cancelled when the session is closed: stops what is under way beside that, too.
    pub(super) closing: CancellationToken,
    pub(super) life: Life,
    /// What the client will be told of why it was closed.
    pub(super) reason: SessionEnd,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Open,
    /// Somebody wants it to be closed.
    Closing,
    Closed,
}

impl Seat {
    /// Begins: extensions are told of the session.
    pub(super) fn new(opened: Opened) -> Self {
        if let Some(extensions) = &opened.extensions {
            extensions.host.session_start(Some(opened.agent.session()));
        }
        let closing = CancellationToken::new();
        Self {
            opened: Arc::new(opened),
            desk: Desk::default(),
            stop: closing.child_token(),
            closing,
            life: Life::Open,
            reason: SessionEnd::Shutdown,
        }
    }

    /// The id by which the client knows it.
    pub(super) fn id(&self) -> String {
        self.opened.screen.session().to_owned()
    }
}
