//! One extension of a host: what it shall be, and the process that is it at the moment.

mod view;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use futures::channel::mpsc;
use haft_packages::ExtensionSpec;
use haft_packages::file_name::dir_name;
use haft_protocol::ext::{Hook, InterceptKind};
use haft_protocol::ids::ExtensionName;
use tokio::sync::{Mutex, oneshot, watch};
use tokio::time::{Duration, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::agent::policy::{self, Verdict};
use crate::extension::backlog::Backlog;
use crate::extension::send_queue::event::{EventBatch, EventFilter};
use crate::extension::{Deadline, Extension, PANICKED};
use crate::session::ExtensionState;
use crate::session::filter::Role;
use crate::session::offers::{OfferedTool, Offers};
use crate::supervision::keeper::Order;
use crate::supervision::slot::{Slot, Stage};
use crate::timeouts::Timeouts;
use crate::wire::fault::{CallError, Failure, FaultCode};
use view::View;

/// One extension of a host. It lives over restarts; a reload puts another one in its place.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) spec: Arc<ExtensionSpec>,
    pub(crate) timeouts: Arc<Timeouts>,
    /// True if the user lets tool calls pass that this extension does not answer in time.
    pub(crate) loosened: bool,
    /// The time that a start waits for its `hello`: not at all when it was silent before.
    pub(crate) patience: Duration,
    /// True if it came as a pair of streams, which nobody can make again: it stays over a reload.
    pub(crate) stays: bool,
    pub(crate) slot: watch::Receiver<Slot>,
    /// To its keeper. When nobody holds the entry any more, the extension is stopped.
    pub(crate) orders: mpsc::UnboundedSender<Order>,
    /// Held while a process hook is asked what passes when it is late.
    pub(crate) floor: Mutex<()>,
    /// Events that start it; none for one that was started at once.
    pub(crate) backlog: Option<Arc<Backlog>>,
    /// The entry that a reload put in its place.
    pub(crate) successor: OnceLock<Arc<Self>>,
}

/// A failed interception: what it means, and what to say.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) verdict: Verdict,
    pub(crate) reason: String,
    /// The mistake, fit to follow its name; none when the run was cancelled.
    pub(crate) detail: Option<String>,
}

impl Entry {
    pub(crate) fn name(&self) -> &ExtensionName {
        &self.spec.name
    }

    pub(crate) fn extension(&self) -> Option<Extension> {
        self.slot.borrow().instance.clone()
    }

    pub(crate) fn offers(&self) -> Arc<Offers> {
        self.slot.borrow().offers()
    }

    pub(crate) fn stage(&self) -> Stage {
        self.slot.borrow().stage.clone()
    }

    pub(crate) fn state(&self) -> ExtensionState {
        let slot = self.slot.borrow();
        match &slot.stage {
            Stage::Starting { .. } => ExtensionState::Starting,
            Stage::Running => slot
                .instance
                .as_ref()
                .map_or(ExtensionState::Ready, |instance| instance.snapshot().state.clone()),
            Stage::Restarting(Failure { code, message }) => {
                ExtensionState::Restarting { code: *code, message: message.clone() }
            }
            Stage::Idle => ExtensionState::Idle,
            Stage::Stopping => ExtensionState::Stopping,
            Stage::Stopped => ExtensionState::Stopped,
            Stage::Failed(failure) => failure.clone().into(),
            Stage::Files => ExtensionState::Ready,
        }
    }

