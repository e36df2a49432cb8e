//! `Run`: one prompt being worked on.

mod handle;

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use haft_protocol::event::AgentEvent;
use haft_protocol::message::text_of;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::agent_state::AgentState;
use crate::emitter::{self, Emitter};
use crate::error::TurnError;
use crate::queue::Prompt;
use crate::turn;

pub use handle::RunHandle;

/// How a run ended; nothing yet while it has not.
type Outcome = Option<Result<(), TurnError>>;

/// One prompt being worked on: a stream of events that does the work as it is polled. The last event is
/// [`AgentEvent::Done`]. Dropping it cancels the work. Who else has to do with it has a [`handle`](Self::handle).
///
/// ```
/// use futures::StreamExt;
/// use haft_core::error::{TurnError, TurnErrorKind};
/// use haft_core::protocol::event::AgentEvent;
/// use haft_core::{Agent, Run};
///
/// async fn show(agent: &Agent) -> Result<(), TurnError> {
///     let mut run: Run = agent.prompt("Tidy up.");
///     let handle = run.handle(); // for whoever hears Ctrl-C: `handle.abort()`
///     # drop(handle);
///     while let Some(event) = run.next().await {
///         if let AgentEvent::TextDelta { delta } = event {
///             print!("{delta}");
///         }
///     }
///     match run.finish().await {
///         Err(TurnError { kind: TurnErrorKind::Aborted, .. }) => Ok(()), // the user knows
///         outcome => outcome,
///     }
/// }
/// ```
#[must_use = "a run does nothing unless it is polled; dropping it cancels it"]
pub struct Run {
    work: Option<BoxFuture<'static, Result<(), TurnError>>>,
    /// Dropped behind the work: who waits for the end of a run that is dropped finds the agent free.
    outcome: watch::Sender<Outcome>,
    agent: Weak<AgentState>,
    events: emitter::Receiver,
    /// The last event was taken.
    done: bool,
    cancel: CancellationToken,
    _cancel_on_drop: DropGuard,
}

impl Run {
    pub(crate) fn new(agent: Arc<AgentState>, prompt: Option<Prompt>) -> Self {
        let (sender, events) = emitter::channel();
        let cancel = CancellationToken::new();
        let emitter = Emitter::new(agent.hooks().observers, sender);
        let weak = Arc::downgrade(&agent);
        let work = turn::work(agent, prompt, emitter, cancel.clone()).boxed();
        Self {
            work: Some(work),
            outcome: watch::Sender::new(None),
            agent: weak,
            events,
            done: false,
            _cancel_on_drop: cancel.clone().drop_guard(),
            cancel,
        }
    }

    /// For everybody who has to do with this run and does not take its events: says more, aborts, waits for the end.
    pub fn handle(&self) -> RunHandle {
        let run = self.events.run().clone();
        RunHandle::new(self.agent.clone(), run, self.cancellation(), self.outcome.subscribe())
    }

    /// Cancelling this stops the model, hooks and tools; the run then ends with [`TurnErrorKind::Aborted`].
    ///
    /// [`TurnErrorKind::Aborted`]: crate::error::TurnErrorKind::Aborted
    pub fn cancellation(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Works to the end, dropping events that were not taken, and says how it ended.
    ///
    /// # Errors
    /// [`TurnError`]: the model failed, a hook blocked the turn, the run was cancelled, too many steps.
    pub async fn finish(mut self) -> Result<(), TurnError> {
        while self.next().await.is_some() {}
        self.outcome.borrow().clone().unwrap_or(Ok(()))
    }

    /// Works to the end, and gives the text that the user was shown last: for programs that want the answer and nothing
    /// else. Empty when a hook withheld it, or a tool has dealt with the prompt.
    ///
    /// ```
    /// # use haft_core::{Agent, error::TurnError};
    /// async fn title(agent: &Agent, text: &str) -> Result<String, TurnError> {
    ///     agent.prompt(format!("Give this a title: {text}")).answer().await
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub async fn answer(mut self) -> Result<String, TurnError> {
        let mut answer = String::new();
        while let Some(event) = self.next().await {
            if let AgentEvent::AssistantMessage { content, .. } = event {
                answer = text_of(&content);
            } else if let AgentEvent::TurnStart { .. } | AgentEvent::TurnDiscarded { .. } = event {
                // What an earlier step said is no answer.
                answer.clear();
            }
        }
        self.finish().await.map(|()| answer)
    }
}

impl Stream for Run {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let next = self.as_mut().poll_event(context);
        match &next {
            // A tool may have left a task behind that still holds a sender, and a message may be queued at this moment:
            // that interests nobody now.
            Poll::Ready(_) if self.done => Poll::Ready(None),
            Poll::Ready(event) => {
                self.done = matches!(event, Some(AgentEvent::Done));
                next
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Run {
    fn poll_event(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        // Events that are there come first, so that the work never runs ahead of a slow reader.
        if let Some(event) = self.events.take() {
            return Poll::Ready(Some(event));
        }
        if let Some(work) = self.work.as_mut()
            && let Poll::Ready(outcome) = work.as_mut().poll(context)
        {
            self.work = None;
            self.outcome.send_replace(Some(outcome));
        }
        match self.work {
            Some(_) => self.events.poll(context),
            None => Poll::Ready(self.events.take()),
        }
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("outcome", &*self.outcome.borrow()).finish_non_exhaustive()
    }
}
