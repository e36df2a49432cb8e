//! `QuestionBroker`: asks the person at the client and waits for the answer.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::tool::ToolSpec;
use haft_protocol::names::{lists_tool, unknown_tools};
use haft_protocol::rpc::{CommandFailure, HelloCommand, RpcEvent, UiAnswer, UiEnd, UiResponse};
use tokio::sync::oneshot;
use tokio::time::sleep;
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
    pub(crate) async fn ask_question(
        &self,
        cancel: &CancellationToken,
        session: &str,
        question: UserQuestion,
    ) -> Option<ClosedDialog> {
        // The events before a question must arrive first. A task sends them when it yields.
        tokio::task::yield_now().await;
        let limit = question.timeout_ms.map(Duration::from_millis);
        let (id, mut answer) = {
            let mut state = self.lock();
            let request = state.dialogs.open_question(question)?;
            let (sender, answer) = oneshot::channel();
            let id = request.id.clone();
            state.askers.insert(id.clone(), QuestionAsker { session: session.to_owned(), answer: sender });
            self.client_sink.event(Some(session), RpcEvent::UiRequest(Box::new(request)));
            (id, answer)
        };
        // Withdraws the question if the asker is dropped.
        let withdrawn = WithdrawOnDrop { questions: self, id };
        let expired = async {
            match limit {
                Some(limit) => sleep(limit).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            over = &mut answer => return over.ok(),
            () = cancel.cancelled() => return None,
            () = expired => self.close(&withdrawn.id, UiEnd::Timeout),
        }
        answer.await.ok()
    }

    /// Closes an open question without an answer.
    fn close(&self, id: &str, why: UiEnd) {
        let over = self.lock().dialogs.close(id, why);
        if let Some(over) = over {
            self.conclude_question(over);
        }
    }

    /// Accepts the client's answer. The asker gets it through [`conclude_question`](Self::conclude_question).
    pub(crate) fn answer(&self, response: UiResponse) -> Result<ClosedDialog, CommandFailure> {
        self.lock().dialogs.answer(response)
    }

    /// Ends a question: the asker gets the answer, the client the reason.
    pub(crate) fn conclude_question(&self, over: ClosedDialog) {
        let asker = self.lock().askers.remove(&over.id);
        let Some(QuestionAsker { session, answer }) = asker else { return };
        let done = RpcEvent::UiDone { id: over.id.clone(), why: over.why };
        self.client_sink.event(Some(&session), done);
        // The asker may be gone.
        drop(answer.send(over));
    }

    pub(crate) fn end(&self) {
        let over = self.lock().dialogs.end();
        over.into_iter().for_each(|over| self.conclude_question(over));
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
        self.questions.close(&self.id, UiEnd::Cancelled);
    }
}

pub(crate) fn is_confirmed(over: Option<&ClosedDialog>) -> bool {
    over.is_some_and(|over| over.why == UiEnd::Answered && over.answer == UiAnswer::Confirmed(true))
}
