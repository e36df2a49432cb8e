//! Another session in the place of the one that is shown.

use haft_protocol::rpc::{CloseSession, SwitchSession};

use super::super::Ask;
use super::super::pending::{Open, Pending};
use super::super::session::Session;
use super::super::state::{Held, State};
use crate::queue::{Queue, When};

impl State {
    /// Whether another session can be shown: one at a time.
    pub(in crate::app) fn may_switch(&mut self) -> bool {
        if self.held.switches {
            self.flash("another session is being opened");
        }
        !self.held.switches
    }

    /// From here on, the events of other sessions are kept: one of them will be shown.
    pub(in crate::app) fn switch_to(&mut self, id: String) {
        if self.session.id.as_deref() == Some(id.as_str()) {
            self.flash("this is that session");
            return;
        }
        self.held.switches = true;
        self.send_to(SwitchSession {}, Some(id.clone()), Pending::Switched(id));
    }

    /// That session is shown from here on, and the one before it is closed.
    pub(super) fn adopt(&mut self, id: String) {
        self.leave_conversation();
        let before = self.session.id.take();
        let (provider, model) =
            (std::mem::take(&mut self.session.provider), std::mem::take(&mut self.session.model));
        let cwd = std::mem::take(&mut self.session.cwd);
        self.session = Session { id: Some(id.clone()), provider, model, cwd, ..Session::default() };
        self.transcript = self.settings.transcript();
        self.queue = Queue::default();
        self.notes.clear();
        self.panel = None;
        self.shut.forget();
        self.dialogs.close_replies();
        self.work.is_over();
        (self.browses, self.searched) = (false, false);
        self.known.sessions = None;
        self.known.said = None;
        // What was said in the other one is replied to no more, or does not matter.
        self.open.forget(Open::is_of_session);
        let Held { others, says, .. } = std::mem::take(&mut self.held);
        self.begin_conversation(&id);
        let of_it = others.into_iter().filter(|(session, _)| *session == id);
        for (_, event) in of_it {
            self.event(event, Some(id.clone()));
        }
        self.refresh();
        if let Some(before) = before.filter(|before| *before != id) {
            self.send_to(CloseSession {}, Some(before), Pending::Silent);
        }
        if says {
            self.submit(When::Now);
        }
    }

    /// Asks for the conversation; what happens until it is known follows it.
    pub(super) fn begin_conversation(&mut self, id: &str) {
        self.held.waits_for_conversation = true;
        self.ask(Ask::Conversation { session: id.to_owned() });
    }

    /// It will not be shown after all.
    pub(super) fn end_switch(&mut self) {
        let Held { waits_for_conversation, events, takes_back, unheard, .. } = std::mem::take(&mut self.held);
        self.held = Held { waits_for_conversation, events, takes_back, unheard, ..Held::default() };
    }
}
