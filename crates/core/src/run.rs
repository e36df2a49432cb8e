//! `Run`: the processing of one prompt.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::text_of;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::agent_state::AgentState;
use crate::emitter::{self, EventEmitter, RunToken};
use crate::error::{OutputError, TurnError, TurnErrorKind};
use crate::model::OutputSchema;
use crate::queue::{Prompt, QueueError, QueueKind};
use crate::turn::{self, OutputSlot};

/// The outcome of a run; `None` until the run ends.
type RunOutcome = Option<Result<(), TurnError>>;

/// The processing of one prompt: a stream of events that does the work while it is polled. The last event is
/// [`AgentEvent::Done`]. Dropping the run cancels the work. Other tasks use a [`handle`](Self::handle).
///
/// ```
/// use haft_core::error::{TurnError, TurnErrorKind};
/// use haft_core::protocol::event::AgentEvent;
/// use haft_core::{Agent, Run};
///
/// async fn show(agent: &Agent) -> Result<(), TurnError> {
///     let mut run: Run = agent.prompt("Tidy up.");
///     let handle = run.handle(); // for the Ctrl-C handler: `handle.abort()`
///     # drop(handle);
///     while let Some(event) = run.next().await {
///         if let AgentEvent::TextDelta { delta } = event {
///             print!("{delta}");
///         }
///     }
///     match run.finish().await {
///         Err(TurnError { kind: TurnErrorKind::Aborted, .. }) => Ok(()), // the user aborted the run
///         outcome => outcome,
///     }
/// }
/// ```
#[must_use = "a run does nothing unless it is polled; dropping it cancels it"]
pub struct Run {
    work: Option<BoxFuture<'static, Result<(), TurnError>>>,
    /// Dropped after the work, so that waiters of a dropped run find the agent free.
    outcome: watch::Sender<RunOutcome>,
    agent: Weak<AgentState>,
    events: emitter::EventReceiver,
    done: bool,
    output: OutputSlot,
    cancel: CancellationToken,
    /// The tokens of the owner, which cancel the run.
    parents: Vec<BoxFuture<'static, ()>>,
    _cancel_on_drop: DropGuard,
}

impl Run {
    pub(crate) fn new(agent: Arc<AgentState>, prompt: Option<Prompt>) -> Self {
        let (sender, events) = emitter::event_channel();
        let cancel = CancellationToken::new();
        let emitter = EventEmitter::new(agent.current_hooks(), sender);
        let weak = Arc::downgrade(&agent);
        let output = OutputSlot::default();
        let work = turn::run_prompt(agent, prompt, emitter, cancel.clone(), output.clone()).boxed();
        Self {
            work: Some(work),
            outcome: watch::Sender::new(None),
            agent: weak,
            events,
            done: false,
            output,
            parents: Vec::new(),
            _cancel_on_drop: cancel.clone().drop_guard(),
            cancel,
        }
    }

    /// Returns a handle for tasks that do not read the run's events. The handle can send messages, abort, and wait for
    /// the end.
    pub fn handle(&self) -> RunHandle {
        let run = self.events.run().clone();
        RunHandle::new(self.agent.clone(), run, self.cancellation_token(), self.outcome.subscribe())
    }

