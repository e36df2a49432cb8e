//! `QuestionBroker`: asking the person in front of the client, and waiting for what comes of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_protocol::rpc::{CommandFailure, HelloCommand, RpcEvent, UiAnswer, UiEnd, UiResponse};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::dialogs::{ClosedDialog, DialogRegistry, UserQuestion};
use crate::outlet::ClientSink;

/// Stands for every tool.
const ALL: &str = "*";

/// Cheap to clone; the clones are one.
#[derive(Debug, Clone)]
pub(crate) struct QuestionBroker {
    client_sink: ClientSink,
    state: Arc<Mutex<BrokerState>>,
}

#[derive(Debug, Default)]
struct BrokerState {
    dialogs: DialogRegistry,
    askers: BTreeMap<String, QuestionAsker>,
    /// The tools whose calls the client wants to be asked about.
    approve: Vec<String>,
}

#[derive(Debug)]
struct QuestionAsker {
    session: String,
    answer: oneshot::Sender<ClosedDialog>,
}

impl QuestionBroker {
    pub(crate) fn new(outlet: ClientSink) -> Self {
        Self { client_sink: outlet, state: Arc::default() }
    }

    /// Takes the client's description of itself. What it does not say stays as it was.
    pub(crate) fn apply_hello(&self, hello: &HelloCommand) {
        let mut state = self.lock();
        if let Some(approve) = &hello.approve {
            state.approve.clone_from(approve);
        }
        // Who wants to be asked answers.
        let asked = hello.approve.as_ref().is_some_and(|tools| !tools.is_empty()).then_some(true);
        if let Some(answers) = asked.or(hello.ui) {
            state.dialogs.set_answers(answers);
        }
    }

    /// True if the client wants to be asked about calls of this tool.
    pub(crate) fn wants_approval(&self, tool: &str) -> bool {
        self.lock().approve.iter().any(|name| name == ALL || name == tool)
    }

    /// Asks, and waits for the answer. `None` says that nobody was asked or nobody waits any more: the default counts.
    pub(crate) async fn ask(
        &self,
        cancel: &CancellationToken,
        session: &str,
        question: UserQuestion,
    ) -> Option<ClosedDialog> {
        // What led to the question is told before it: whoever works on it gives that away when the work pauses.
        tokio::task::yield_now().await;
        let within = question.within;
        let (id, mut answer) = {
            let mut state = self.lock();
            let request = state.dialogs.ask(question, Instant::now().into_std())?;
            let (sender, answer) = oneshot::channel();
            let id = request.id.clone();
            state.askers.insert(id.clone(), QuestionAsker { session: session.to_owned(), answer: sender });
            self.client_sink.event(Some(session), RpcEvent::UiRequest(request));
            (id, answer)
        };
        // Also when whoever asks is dropped.
        let _withdrawn = WithdrawOnDrop { questions: self, id };
        tokio::select! {
            biased;
            over = &mut answer => over.ok(),
            () = cancel.cancelled() => None,
            () = sleep(within) => {
                self.expire_due();
                // It is over now. An answer that was taken at this moment counts, as the client was told.
                answer.await.ok().filter(|over| over.why != UiEnd::Timeout)
            }
        }
    }

    /// The client's answer. The one who asked gets it with [`conclude`](Self::conclude).
    pub(crate) fn answer(&self, response: UiResponse) -> Result<ClosedDialog, CommandFailure> {
        self.lock().dialogs.answer(response)
    }

    /// A question is over: the one who asked is told, and the client why.
    pub(crate) fn conclude(&self, over: ClosedDialog) {
        let asker = self.lock().askers.remove(&over.id);
        let Some(QuestionAsker { session, answer }) = asker else { return };
        let done = RpcEvent::UiDone { id: over.id.clone(), why: over.why };
        self.client_sink.event(Some(&session), done);
        // Nobody may be waiting any more.
        drop(answer.send(over));
    }

    pub(crate) fn end(&self) {
        let over = self.lock().dialogs.end();
        over.into_iter().for_each(|over| self.conclude(over));
    }

    /// Ends all questions whose time is over; the one that noticed has none of its own left to wait for.
    fn expire_due(&self) {
        let over = self.lock().dialogs.expire(Instant::now().into_std());
        over.into_iter().for_each(|over| self.conclude(over));
    }

    fn lock(&self) -> MutexGuard<'_, BrokerState> {
        // Each change is one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a question back that is still open.
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
