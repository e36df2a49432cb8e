//! `RunHandle`: a run from elsewhere.

use std::sync::{Arc, Weak};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Outcome;
use crate::agent_state::AgentState;
use crate::emitter::RunMark;
use crate::error::{TurnError, TurnErrorKind};
use crate::queue::{Prompt, Queue, QueueError};

/// What the rest of a program does with a run while somebody else takes its events. Cheap to clone; for any task and any
/// thread. Made by [`Run::handle`](super::Run::handle).
///
/// It is about this one run, and says so where that is over: [`Agent::steer`](crate::Agent::steer) keeps a message for
/// the next run, [`steer`](Self::steer) refuses it. It keeps neither the run nor the agent alive, and does none of the
/// work: whoever has the [`Run`](super::Run) polls it.
///
/// ```
/// # use std::sync::Arc;
/// # use haft_core::model::{Model, ModelError, ModelInfo, ModelRequest, ModelStream};
/// # struct Slow;
/// # #[async_trait::async_trait]
/// # impl Model for Slow {
/// #     fn info(&self) -> ModelInfo { ModelInfo { provider: "doc".into(), model: "slow".into() } }
/// #     async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
/// #         Ok(Box::pin(futures::stream::pending()))
/// #     }
/// # }
/// use haft_core::error::TurnErrorKind;
/// use haft_core::hooks::CancellationToken;
/// use haft_core::{Agent, QueueError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = Slow;
/// let agent = Agent::builder(model).build()?;
/// let run = agent.prompt("Tidy up.");
/// let handle = run.handle();
/// let work = tokio::spawn(run.finish()); // or a task that shows the events
///
/// handle.steer("Not in src/, in tests/.")?; // the model is told before it is asked again
/// handle.abort(); // the user has seen enough
///
/// let error = handle.wait().await.unwrap_err();
/// assert_eq!(error.kind, TurnErrorKind::Aborted);
/// assert_eq!(handle.steer("And now?"), Err(QueueError::NotUnderWay)); // give the agent a prompt
/// # assert!(work.await?.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunHandle {
    agent: Weak<AgentState>,
    run: RunMark,
    cancel: CancellationToken,
    outcome: watch::Receiver<Outcome>,
}

impl RunHandle {
    pub(super) fn new(
        agent: Weak<AgentState>,
        run: RunMark,
        cancel: CancellationToken,
        outcome: watch::Receiver<Outcome>,
    ) -> Self {
        Self { agent, run, cancel, outcome }
    }

    /// Says something to the agent at work, as [`Agent::steer`](crate::Agent::steer) does: it is told when the tools that
    /// run now are done, before the model is asked again, or instead of stopping. Before the run has begun, it is told
    /// ahead of the prompt. If the run fails, is aborted or is interrupted first, the message waits for the next run;
    /// [`Agent::take_queued`](crate::Agent::take_queued) takes it back.
    ///
    /// # Errors
    /// [`QueueError`]: the run is over, the message is empty, or too many wait.
    pub fn steer(&self, prompt: impl Into<Prompt>) -> Result<(), QueueError> {
        self.say(Queue::Steering, prompt.into())
    }

    /// Says what comes next, as [`Agent::follow_up`](crate::Agent::follow_up) does: the agent is told when it would stop,
    /// and goes on in the same run.
    ///
    /// # Errors
    /// [`QueueError`]: the run is over, the message is empty, or too many wait.
    pub fn follow_up(&self, prompt: impl Into<Prompt>) -> Result<(), QueueError> {
        self.say(Queue::FollowUp, prompt.into())
    }

    fn say(&self, queue: Queue, prompt: Prompt) -> Result<(), QueueError> {
        let agent = self.agent().ok_or(QueueError::NotUnderWay)?;
        agent.queues.push_for(&self.run, queue, prompt)
    }

    /// Has this run come to an end in good order, with an answer, as [`Agent::interrupt`](crate::Agent::interrupt) does.
    /// Says whether it is under way.
    pub fn interrupt(&self, hint: impl Into<Prompt>) -> bool {
        self.agent().is_some_and(|agent| agent.queues.interrupt(Some(&self.run), hint.into()))
    }

    /// Ends this run at once: model, hooks and tools are cancelled, and it ends with [`TurnErrorKind::Aborted`]. What the
    /// user saw is kept, and every tool call has a result. Does nothing when the run is over. Returns at once;
    /// [`wait`](Self::wait) waits until it has ended.
    pub fn abort(&self) {
        self.cancel.cancel();
    }

    /// Whether the run has ended, or was dropped.
    pub fn is_over(&self) -> bool {
        self.outcome.borrow().is_some() || self.outcome.has_changed().is_err()
    }

    /// Waits until the run has ended, and says how. Any number may wait, also when it has ended long ago. From then on
    /// the agent takes the next prompt; events may still be there to be taken.
    ///
    /// The run works while it is polled: without anybody who does, this waits on.
    ///
    /// # Errors
    /// [`TurnError`], the same as that of [`Run::finish`](super::Run::finish). A run that was dropped was aborted.
    pub async fn wait(&self) -> Result<(), TurnError> {
        let mut outcome = self.outcome.clone();
        let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        ended.unwrap_or(Err(TurnError { step: 0, kind: TurnErrorKind::Aborted }))
    }

    /// The agent, while the run is not over.
    fn agent(&self) -> Option<Arc<AgentState>> {
        self.agent.upgrade().filter(|_| !self.is_over())
    }
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunHandle").field("outcome", &*self.outcome.borrow()).finish_non_exhaustive()
    }
}
