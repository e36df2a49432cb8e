//! One extension: a handle that sends queries and events, and the task behind it.

mod actor;
pub(crate) mod backlog;
mod deadline_timer;
pub(crate) mod frontend;
pub(crate) mod message_bus;
pub(crate) mod mirror;
mod rare_events;
pub(crate) mod send_queue;
pub(crate) mod services;
pub(crate) mod status_line;
pub(crate) mod turn_reports;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::channel::mpsc;
use haft_core::hooks::GateClock;
use haft_protocol::RawJson;
use haft_protocol::ext::{HostFrame, HostQuery, HostResult, InterceptHook, InterceptKind};
use haft_protocol::ids::RequestId;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::extension::frontend::FaultReporter;
use crate::extension::send_queue::event::{EventBatch, EventRun};
use crate::extension::send_queue::{SendQueue, WriterEnd};
use crate::session::CallId;
use crate::session::ids::RequestIdGenerator;
use crate::session::offers::ExtensionOffers;
use crate::session::{ExtensionSession, ExtensionState, OutgoingQuestion, ProgressSender, QueryAnswer};
use crate::wire::fault::{CallError, FaultCode};
pub(crate) use actor::{ActorConfig, EndHandler, start};

/// The maximum number of events that wait for one extension's task; further events are dropped and counted.
pub(crate) const WAITING_EVENTS: usize = 1024;

/// The text about an extension whose task panicked.
pub(crate) const PANICKED: &str = "stopped because of an internal error: its task panicked";

type AnswerSender = oneshot::Sender<Result<QueryAnswer, CallError>>;

/// A command of a handle for its task. The channel is unbounded, because other limits bound the commands. The
/// task takes every command and never waits for the extension, whose own queue is short (`queue_frames`).
/// Events count against [`WAITING_EVENTS`], and queries are bounded by the waiting callers. Results of
/// `host_call`s are bounded by `max_host_calls`, and the queue sends one command for each read.
#[derive(Debug)]
pub(crate) enum ActorCommand {
    // Boxed, because a command is moved six times on its way.
    Send(Box<OutgoingQuestion<AnswerSender>>),
    Cancel(RequestId),
    SendMessage(Box<HostFrame>),
    Events(EventRun),
    AnswerAll(&'static str),
    Ping(oneshot::Sender<()>),
    Shutdown,
    HostCallDone {
        id: CallId,
        name: &'static str,
        result: HostResult,
    },
    /// A part of the value of a call.
    HostCallProgress {
        id: CallId,
        value: RawJson,
    },
    /// An event was sent to the extension, the first since its last sign of life.
    EventSent,
    EventsLost,
    WriterEnd(WriterEnd),
}

#[derive(Debug, Clone)]
pub(crate) struct Deadline {
    pub(crate) from: Instant,
    pub(crate) after: Duration,
    /// The common time of several queries, which stands still while this one waits for a person.
    clock: Option<GateClock>,
}

impl Deadline {
    pub(crate) fn after(after: Duration) -> Self {
        Self { from: Instant::now(), after, clock: None }
    }

    pub(crate) fn with_clock(self, clock: Option<&GateClock>) -> Self {
        Self { clock: clock.cloned(), ..self }
    }

    pub(crate) fn at(&self) -> Instant {
        self.from + self.after
    }
}

/// The state of an extension at one moment, as other parts see it.
#[derive(Debug, Clone)]
pub(crate) struct ExtensionSnapshot {
    pub(crate) state: ExtensionState,
    pub(crate) greeted: bool,
    pub(crate) was_ready: bool,
    pub(crate) offers: Arc<ExtensionOffers>,
}

impl ExtensionSnapshot {
    fn from_session(session: &ExtensionSession<AnswerSender>) -> Self {
        Self {
            state: session.state(),
            greeted: session.has_said_hello(),
            was_ready: session.was_ready(),
            offers: Arc::clone(session.offers()),
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        matches!(self.state, ExtensionState::Starting | ExtensionState::Ready)
    }
}

/// A handle to one process or pair of streams, from its start to its end. Dropping the last handle stops the
/// process.
#[derive(Debug, Clone)]
pub(crate) struct ExtensionHandle {
    inner: Arc<HandleInner>,
}

#[derive(Debug)]
struct HandleInner {
    reporter: FaultReporter,
    ids: RequestIdGenerator,
    mailbox: Arc<mpsc::UnboundedSender<ActorCommand>>,
    queue: Arc<SendQueue>,
    open: TaskTracker,
    snapshots: watch::Receiver<ExtensionSnapshot>,
    /// The number of the last session about whose start the process was asked.
    session: AtomicU64,
}

impl HandleInner {
    /// Puts a command into the mailbox; later events wait for it. Returns false if the task has ended.
    fn post_command(&self, command: ActorCommand) -> bool {
        self.queue.distribute_events();
        self.queue.expect_command();
        self.mailbox.unbounded_send(command).is_ok()
    }
}

impl ExtensionHandle {
    pub(crate) fn reporter(&self) -> &FaultReporter {
        &self.inner.reporter
    }

