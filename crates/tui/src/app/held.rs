//! Input and events that cannot be shown or sent yet.

use std::collections::VecDeque;

use haft_protocol::rpc::{ClientEvent, RpcEvent, UiRequest};

use crate::editor::{EditorContent, Submission};
use crate::queue::DeliveryTime;

/// The most events of other sessions that are kept while one of them may be shown next. Questions are not among them: none
/// is left out.
const MOST_EVENTS: usize = 1024;

/// Input and events that cannot be shown or sent yet.
#[derive(Debug)]
pub(super) struct Held {
    /// The session that is being opened to be shown in the place of this one.
    pub(super) next: Option<Next>,
    pub(super) unsent: VecDeque<Unsent>,
    pub(super) waiting: Queued,
    /// The number of times that this was told, or something was sent there: what is known of an earlier time does not
    /// count.
    pub(super) told: u64,
}

/// A session that is being opened.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) origin: Origin,
    /// The events of other sessions than the shown one.
    events: Vec<(String, ClientEvent)>,
    questions: Vec<(String, UiRequest)>,
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    New,
    Stored,
    Fork(Option<String>),
}

/// A message of the person that cannot be sent yet. What it means is seen when it is sent.
#[derive(Debug)]
pub(super) struct Unsent {
    pub(super) submission: Submission,
    pub(super) when: DeliveryTime,
    pub(super) form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With the command line: it is a prompt, whatever it begins with.
    Prompt,
    Typed,
    Line,
}

/// The known state of the agent's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queued {
    Told,
    Unheard,
    /// It was asked for: until it is here, nobody says what waits.
    Asked,
}

impl Held {
    /// Before anything is known. What happens then would be gone when the conversation comes.
    pub(super) fn new() -> Self {
        Self { next: None, unsent: VecDeque::new(), waiting: Queued::Told, told: 0 }
    }
}

impl Unsent {
    /// Makes a message of the command line's prompt. None where that says nothing.
    pub(super) fn prompt(text: &str) -> Option<Self> {
        let submission = EditorContent::from_text(text).submission();
        (!submission.text.is_empty()).then_some(Self { submission, when: DeliveryTime::Now, form: Form::Prompt })
    }
}

impl Next {
    pub(super) fn new(origin: Origin) -> Self {
        Self { origin, events: Vec::new(), questions: Vec::new() }
    }

    pub(super) fn happens(&mut self, session: String, event: ClientEvent) {
        match event {
            ClientEvent::Rpc(RpcEvent::UiRequest(request)) => self.questions.push((session, request)),
            ClientEvent::Rpc(RpcEvent::UiDone { id, .. }) => self.questions.retain(|(_, asked)| asked.id != id),
            event @ (ClientEvent::Rpc(_) | ClientEvent::Agent(_)) => {
                if self.events.len() < MOST_EVENTS {
                    self.events.push((session, event));
                }
            }
        }
    }

    /// Returns the events of a session, and then its questions.
    pub(super) fn of(self, session: &str) -> Vec<ClientEvent> {
        let is_of = |of: &String| of.as_str() == session;
        let events = self.events.into_iter().filter(|(of, _)| is_of(of)).map(|(_, event)| event);
        let asked = self.questions.into_iter().filter(|(of, _)| is_of(of));
        events.chain(asked.map(|(_, asked)| ClientEvent::Rpc(RpcEvent::UiRequest(asked)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use haft_protocol::event::AgentEvent;
    use haft_protocol::rpc::{UiAnswer, UiEnd, UiKind};

    use super::*;

    fn question(id: &str) -> ClientEvent {
        ClientEvent::Rpc(RpcEvent::UiRequest(UiRequest {
            id: id.to_owned(),
            extension: None,
            kind: UiKind::Confirm,
            title: String::new(),
            message: String::new(),
            options: Vec::new(),
            call: None,
            timeout_ms: 1000,
            default: UiAnswer::Cancelled,
        }))
    }

    #[test]
    fn no_question_is_left_out_however_much_happens() {
        let mut next = Next::new(Origin::New);
        next.happens("b".to_owned(), question("over"));
        for _ in 0..2 * MOST_EVENTS {
            next.happens("b".to_owned(), AgentEvent::AssistantStart.into());
        }
        next.happens("b".to_owned(), question("open"));
        next.happens("c".to_owned(), question("elsewhere"));
        let done = RpcEvent::UiDone { id: "over".to_owned(), why: UiEnd::Timeout };
        next.happens("b".to_owned(), ClientEvent::Rpc(done));
        let events = next.of("b");
        assert_eq!(events.len(), MOST_EVENTS + 1);
        assert_eq!(events.last(), Some(&question("open")));
    }
}
