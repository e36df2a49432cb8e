//! `Run`: one prompt being worked on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use haft_protocol::event::AgentEvent;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::agent::{Inner, Prompt};
use crate::emitter::{self, Emitter};
use crate::error::TurnError;
use crate::turn;

/// One prompt being worked on: a stream of events that does the work as it is polled. The last event is
/// [`AgentEvent::Done`]. Dropping it cancels the work.
///
/// ```
/// use futures::StreamExt;
/// use haft_core::error::{TurnError, TurnErrorKind};
/// use haft_core::protocol::event::AgentEvent;
/// use haft_core::{Agent, Run};
///
/// async fn show(agent: &Agent) -> Result<(), TurnError> {
///     let mut run: Run = agent.prompt("Tidy up.");
///     let cancel = run.cancellation(); // for whoever hears Ctrl-C
///     # drop(cancel);
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
    outcome: Option<Result<(), TurnError>>,
    events: emitter::Receiver,
    /// The last event was taken.
    done: bool,
    cancel: CancellationToken,
    _cancel_on_drop: DropGuard,
}

impl Run {
    pub(crate) fn new(agent: Arc<Inner>, prompt: Option<Prompt>) -> Self {
        let (sender, events) = emitter::channel();
        let cancel = CancellationToken::new();
        let emitter = Emitter::new(agent.hooks().observers, sender);
        let work = turn::work(agent, prompt, emitter, cancel.clone()).boxed();
        Self {
            work: Some(work),
            outcome: None,
            events,
            done: false,
            _cancel_on_drop: cancel.clone().drop_guard(),
            cancel,
        }
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
        self.outcome.take().unwrap_or(Ok(()))
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
            self.outcome = Some(outcome);
        }
        match self.work {
            Some(_) => self.events.poll(context),
            None => Poll::Ready(self.events.take()),
        }
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}