    /// Returns true for the first call with the number of this session.
    pub(crate) fn claim_session_start(&self, number: u64) -> bool {
        self.inner.session.fetch_max(number, Ordering::Relaxed) < number
    }

    pub(crate) fn events_dropped(&self) -> usize {
        self.inner.queue.lost_events()
    }

    /// Returns the current state. The state cannot change until the guard is dropped; do not await while
    /// holding it.
    pub(crate) fn snapshot(&self) -> watch::Ref<'_, ExtensionSnapshot> {
        self.inner.snapshots.borrow()
    }

    pub(crate) async fn wait_until_greeted(&self) {
        self.wait_until(|now| now.greeted || now.state != ExtensionState::Starting).await;
    }

    pub(crate) async fn wait_until_settled(&self) {
        self.wait_until(|now| now.state != ExtensionState::Starting).await;
    }

    /// Waits until the extension left or failed. Its process may exist for a moment longer.
    pub(crate) async fn wait_until_ended(&self) {
        self.wait_until(|now| matches!(now.state, ExtensionState::Stopped | ExtensionState::Failed { .. }))
            .await;
    }

    async fn wait_until(&self, come: impl Fn(&ExtensionSnapshot) -> bool) {
        // An error means that the task ended, so no further change follows.
        _ = self.inner.snapshots.clone().wait_for(come).await;
    }

    /// Lets open queries finish within this time, then ends them, because another process takes over.
    pub(crate) async fn drain(&self, within: Duration) {
        self.inner.open.close();
        if timeout(within, self.inner.open.wait()).await.is_err() {
            // A task that ended has ended all queries.
            self.inner.post_command(ActorCommand::AnswerAll("was cancelled by reload"));
        }
    }

    /// Returns a receiver that resolves when the task has processed all earlier commands, or fails when the
    /// task has ended.
    pub(crate) fn ping(&self) -> oneshot::Receiver<()> {
        let (ping, pong) = oneshot::channel();
        // A task that ended drops the sender.
        self.inner.post_command(ActorCommand::Ping(ping));
        pong
    }

    /// Waits until the task and its process have ended.
    pub(crate) async fn wait_until_gone(&self) {
        let mut snapshots = self.inner.snapshots.clone();
        while snapshots.changed().await.is_ok() {}
    }

    /// Asks the extension to leave. [`wait_until_gone`](Self::wait_until_gone) waits for the end.
    pub(crate) fn shutdown(&self) {
        // A task that ended needs no request.
        self.inner.post_command(ActorCommand::Shutdown);
    }

    // This function and `query` are not async, because each async layer moves the question once more.
    pub(crate) fn query_hook<H: InterceptHook>(
        &self,
        cancel: &CancellationToken,
        question: H,
        deadline: Deadline,
    ) -> impl Future<Output = Result<H::Decision, CallError>> {
        let what = self.inner.reporter.hook_label(H::KIND).into();
        self.query_or_report(cancel, question, what, deadline, FaultCode::HookError)
    }

    /// Queries the extension, and reports an invalid answer with this code.
    pub(crate) async fn query_or_report<R: HostQuery>(
        &self,
        cancel: &CancellationToken,
        request: R,
        what: Cow<'static, str>,
        deadline: Deadline,
        code: FaultCode,
    ) -> Result<R::Answer, CallError> {
        let outcome = self.query(cancel, request, what.clone(), deadline).await?;
        outcome.map_err(|detail| {
            self.inner.reporter.report_mistake(code, format!("{what}: {detail}"));
            CallError::BadResponse { detail }
        })
    }

    /// Queries the extension. The inner error is an invalid answer, which is not reported yet. Dropping the
    /// future, or cancelling, releases the query immediately.
    pub(crate) fn query<R: HostQuery>(
        &self,
        cancel: &CancellationToken,
        request: R,
        what: Cow<'static, str>,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Result<R::Answer, String>, CallError>> {
        self.query_with_progress(cancel, request, what, deadline, None)
    }

    /// Queries the extension like [`query`](Self::query); `progress` gets the progress of the query.
    pub(crate) async fn query_with_progress<R: HostQuery>(
        &self,
        cancel: &CancellationToken,
        request: R,
        what: Cow<'static, str>,
        deadline: Deadline,
        progress: Option<ProgressSender>,
    ) -> Result<Result<R::Answer, String>, CallError> {
        let frame = |id| request.into_frame(id);
        let QueryAnswer { response, reports, notes } =
            self.send_and_wait(cancel, frame, what, deadline, progress).await?;
        let reporter = &self.inner.reporter;
        for report in reports {
            reporter.report_mistake(FaultCode::HookError, report);
        }
        for note in notes {
            tracing::debug!(extension = %reporter.name, note);
        }
        Ok(response.and_then(|response| R::read_answer(response).map_err(|error| error.to_string())))
    }

