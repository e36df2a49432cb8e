//! `QuestionBroker`: asks the person at the client and waits for the answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::tool::ToolSpec;
use haft_protocol::names::{lists_tool, unknown_tools};
use haft_protocol::rpc::{CommandFailure, HelloCommand, RpcEvent, UiAnswer, UiEnd, UiResponse};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::client_sink::ClientSink;
use crate::dialogs::{ClosedDialog, DialogRegistry, UserQuestion};

/// A handle to the broker. Clones are cheap and share the same state.
#[derive(Debug, Clone)]
pub(crate) struct QuestionBroker {
    client_sink: ClientSink,
    /// The tools whose calls need approval, whatever the client wants.
    required: Arc<[String]>,
    state: Arc<Mutex<BrokerState>>,
}

#[derive(Debug, Default)]
struct BrokerState {
    dialogs: DialogRegistry,
    askers: BTreeMap<String, QuestionAsker>,
    /// The tools whose calls need the client's approval.
    approve: Vec<String>,
}

#[derive(Debug)]
struct QuestionAsker {
    session: String,
    answer: oneshot::Sender<ClosedDialog>,
}

impl QuestionBroker {
    pub(crate) fn new(outlet: ClientSink, required: Vec<String>) -> Self {
        Self { client_sink: outlet, required: required.into(), state: Arc::default() }
    }

    /// Applies the client's `hello`. Absent fields keep their values.
    pub(crate) fn apply_hello(&self, hello: &HelloCommand) {
        let mut state = self.lock();
        if let Some(approve) = &hello.approve {
            state.approve.clone_from(approve);
        }
        // A client that wants approvals also answers questions.
        let asked = hello.approve.as_ref().is_some_and(|tools| !tools.is_empty()).then_some(true);
        if let Some(answers) = asked.or(hello.ui) {
            state.dialogs.set_answers(answers);
        }
    }

    /// True if calls of this tool need approval.
    pub(crate) fn wants_approval(&self, tool: &str) -> bool {
        lists_tool(&self.required, tool) || lists_tool(&self.lock().approve, tool)
    }

    /// Returns the names in `approve` that select none of these tools.
    pub(crate) fn unknown_approvals(&self, tools: &[Arc<ToolSpec>]) -> Vec<String> {
        unknown_tools(&self.lock().approve, tools.iter().map(|tool| tool.name.as_str()))
    }

    /// True if the client answers questions.
    pub(crate) fn has_person(&self) -> bool {
        self.lock().dialogs.has_answers()
    }

    /// Asks a question and waits for the answer. Returns `None` if the question was not sent or was
    /// withdrawn; the default then applies.
    pub(crate) async fn ask(
        &self,
        cancel: &CancellationToken,
        session: &str,
        question: UserQuestion,
    ) -> Option<ClosedDialog> {
        // The events before a question must arrive first. A task sends them when it yields.
        tokio::task::yield_now().await;
        let (id, answer) = {
            let mut state = self.lock();
            let request = state.dialogs.ask(question)?;
            let (sender, answer) = oneshot::channel();
            let id = request.id.clone();
            state.askers.insert(id.clone(), QuestionAsker { session: session.to_owned(), answer: sender });
            self.client_sink.event(Some(session), RpcEvent::UiRequest(request));
            (id, answer)
        };
        // Withdraws the question if the asker is dropped.
        let _withdrawn = WithdrawOnDrop { questions: self, id };
        tokio::select! {
            biased;
            over = answer => over.ok(),
            () = cancel.cancelled() => None,
        }
    }

    /// Accepts the client's answer. The asker gets it through [`conclude`](Self::conclude).
    pub(crate) fn answer(&self, response: UiResponse) -> Result<ClosedDialog, CommandFailure> {
        self.lock().dialogs.answer(response)
    }

    /// Ends a question: the asker gets the answer, the client the reason.
    pub(crate) fn conclude(&self, over: ClosedDialog) {
        let asker = self.lock().askers.remove(&over.id);
        let Some(QuestionAsker { session, answer }) = asker else { return };
        let done = RpcEvent::UiDone { id: over.id.clone(), why: over.why };
        self.client_sink.event(Some(&session), done);
        // The asker may be gone.
        drop(answer.send(over));
    }

    pub(crate) fn end(&self) {
        let over = self.lock().dialogs.end();
        over.into_iter().for_each(|over| self.conclude(over));
    }

    fn lock(&self) -> MutexGuard<'_, BrokerState> {
        // Each change is one call, so a poisoned lock is harmless.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Withdraws an open question on drop.
struct WithdrawOnDrop<'a> {
    questions: &'a QuestionBroker,
    id: String,
}

impl Drop for WithdrawOnDrop<'_> {
    fn drop(&mut self) {
        let over = self.questions.lock().dialogs.cancel(&self.id);
        if let Some(over) = over {
            self.questions.conclude(over);
        }
    }
}

pub(crate) fn is_confirmed(over: Option<&ClosedDialog>) -> bool {
    over.is_some_and(|over| over.why == UiEnd::Answered && over.answer == UiAnswer::Confirmed(true))
}