    /// Returns a token that stops the model, hooks and tools when cancelled. The run then ends with
    /// [`TurnErrorKind::Aborted`].
    ///
    /// [`TurnErrorKind::Aborted`]: crate::error::TurnErrorKind::Aborted
    pub fn cancellation_token(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Cancels the run when `parent` is cancelled, for example the token of a request that the run serves. The run does
    /// not cancel the owner's token.
    ///
    /// ```
    /// use haft_core::error::TurnError;
    /// use haft_core::{Agent, CancellationToken};
    ///
    /// async fn serve(agent: &Agent, request: &CancellationToken, text: &str) -> Result<String, TurnError> {
    ///     agent.prompt(text).with_cancellation(request.clone()).answer().await
    /// }
    /// ```
    pub fn with_cancellation(mut self, parent: CancellationToken) -> Self {
        self.parents.push(parent.cancelled_owned().boxed());
        self
    }

    /// Returns the next event; `None` after [`AgentEvent::Done`].
    #[expect(clippy::should_implement_trait, reason = "the name of `StreamExt::next`, without an import")]
    pub fn next(&mut self) -> impl Future<Output = Option<AgentEvent>> + Send + Unpin {
        StreamExt::next(self)
    }

    /// Runs to the end, discards unread events, and returns the outcome.
    ///
    /// # Errors
    /// [`TurnError`] if the model failed, a hook blocked the turn, the run was cancelled, or the step limit was
    /// reached.
    pub async fn finish(mut self) -> Result<(), TurnError> {
        while self.next().await.is_some() {}
        self.ended_outcome()
    }

    /// Runs to the end and returns the last text that the user was shown. The text is empty if a hook suppressed it or
    /// a tool handled the prompt.
    ///
    /// ```
    /// # use haft_core::{Agent, error::TurnError};
    /// async fn title(agent: &Agent, text: &str) -> Result<String, TurnError> {
    ///     agent.prompt(format!("Give this a title: {text}")).answer().await
    /// }
    /// ```
    ///
    /// # Errors
    /// The same as [`finish`](Self::finish).
    pub async fn answer(mut self) -> Result<String, TurnError> {
        self.read_answer(|_| {}).await
    }

    /// Runs to the end as [`answer`](Self::answer) does, and passes each event to `watch`.
    pub(crate) async fn read_answer(
        &mut self,
        watch: impl Fn(&AgentEvent) + Send,
    ) -> Result<String, TurnError> {
        let mut answer = String::new();
        while let Some(event) = self.next().await {
            watch(&event);
            if let AgentEvent::AssistantMessage { content, .. } = event {
                answer = text_of(&content);
            } else if let AgentEvent::TurnStart { .. } | AgentEvent::TurnDiscarded { .. } = event {
                // The text of an earlier step is not the answer.
                answer.clear();
            }
        }
        self.ended_outcome().map(|()| answer)
    }

    fn ended_outcome(&self) -> Result<(), TurnError> {
        self.outcome.borrow().clone().unwrap_or(Ok(()))
    }

    /// Demands that the run ends with JSON that fits a schema. Providers with structured output guarantee it; with the
    /// others, the model gives its answer as a call of a tool. haft checks each answer, and asks the model for a
    /// correction up to two times, as long as [`max_steps`](crate::AgentBuilder::max_steps) permits another step. Has no
    /// effect after the first event.
    ///
    /// The agent checks the model's own text. If a [`BeforeAssistantMessage`](crate::hooks::BeforeAssistantMessage) hook
    /// replaces it, the result is the replacement, which is not corrected.
    ///
    /// The corrections are messages of the user in the transcript. [`answer_json`](Self::answer_json) and
    /// [`answer_as`](Self::answer_as) set the schema themselves.
    pub fn with_output(self, schema: OutputSchema) -> Self {
        // An error means that a schema is set.
        let _ = self.output.set(Arc::new(schema));
        self
    }

    /// Runs to the end and returns the answer as JSON that fits the schema; see [`with_output`](Self::with_output).
    ///
    /// ```
    /// use haft_core::error::OutputError;
    /// use haft_core::model::OutputSchema;
    /// use haft_core::protocol::RawJson;
    ///
    /// async fn place(agent: &haft_core::Agent, schema: OutputSchema) -> Result<RawJson, OutputError> {
    ///     agent.prompt("Where is the Vigeland park?").answer_json(schema).await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`OutputError`] if the run failed, or the corrected answer does not fit either.
    pub async fn answer_json(self, schema: OutputSchema) -> Result<RawJson, OutputError> {
        let text = self.with_output(schema.clone()).answer().await?;
        schema.check(&text).map_err(|mistake| OutputError::Mismatch { text, mistake })
    }

    /// Runs to the end and returns the answer as a value of a Rust type; see [`with_output`](Self::with_output). The type
    /// is a struct; its doc comments tell the model what the fields mean.
    ///
    /// ```
    /// use haft_core::error::OutputError;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Place {
    ///     /// The English name of the city.
    ///     city: String,
    /// }
    ///
    /// async fn place(agent: &haft_core::Agent) -> Result<Place, OutputError> {
    ///     agent.prompt("Where is the Vigeland park?").answer_as::<Place>().await
    /// }
    /// ```
    ///
    /// # Errors
    /// The same as [`answer_json`](Self::answer_json); [`OutputError::Schema`] if the type is not an object in JSON.
    #[cfg(feature = "schemars")]
    pub async fn answer_as<T>(self) -> Result<T, OutputError>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema,
    {
        let json = self.answer_json(OutputSchema::for_type::<T>()?).await?;
        json.read()
            .map_err(|error| OutputError::Mismatch { text: json.to_string(), mistake: error.to_string() })
    }
}

impl IntoFuture for Run {
    type Output = Result<String, TurnError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Runs to the end, as [`answer`](Run::answer) does.
    fn into_future(self) -> Self::IntoFuture {
        self.answer().boxed()
    }
}

impl Stream for Run {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let next = self.as_mut().poll_event(context);
        match &next {
            // A tool's background task may still hold a sender, or a message may be queued at this moment; neither
            // matters after the end.
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
        if self.parents.iter_mut().any(|parent| parent.poll_unpin(context).is_ready()) {
            self.parents.clear();
            self.cancel.cancel();
        }
        // Pending events come first, so that the work never runs ahead of a slow reader.
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

/// A handle for tasks that do not read the run's events. Cheap to clone; can be used from any task or thread. Created
/// by [`Run::handle`](Run::handle).
///
/// The handle belongs to one run: [`Agent::steer`](crate::Agent::steer) keeps a message for the next run, but
/// [`steer`](Self::steer) fails after the run has ended. The handle keeps neither the run nor the agent alive, and does
/// not drive the run; the owner of the [`Run`] must poll it.
///
/// ```
/// # use std::sync::Arc;
/// # use haft_core::model::{Model, ModelError, ModelId, ModelRequest, ModelStream};
/// # struct Slow;
/// # #[async_trait::async_trait]
/// # impl Model for Slow {
/// #     fn info(&self) -> ModelId { ModelId { provider: "doc".into(), model: "slow".into() } }
/// #     async fn stream(&self, _: CancellationToken, _: ModelRequest) -> Result<ModelStream, ModelError> {
/// #         Ok(Box::pin(futures::stream::pending()))
/// #     }
/// # }
/// use haft_core::error::TurnErrorKind;
/// use haft_core::{Agent, CancellationToken, QueueError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model = Slow;
/// let agent = Agent::builder(model).build()?;
/// let run = agent.prompt("Tidy up.");
/// let handle = run.handle();
/// let work = tokio::spawn(run.finish()); // or a task that displays the events
///
/// handle.steer("Not in src/, in tests/.")?; // delivered before the next request
/// handle.abort(); // the user aborts the run
///
/// let error = handle.wait().await.unwrap_err();
/// assert_eq!(error.kind, TurnErrorKind::Aborted);
/// assert_eq!(handle.steer("And now?"), Err(QueueError::NotUnderWay)); // start a new run
/// # assert!(work.await?.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunHandle {
    agent: Weak<AgentState>,
    run: RunToken,
    cancel: CancellationToken,
    outcome: watch::Receiver<RunOutcome>,
}

impl RunHandle {
    fn new(
        agent: Weak<AgentState>,
        run: RunToken,
        cancel: CancellationToken,
        outcome: watch::Receiver<RunOutcome>,
    ) -> Self {
        Self { agent, run, cancel, outcome }
    }

