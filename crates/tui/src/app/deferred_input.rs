//! Input and events that cannot be shown or sent yet.

use std::collections::VecDeque;

use haft_protocol::rpc::{ClientEvent, RpcEvent, UiRequest};

use crate::editor::{EditorContent, Submission};
use crate::queue::DeliveryTime;

/// The maximum number of events of other sessions that are kept while a session is being opened. Dialog requests do not
/// count and are always kept.
const MOST_EVENTS: usize = 1024;

/// Input and events that cannot be shown or sent yet.
#[derive(Debug)]
pub(super) struct DeferredInput {
    /// The session that is being opened and will replace the shown one.
    pub(super) session_switch: Option<SessionSwitch>,
    pub(super) unsent: VecDeque<UnsentMessage>,
    pub(super) queue_sync: QueueSyncState,
    /// The number of changes to the queue. A reply that was requested at an earlier revision is out of date.
    pub(super) queue_revision: u64,
}

/// A session that is being opened.
#[derive(Debug)]
pub(super) struct SessionSwitch {
    pub(super) origin: SessionOrigin,
    /// The events of sessions that are not shown, with the session ID.
    events: Vec<(String, ClientEvent)>,
    questions: Vec<(String, UiRequest)>,
}

/// The origin of a session that is being opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionOrigin {
    New,
    Stored,
    Fork(Option<String>),
}

/// A message of the user that cannot be sent yet. It is parsed when it is sent.
#[derive(Debug)]
pub(super) struct UnsentMessage {
    pub(super) submission: Submission,
    pub(super) when: DeliveryTime,
    pub(super) source: MessageSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageSource {
    /// The command line: the text is always a prompt, even if it begins with `/` or `!`.
    CommandLine,
    Composer,
    LinearInput,
}

/// The known state of the agent's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueueSyncState {
    Synced,
    Undelivered,
    /// The queue was requested; until the reply, queue events are ignored.
    Requested,
}

impl DeferredInput {
    /// Creates an empty value.
    pub(super) fn new() -> Self {
        Self {
            session_switch: None,
            unsent: VecDeque::new(),
            queue_sync: QueueSyncState::Synced,
            queue_revision: 0,
        }
    }
}

impl UnsentMessage {
    /// Creates a message from the prompt of the command line. Returns `None` if the prompt is empty.
    pub(super) fn from_prompt(text: &str) -> Option<Self> {
        let submission = EditorContent::from_text(text).submission();
        (!submission.text.is_empty()).then_some(Self {
            submission,
            when: DeliveryTime::Now,
            source: MessageSource::CommandLine,
        })
    }
}

impl SessionSwitch {
    pub(super) fn new(origin: SessionOrigin) -> Self {
        Self { origin, events: Vec::new(), questions: Vec::new() }
    }

    pub(super) fn record_event(&mut self, session: String, event: ClientEvent) {
        match event {
            ClientEvent::Rpc(RpcEvent::UiRequest(request)) => self.questions.push((session, *request)),
            ClientEvent::Rpc(RpcEvent::UiDone { id, .. }) => {
                self.questions.retain(|(_, asked)| asked.id != id)
            }
            event @ (ClientEvent::Rpc(_) | ClientEvent::Agent(_) | ClientEvent::Unknown { .. }) => {
                if self.events.len() < MOST_EVENTS {
                    self.events.push((session, event));
                }
            }
        }
    }

    /// Returns the events of a session, followed by its dialog requests.
    pub(super) fn into_session_events(self, session: &str) -> Vec<ClientEvent> {
        let matches = |id: &String| id.as_str() == session;
        let events = self.events.into_iter().filter(|(id, _)| matches(id)).map(|(_, event)| event);
        let questions = self.questions.into_iter().filter(|(id, _)| matches(id));
        events
            .chain(questions.map(|(_, request)| ClientEvent::Rpc(RpcEvent::UiRequest(Box::new(request)))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::event::AgentEvent;
    use haft_protocol::rpc::{UiAnswer, UiEnd, UiKind};

    use super::*;

    fn question(id: &str) -> ClientEvent {
        ClientEvent::Rpc(RpcEvent::UiRequest(Box::new(UiRequest {
            id: id.to_owned(),
            extension: None,
            kind: UiKind::Confirm,
            title: String::new(),
            message: String::new(),
            options: Vec::new(),
            call: None,
            preview: None,
            placeholder: None,
            prefill: None,
            timeout_ms: Some(1000),
            default: UiAnswer::Cancelled,
        })))
    }

    #[test]
    fn keeps_dialog_requests_on_event_overflow() {
        let mut next = SessionSwitch::new(SessionOrigin::New);
        next.record_event("b".to_owned(), question("over"));
        for _ in 0..2 * MOST_EVENTS {
            next.record_event("b".to_owned(), AgentEvent::AssistantStart.into());
        }
        next.record_event("b".to_owned(), question("open"));
        next.record_event("c".to_owned(), question("elsewhere"));
        let done = RpcEvent::UiDone { id: "over".to_owned(), why: UiEnd::Timeout };
        next.record_event("b".to_owned(), ClientEvent::Rpc(done));
        let events = next.into_session_events("b");
        assert_eq!(events.len(), MOST_EVENTS + 1);
        assert_eq!(events.last(), Some(&question("open")));
    }
}
