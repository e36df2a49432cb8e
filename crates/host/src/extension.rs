//! One extension: a handle that asks and tells, and the task behind it.

mod actor;
mod alarm;
mod connection;
mod filter;
mod ids;
mod offers;
mod pending;
mod session;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_protocol::ext::{
    CommandAction, Event, Hook, HostFrame, InterceptKind, InvokeCommand, Request, Response,
};
use haft_protocol::ids::{ExtensionName, RequestId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fault::{CallError, FaultCode};
use crate::frontend::Reporter;
use crate::timeouts::Timeouts;
pub(crate) use actor::{Start, start};
pub(crate) use connection::Connection;
use ids::Ids;
pub(crate) use offers::{OfferedTool, Offers};
pub use session::ExtensionState;
pub(crate) use session::Facts;
use session::Question;

/// Events that may wait for one extension's task; further ones are dropped and counted.
const WAITING_EVENTS: usize = 1024;

/// How many events wait for one extension's task, and how many were dropped on the way to it.
#[derive(Debug, Default)]
struct EventCount {
    waiting: AtomicUsize,
    dropped: AtomicUsize,
}

/// Who waits for an answer.
type Ticket = oneshot::Sender<Result<Response, CallError>>;

/// What a handle asks of its task.
#[derive(Debug)]
enum Command {
    Ask(Question<Ticket>),
    Cancel(RequestId),
    Tell(HostFrame),
    Shutdown,
}

/// An extension as others see it at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    pub(crate) state: ExtensionState,
    pub(crate) offers: Arc<Offers>,
}

impl Snapshot {
    /// Whether it may still answer.
    pub(crate) fn is_alive(&self) -> bool {
        matches!(self.state, ExtensionState::Starting | ExtensionState::Ready)
    }
}

/// A handle on one extension. Dropping the last one stops the extension.
#[derive(Debug, Clone)]
pub(crate) struct Extension {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    reporter: Reporter,
    timeouts: Timeouts,
    ids: Ids,
    commands: mpsc::UnboundedSender<Command>,
    event_count: Arc<EventCount>,
    snapshots: watch::Receiver<Snapshot>,
}

impl Extension {
    pub(crate) fn name(&self) -> &ExtensionName {
        &self.inner.reporter.name
    }

    pub(crate) fn reporter(&self) -> &Reporter {
        &self.inner.reporter
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.inner.timeouts
    }

    /// Events that it was not told.
    pub(crate) fn events_dropped(&self) -> usize {
        self.inner.event_count.dropped.load(Ordering::Relaxed)
    }

    /// What it is at this moment.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.inner.snapshots.borrow().clone()
    }

    /// Waits until it is ready or has failed.
    pub(crate) async fn settled(&self) {
        let mut snapshots = self.inner.snapshots.clone();
        // An error means that the task is gone, which settles it, too.
        _ = snapshots.wait_for(|now| now.state != ExtensionState::Starting).await;
    }

    /// Waits until its task, and with it its process, is gone.
    pub(crate) async fn gone(&self) {
        let mut snapshots = self.inner.snapshots.clone();
        while snapshots.changed().await.is_ok() {}
    }

    /// Asks it to leave. [`gone`](Self::gone) tells when it has.
    pub(crate) fn shutdown(&self) {
        // A task that is gone already needs no request.
        _ = self.inner.commands.send(Command::Shutdown);
    }

    /// Intercepts something.
    pub(crate) async fn intercept<H: Hook>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<H::Decision, CallError> {
        let what = intercept_label(H::KIND);
        let outcome = self.ask(cancel, question, what, self.inner.timeouts.intercept).await?;
        outcome.map_err(|detail| self.bad_answer(FaultCode::HookError, what, detail))
    }

    /// Runs one of its commands.
    pub(crate) async fn command(
        &self,
        cancel: &CancellationToken,
        command: InvokeCommand,
    ) -> Result<CommandAction, CallError> {
        let what = format!("/{}", command.name);
        let outcome = self.ask(cancel, command, &what, self.inner.timeouts.command).await?;
        outcome.map_err(|detail| self.bad_answer(FaultCode::FrameInvalid, &what, detail))
    }

    /// Asks something. The inner error is an answer that does not fit the question; it is not reported yet.
    /// Dropping the future, or cancelling, releases the question at once.
    pub(crate) async fn ask<R: Request>(
        &self,
        cancel: &CancellationToken,
        request: R,
        what: &str,
        after: Duration,
    ) -> Result<Result<R::Answer, String>, CallError> {
        let id = self.inner.ids.next();
        let (ticket, answer) = oneshot::channel();
        let frame = request.into_frame(id.clone());
        let asked = Instant::now().into_std();
        let question = Question { id: id.clone(), frame, what: what.to_owned(), asked, after, ticket };
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        self.inner.commands.send(Command::Ask(question)).map_err(|_| self.absence())?;
        let release = Release { inner: &self.inner, id: Some(id) };
        let answer = cancel.run_until_cancelled(answer).await.ok_or(CallError::Cancelled)?;
        release.answered();
        // A ticket that is dropped unanswered belongs to a task that is gone.
        let response = answer.map_err(|_| self.absence())??;
        Ok(R::answer(response).map_err(|error| error.to_string()))
    }

    /// Sends an event if it is subscribed to. Never waits; what does not fit is dropped and counted.
    pub(crate) fn observe(&self, event: impl FnOnce() -> Event, name: &str) {
        let snapshot = self.inner.snapshots.borrow();
        let wanted = snapshot.is_alive() && snapshot.offers.events.contains(name);
        drop(snapshot);
        if !wanted {
            return;
        }
        let count = &self.inner.event_count;
        if count.waiting.load(Ordering::Relaxed) < WAITING_EVENTS {
            self.tell(HostFrame::Event(event()));
        } else {
            count.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends a frame that nobody answers.
    pub(crate) fn tell(&self, frame: HostFrame) {
        self.inner.event_count.waiting.fetch_add(1, Ordering::Relaxed);
        // An extension that is gone hears nothing; its end was reported.
        _ = self.inner.commands.send(Command::Tell(frame));
    }

    fn bad_answer(&self, code: FaultCode, what: &str, detail: String) -> CallError {
        self.inner.reporter.fault(code, format!("{what}: {detail}"));
        CallError::BadResponse { detail }
    }

    fn absence(&self) -> CallError {
        let why = match self.snapshot().state {
            ExtensionState::Failed { message, .. } => message,
            ExtensionState::Starting
            | ExtensionState::Ready
            | ExtensionState::Stopping
            | ExtensionState::Stopped => "was stopped".to_owned(),
        };
        CallError::Gone { why }
    }
}

/// What an intercept is called in messages.
const fn intercept_label(kind: InterceptKind) -> &'static str {
    match kind {
        InterceptKind::ToolCall => "tool_call intercept",
        InterceptKind::TurnStart => "turn_start intercept",
        InterceptKind::AssistantMessage => "assistant_message intercept",
        InterceptKind::BeforeAgentStart => "before_agent_start intercept",
    }
}

/// Takes a question back when whoever asked goes away.
struct Release<'a> {
    inner: &'a Inner,
    id: Option<RequestId>,
}

impl Release<'_> {
    fn answered(mut self) {
        self.id = None;
    }
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // A task that is gone has released everything.
            _ = self.inner.commands.send(Command::Cancel(id));
        }
    }
}