    /// Looks at it once. Whoever looks must not change it.
    pub(crate) fn look<T>(&self, at: impl FnOnce(View<'_>) -> T) -> T {
        let slot = self.slot.borrow();
        let now = slot.instance.as_ref().map(Extension::snapshot);
        at(View { slot: &slot, now: now.as_deref(), spec: &self.spec })
    }

    pub(crate) fn is_called(&self, name: &ExtensionName) -> bool {
        name == self.name() || name.as_str() == dir_name(&self.spec.dir)
    }

    pub(crate) fn lacking(&self) -> BTreeSet<InterceptKind> {
        self.look(|now| InterceptKind::ALL.iter().copied().filter(|&hook| now.lacks(hook)).collect())
    }

    /// Queries the extension about something that is about to happen. The error says what its failure means; the failure itself
    /// is reported already.
    pub(crate) async fn query<H: Hook>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<H::Decision, Failed> {
        let entry = self.current();
        entry.query_process(cancel, question).await.unwrap_or_else(|error| Err(entry.failed(H::KIND, &error)))
    }

    pub(crate) fn failed(&self, hook: InterceptKind, error: &CallError) -> Failed {
        let role = self.look(|now| now.role_in(hook));
        Failed {
            verdict: policy::on_failure(hook, role, self.loosened, error),
            reason: policy::reason(self.name(), error),
            detail: policy::blamed(error),
        }
    }

    /// Reports an answer of a hook that does not count, while there is a process.
    pub(crate) fn report_hook_error(&self, text: &str) {
        if let Some(extension) = self.extension() {
            extension.reporter().fault(FaultCode::HookError, text);
        }
    }

    /// Waits until it is known what it subscribes to. The deadlines of a start see to it that this ends; one that
    /// crashed during its start has, from then on, the time of a question. Fails when the run is cancelled, too.
    pub(crate) async fn known(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        if !self.look(|now| now.is_new()) {
            return Ok(());
        }
        let known = async {
            self.settled().await;
            let deadline = Deadline::after(self.timeouts.intercept);
            let known = timeout_at(deadline.at(), self.until_known()).await;
            known.map_err(|_| self.late(deadline))
        };
        cancel.run_until_cancelled(known).await.unwrap_or(Err(CallError::Cancelled))
    }

    pub(crate) fn tool_role(&self, tool: &str) -> Option<Role> {
        self.look(|now| now.tool_role(tool))
    }

    async fn until_known(&self) {
        let mut slot = self.slot.clone();
        while self.look(|now| now.is_new()) && slot.changed().await.is_ok() {}
    }

    /// The inner error is no failure: it has nothing to say about this.
    async fn query_process<H: Hook>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<Result<H::Decision, Failed>, CallError> {
        let deadline = Deadline::after(self.time_for(H::KIND));
        if let Some(instance) = self.look(|now| now.at_hand(H::KIND).cloned()) {
            return instance.query_hook(cancel, question, deadline).await.map(Ok);
        }
        // Waiting for it takes room that a question need not have.
        match Box::pin(self.wait_until_ready(cancel, H::KIND)).await? {
            Ok((instance, deadline)) => instance.query_hook(cancel, question, deadline).await.map(Ok),
            Err(failed) => Ok(Err(failed)),
        }
    }

    /// Returns the deadline of its decision: as its grant says, else as any other.
    fn time_for(&self, hook: InterceptKind) -> Duration {
        let granted = self.spec.permissions.as_ref().and_then(|granted| granted.time_for(hook));
        granted.unwrap_or_else(|| self.timeouts.intercept_of(hook))
    }

    /// Waits for one that cannot be asked at once.
    async fn wait_until_ready(
        &self,
        cancel: &CancellationToken,
        hook: InterceptKind,
    ) -> Result<Result<(Extension, Deadline), Failed>, CallError> {
        self.known(cancel).await?;
        if !self.look(|now| now.takes_part(hook)) {
            let reason = "it does not take part".to_owned();
            return Ok(Err(Failed { verdict: Verdict::Pass, reason, detail: None }));
        }
        let deadline = Deadline::after(self.time_for(hook));
        let instance = self.reach(cancel, deadline).await?;
        if self.look(|now| now.lacks(hook)) {
            let why = format!("is required for {} and did not subscribe to it", hook.name());
            return Err(CallError::Gone { why });
        }
        Ok(Ok((instance, deadline)))
    }

    /// The process to ask. While one is being started, it is waited for until the question is due.
    pub(crate) async fn reach(
        &self,
        cancel: &CancellationToken,
        deadline: Deadline,
    ) -> Result<Extension, CallError> {
        let known = self.slot.borrow().answer();
        let answer = match known {
            Some(answer) => answer,
            None => {
                let present = timeout_at(deadline.at(), self.present());
                let waited = cancel.run_until_cancelled(present).await.ok_or(CallError::Cancelled)?;
                waited.unwrap_or_else(|_| Err(self.late(deadline)))
            }
        };
        match (answer, self.successor.get()) {
            (Err(CallError::Gone { .. }), Some(next)) => Box::pin(next.reach(cancel, deadline)).await,
            (answer, _) => answer,
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Arc<OfferedTool>> {
        self.offers().tools.iter().find(|tool| tool.name == name).cloned()
    }

    /// Whoever is in its place now: itself, unless a reload replaced it.
    pub(crate) fn current(&self) -> &Self {
        let mut entry = self;
        while let Some(next) = entry.successor.get() {
            entry = next;
        }
        entry
    }

    /// Waits until it is ready or has failed for now.
    pub(crate) async fn settled(&self) {
        self.until(|stage| !matches!(stage, Stage::Starting { .. })).await;
    }

    /// Waits until it has come so far, or will not come further.
    pub(crate) async fn until(&self, come: impl Fn(&Stage) -> bool) {
        if come(&self.slot.borrow().stage) {
            return;
        }
        // An error means that its keeper is gone, and nothing more will come.
        _ = self.slot.clone().wait_for(|slot| come(&slot.stage)).await;
    }

    /// Waits until it and its process are gone for good.
    pub(crate) async fn gone(&self) {
        let mut slot = self.slot.clone();
        while slot.changed().await.is_ok() {}
    }

    /// Asks it to leave for good, another one being in its place. [`gone`](Self::gone) tells when it has.
    pub(crate) fn retire(&self) {
        // A keeper that is gone needs no order.
        _ = self.orders.unbounded_send(Order::Retire);
    }

    /// Stops it if it runs, forgets what happened before, and starts it. Returns when that has begun; false when there
    /// is nothing to start any more.
    pub(crate) async fn restart(&self) -> bool {
        let (begun, has_begun) = oneshot::channel();
        self.orders.unbounded_send(Order::Restart(begun)).is_ok() && has_begun.await.is_ok()
    }

    /// Starts an extension that waits for its first use, and waits until that start has come to an end. The start does
    /// not count towards the deadline of the use: it has deadlines of its own. Fails only when the run is cancelled.
    pub(crate) async fn awake(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        if self.slot.borrow().stand_in.is_none() {
            return Ok(());
        }
        let start = async {
            if self.slot.borrow().sleeps() {
                let (begun, has_begun) = oneshot::channel();
                _ = self.orders.unbounded_send(Order::Wake(Some(begun)));
                // An error means that the start has begun before, or that the extension has left.
                _ = has_begun.await;
            }
            self.settled().await;
        };
        cancel.run_until_cancelled(start).await.ok_or(CallError::Cancelled)
    }

    /// Passes on the events that the extension watches. An event starts an extension that waits for its first use; the
    /// extension gets it when it is ready, before all that come later.
    pub(crate) fn pass_on(&self, batch: &EventBatch) {
        let backlog = self.backlog.as_ref().filter(|backlog| !backlog.is_over());
        let kept = backlog.and_then(|backlog| backlog.keep(batch, &EventFilter::of(&self.offers())));
        match kept {
            Some(0) => {}
            Some(_) if self.slot.borrow().sleeps() => _ = self.orders.unbounded_send(Order::Wake(None)),
            Some(_) => {}
            None => self.slot.borrow().instance.iter().for_each(|extension| extension.observe(batch)),
        }
    }

    pub(crate) fn has_backlog(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_over() && !backlog.is_empty())
    }

    pub(crate) fn events_dropped(&self) -> usize {
        let kept = self.backlog.as_ref().map_or(0, |backlog| backlog.dropped());
        kept + self.extension().map_or(0, |extension| extension.events_dropped())
    }

    async fn present(&self) -> Result<Extension, CallError> {
        let mut slot = self.slot.clone();
        loop {
            let (answer, idle) = {
                let now = slot.borrow_and_update();
                (now.answer(), now.stage == Stage::Idle)
            };
            if let Some(answer) = answer {
                return answer;
            }
            if idle {
                // A keeper that is gone is noticed below.
                _ = self.orders.unbounded_send(Order::Wake(None));
            }
            if slot.changed().await.is_err() {
                return Err(CallError::Gone { why: PANICKED.to_owned() });
            }
        }
    }

    fn late(&self, deadline: Deadline) -> CallError {
        let seconds = deadline.after.as_secs_f64();
        let begun = if let Stage::Restarting(Failure { message, .. }) = self.stage() {
            format!("{message}; it is being restarted")
        } else {
            "is being started".to_owned()
        };
        CallError::Gone { why: format!("{begun} and was not ready within {seconds} s") }
    }
}
