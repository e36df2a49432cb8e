//! The outbox: effects, intents and requests that an event causes.
//!
//! Effects leave the interface. The state carries out intents after the component that pushed them has returned. Each
//! request is stored with the use of its reply.

use std::collections::{BTreeMap, VecDeque};

use haft_protocol::rpc::{Command, RpcRequest};

use crate::queue::MessageQueue;

use super::intent::ComponentIntent;
use super::pending_request::PendingRequest;
use super::{BackendRequest, Effect};

/// The effects, intents and requests that an event causes.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    effects: Vec<Effect>,
    intents: VecDeque<ComponentIntent>,
    /// The shown session. `None` until the reply to `hello`.
    session: Option<String>,
    requests: u64,
    /// Requests without a reply.
    open: BTreeMap<String, PendingRequest>,
    number: u64,
}

impl Outbox {
    /// Returns the shown session, or `None` until it is known.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// True if `session` is shown.
    pub(super) fn is_current_session(&self, session: &str) -> bool {
        self.session() == Some(session)
    }

    /// Sets the shown session. Returns the previous one.
    pub(super) fn set_session(&mut self, session: String) -> Option<String> {
        self.session.replace(session)
    }

    pub(super) fn push_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn ask_backend(&mut self, ask: BackendRequest) {
        self.effects.push(Effect::Ask(ask));
    }

    pub(super) fn send(&mut self, command: impl Into<Command>, pending: PendingRequest) {
        let session = self.session.clone();
        self.send_to(command, session, pending);
    }

    pub(super) fn send_to(
        &mut self,
        command: impl Into<Command>,
        session: Option<String>,
        pending: PendingRequest,
    ) {
        self.requests += 1;
        let id = format!("ui-{}", self.requests);
        self.open.insert(id.clone(), pending);
        let request = RpcRequest { id: Some(id), command: command.into(), session };
        self.effects.push(Effect::Send(Box::new(request)));
    }

    pub(super) fn take_pending(&mut self, id: &str) -> Option<PendingRequest> {
        self.open.remove(id)
    }

    /// True if a request that matches has no reply yet.
    pub(super) fn is_pending(&self, is: impl Fn(&PendingRequest) -> bool) -> bool {
        self.open.values().any(is)
    }

    /// Leaves the session that `queue` belongs to. Of its pending requests, only unread messages of the user still
    /// matter. `continued_by` is a session with the same conversation.
    pub(super) fn leave_session(&mut self, queue: &MessageQueue, continued_by: Option<&str>) {
        let open = std::mem::take(&mut self.open).into_iter();
        self.open = open
            .filter_map(|(id, pending)| Some((id, pending.into_previous_session(queue, continued_by)?)))
            .collect();
    }

    pub(super) fn push_intent(&mut self, intent: ComponentIntent) {
        self.intents.push_back(intent);
    }

    pub(super) fn flash(&mut self, text: impl Into<String>) {
        self.push_intent(ComponentIntent::Flash(text.into()));
    }

    pub(super) fn print(&mut self, text: impl Into<String>) {
        self.push_intent(ComponentIntent::Print(text.into()));
    }

    pub(super) fn next_intent(&mut self) -> Option<ComponentIntent> {
        self.intents.pop_front()
    }

    /// Returns a number that was not used before.
    pub(super) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
}