    async fn send_and_wait(
        &self,
        cancel: &CancellationToken,
        frame: impl FnOnce(RequestId) -> HostFrame,
        what: Cow<'static, str>,
        deadline: Deadline,
        progress: Option<ProgressSender>,
    ) -> Result<QueryAnswer, CallError> {
        let _open = self.inner.open.token();
        let number = self.inner.ids.next_number();
        let id = self.inner.ids.request_id(number);
        let (ticket, answer) = oneshot::channel();
        let frame = frame(id.clone());
        let (asked, after) = (deadline.from.into_std(), deadline.after);
        let question =
            OutgoingQuestion { id, frame, what, asked, after, clock: deadline.clock, ticket, progress };
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        if !self.inner.post_command(ActorCommand::Send(Box::new(question))) {
            return Err(self.gone_error());
        }
        let release = QuestionGuard { inner: &self.inner, number: Some(number) };
        let answer = cancel.run_until_cancelled(answer).await.ok_or(CallError::Cancelled)?;
        release.disarm();
        // A ticket that is dropped without an answer belongs to a task that ended.
        answer.map_err(|_| self.gone_error())?
    }

    /// Sends the subscribed events. Never waits; events beyond the limit are dropped and counted.
    pub(crate) fn observe(&self, batch: &EventBatch) {
        self.inner.queue.push_events(batch);
    }

    /// Sends an event as a line. Never waits; events beyond the limit are dropped and counted.
    pub(crate) fn observe_line(&self, line: String) {
        let is_ready = {
            let now = self.snapshot();
            now.was_ready && now.is_alive()
        };
        if !is_ready {
            return;
        }
        if self.inner.queue.pending_commands() >= WAITING_EVENTS {
            self.inner.queue.count_lost(1);
        } else {
            self.inner.post_command(ActorCommand::Events(EventRun { text: line.into(), events: 1 }));
        }
    }

    /// Reports the number of lost events to an extension that supports this.
    pub(crate) fn observe_gap(&self, lost: usize) {
        if lost > 0 {
            self.inner.queue.push_gap(lost as u64);
        }
    }

    /// Sends a message that has no answer.
    pub(crate) fn send_message(&self, frame: HostFrame) {
        // An extension that ended receives nothing; its end was reported.
        self.inner.post_command(ActorCommand::SendMessage(Box::new(frame)));
    }

    fn gone_error(&self) -> CallError {
        let why = match &self.snapshot().state {
            ExtensionState::Failed { message, .. } | ExtensionState::Restarting { message, .. } => {
                message.clone()
            }
            ExtensionState::Starting | ExtensionState::Ready => PANICKED.to_owned(),
            ExtensionState::Idle | ExtensionState::Stopping | ExtensionState::Stopped => {
                "was stopped".to_owned()
            }
        };
        CallError::Gone { why }
    }
}

pub(crate) const fn intercept_label(kind: InterceptKind) -> &'static str {
    match kind {
        InterceptKind::ToolCall => "tool_call intercept",
        InterceptKind::TurnStart => "turn_start intercept",
        InterceptKind::AssistantMessage => "assistant_message intercept",
        InterceptKind::BeforeAgentStart => "before_agent_start intercept",
        InterceptKind::BeforeCompact => "before_compact intercept",
        InterceptKind::SessionStart => "session_start wait",
        InterceptKind::SessionShutdown => "session_shutdown wait",
        InterceptKind::AgentStart => "agent_start wait",
        InterceptKind::AgentEnd => "agent_end wait",
        InterceptKind::TurnEnd => "turn_end wait",
        InterceptKind::MessageStart => "message_start wait",
        InterceptKind::ToolEnd => "tool_end wait",
        InterceptKind::ToolResult => "tool_result intercept",
        InterceptKind::Input => "input intercept",
        InterceptKind::BeforeSettle => "before_settle intercept",
        InterceptKind::Context => "context intercept",
        InterceptKind::MessageEnd => "message_end intercept",
        InterceptKind::BeforeProviderRequest => "before_provider_request intercept",
        InterceptKind::UserBash => "user_bash intercept",
        InterceptKind::BeforeSwitch => "before_switch intercept",
        InterceptKind::BeforeFork => "before_fork intercept",
        InterceptKind::BeforeTree => "before_tree intercept",
        InterceptKind::Resources => "resources intercept",
        InterceptKind::Approve => "approve intercept",
        InterceptKind::ProjectTrust => "project_trust intercept",
    }
}

/// Cancels a query when its caller goes away.
struct QuestionGuard<'a> {
    inner: &'a HandleInner,
    number: Option<u64>,
}

impl QuestionGuard<'_> {
    fn disarm(mut self) {
        self.number = None;
    }
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            // A task that ended has released everything.
            self.inner.post_command(ActorCommand::Cancel(self.inner.ids.request_id(number)));
        }
    }
}

impl ActorCommand {
    /// True if a handle put this command into the mailbox.
    fn is_posted(&self) -> bool {
        match self {
            Self::Send(_) | Self::Cancel(_) | Self::SendMessage(_) | Self::Events(_) => true,
            Self::AnswerAll(_) | Self::Ping(_) | Self::Shutdown => true,
            Self::HostCallDone { .. }
            | Self::HostCallProgress { .. }
            | Self::EventSent
            | Self::EventsLost
            | Self::WriterEnd(_) => false,
        }
    }
}
