//! Leaving what a hook does not want in the conversation: it stays in the session's log, on a branch of its own.

use haft_protocol::event::AgentEvent;

use super::Turn;
use super::state::Input;
use crate::session::intervention::{Action, Intervention};
use crate::session::{EntryId, SessionError};

impl Turn {
    /// From here on a turn of its own begins.
    pub(super) fn begin_anew(&self) {
        let leaf = self.agent.transcript.session.leaf();
        self.now().origin = leaf;
    }

    /// Leaves everything of the turn, what the user said included.
    pub(super) fn discard(&self, by: String, reason: String) -> Input {
        let origin = self.now().origin;
        if let Err(error) = self.leave(origin, Action::Discarded, &by) {
            return error.into();
        }
        self.emitter.emit(AgentEvent::TurnDiscarded { by, reason });
        Input::Noted
    }

    /// Goes on from where the session stood before, and notes who wanted that.
    pub(super) fn leave(&self, to: Option<EntryId>, action: Action, by: &str) -> Result<(), SessionError> {
        let remark = Intervention { call_id: None, action, by: vec![by.to_owned()] };
        self.agent.transcript.leave(to, remark.to_custom())
    }
}