    /// Queues a steering message, as [`Agent::steer`](crate::Agent::steer) does. The model receives it after the
    /// current tool calls, or instead of stopping. Before the run starts, the message is placed in front of the prompt.
    /// If the run fails, is aborted or is interrupted first, the message stays in the queue;
    /// [`Agent::take_queued`](crate::Agent::take_queued) removes it.
    ///
    /// # Errors
    /// [`QueueError`] if the run has ended, the message is empty, or the queue is full.
    pub fn steer(&self, prompt: impl Into<Prompt>) -> Result<(), QueueError> {
        self.push_message(QueueKind::Steering, prompt.into())
    }

    /// Queues a follow-up, as [`Agent::follow_up`](crate::Agent::follow_up) does. The agent receives it when it would
    /// stop, and continues in the same run.
    ///
    /// # Errors
    /// [`QueueError`] if the run has ended, the message is empty, or the queue is full.
    pub fn follow_up(&self, prompt: impl Into<Prompt>) -> Result<(), QueueError> {
        self.push_message(QueueKind::FollowUp, prompt.into())
    }

    fn push_message(&self, queue: QueueKind, prompt: Prompt) -> Result<(), QueueError> {
        let agent = self.live_agent().ok_or(QueueError::NotUnderWay)?;
        agent.queues.push_for(&self.run, queue, prompt)
    }

    /// Ends this run in good order, with an answer, as [`Agent::interrupt`](crate::Agent::interrupt) does. Returns true
    /// if the run is active.
    pub fn interrupt(&self, hint: impl Into<Prompt>) -> bool {
        self.live_agent().is_some_and(|agent| agent.queues.interrupt(Some(&self.run), hint.into()))
    }

    /// Aborts this run: the model, hooks and tools are cancelled, and the run ends with [`TurnErrorKind::Aborted`].
    /// Content that the user saw is kept, and every tool call has a result. Has no effect after the end. Returns
    /// immediately; [`wait`](Self::wait) waits for the end.
    pub fn abort(&self) {
        self.cancel.cancel();
    }

    /// True if the run has ended or was dropped.
    pub fn is_over(&self) -> bool {
        self.outcome.borrow().is_some() || self.outcome.has_changed().is_err()
    }

    /// Waits for the end of the run and returns the outcome. Several tasks can wait, even after the end. The agent then
    /// accepts the next prompt; some events may still be unread.
    ///
    /// Does not return if no other task polls the run.
    ///
    /// # Errors
    /// [`TurnError`], the same as from [`Run::finish`](Run::finish). A dropped run counts as aborted.
    pub async fn wait(&self) -> Result<(), TurnError> {
        let mut outcome = self.outcome.clone();
        let ended = outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        ended.unwrap_or(Err(TurnError { step: 0, kind: TurnErrorKind::Aborted }))
    }

    fn live_agent(&self) -> Option<Arc<AgentState>> {
        self.agent.upgrade().filter(|_| !self.is_over())
    }
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunHandle").field("outcome", &*self.outcome.borrow()).finish_non_exhaustive()
    }
}
