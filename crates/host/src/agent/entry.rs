//! One extension of a host: what it shall be, and the process that is it at the moment.

mod view;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use futures::channel::mpsc;
use haft_packages::ExtensionSpec;
use haft_packages::file_name::dir_name;
use haft_protocol::ext::{InterceptHook, InterceptKind};
use haft_protocol::ids::ExtensionName;
use tokio::sync::{Mutex, oneshot, watch};
use tokio::time::{Duration, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::agent::policy::{self, FailureEffect};
use crate::extension::backlog::EventBacklog;
use crate::extension::send_queue::event::{EventBatch, EventFilter};
use crate::extension::{Deadline, ExtensionHandle, PANICKED};
use crate::session::ExtensionState;
use crate::session::filter::InterceptorRole;
use crate::session::offers::{ExtensionOffers, OfferedTool};
use crate::supervision::keeper::LifecycleOrder;
use crate::supervision::slot::{ExtensionSlot, LifecycleStage};
use crate::timeouts::Timeouts;
use crate::wire::fault::{CallError, ExtensionFailure, FaultCode};
use view::ExtensionView;

/// One extension of a host. It lives over restarts; a reload puts another one in its place.
#[derive(Debug)]
pub(crate) struct ManagedExtension {
    pub(crate) spec: Arc<ExtensionSpec>,
    pub(crate) timeouts: Arc<Timeouts>,
    /// True if the user lets tool calls pass that this extension does not answer in time.
    pub(crate) allow_on_timeout: bool,
    /// The time that a start waits for its `hello`: not at all when it was silent before.
    pub(crate) hello_wait: Duration,
    /// True if it came as a pair of streams, which nobody can make again: it stays over a reload.
    pub(crate) survives_reload: bool,
    pub(crate) slot: watch::Receiver<ExtensionSlot>,
    /// To its keeper. When nobody holds the entry any more, the extension is stopped.
    pub(crate) orders: mpsc::UnboundedSender<LifecycleOrder>,
    /// Held while a process hook is asked what passes when it is late.
    pub(crate) query_lock: Mutex<()>,
    /// Events that start it; none for one that was started at once.
    pub(crate) backlog: Option<Arc<EventBacklog>>,
    /// The entry that a reload put in its place.
    pub(crate) successor: OnceLock<Arc<Self>>,
}

/// A failed interception: what it means, and what to say.
#[derive(Debug)]
pub(crate) struct InterceptFailure {
    pub(crate) verdict: FailureEffect,
    pub(crate) reason: String,
    /// The mistake, fit to follow its name; none when the run was cancelled.
    pub(crate) detail: Option<String>,
}

impl ManagedExtension {
    pub(crate) fn name(&self) -> &ExtensionName {
        &self.spec.name
    }

    pub(crate) fn handle(&self) -> Option<ExtensionHandle> {
        self.slot.borrow().instance.clone()
    }

    pub(crate) fn offers(&self) -> Arc<ExtensionOffers> {
        self.slot.borrow().offers()
    }

    pub(crate) fn stage(&self) -> LifecycleStage {
        self.slot.borrow().stage.clone()
    }

    pub(crate) fn state(&self) -> ExtensionState {
        let slot = self.slot.borrow();
        match &slot.stage {
            LifecycleStage::Starting { .. } => ExtensionState::Starting,
            LifecycleStage::Running => slot
                .instance
                .as_ref()
                .map_or(ExtensionState::Ready, |instance| instance.snapshot().state.clone()),
            LifecycleStage::Restarting(ExtensionFailure { code, message }) => {
                ExtensionState::Restarting { code: *code, message: message.clone() }
            }
            LifecycleStage::Idle => ExtensionState::Idle,
            LifecycleStage::Stopping => ExtensionState::Stopping,
            LifecycleStage::Stopped => ExtensionState::Stopped,
            LifecycleStage::Failed(failure) => failure.clone().into(),
            LifecycleStage::Files => ExtensionState::Ready,
        }
    }

    /// Looks at it once. Whoever looks must not change it.
    pub(crate) fn with_view<T>(&self, at: impl FnOnce(ExtensionView<'_>) -> T) -> T {
        let slot = self.slot.borrow();
        let now = slot.instance.as_ref().map(ExtensionHandle::snapshot);
        at(ExtensionView { slot: &slot, snapshot: now.as_deref(), spec: &self.spec })
    }

    pub(crate) fn has_name(&self, name: &ExtensionName) -> bool {
        name == self.name() || name.as_str() == dir_name(&self.spec.dir)
    }

    pub(crate) fn missing_intercepts(&self) -> BTreeSet<InterceptKind> {
        self.with_view(|now| {
            InterceptKind::ALL.iter().copied().filter(|&hook| now.is_missing_subscription(hook)).collect()
        })
    }

    /// Queries the extension about something that is about to happen. The error says what its failure means; the failure itself
    /// is reported already.
    pub(crate) async fn query<H: InterceptHook>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<H::Decision, InterceptFailure> {
        let entry = self.current();
        entry
            .query_process(cancel, question)
            .await
            .unwrap_or_else(|error| Err(entry.intercept_failure(H::KIND, &error)))
    }

    pub(crate) fn intercept_failure(&self, hook: InterceptKind, error: &CallError) -> InterceptFailure {
        let role = self.with_view(|now| now.role_in(hook));
        InterceptFailure {
            verdict: policy::on_failure(hook, role, self.allow_on_timeout, error),
            reason: policy::reason(self.name(), error),
            detail: policy::failure_detail(error),
        }
    }

    /// Reports an answer of a hook that does not count, while there is a process.
    pub(crate) fn report_hook_error(&self, text: &str) {
        if let Some(extension) = self.handle() {
            extension.reporter().report_fault(FaultCode::HookError, text);
        }
    }

    /// Waits until it is known what it subscribes to. The deadlines of a start see to it that this ends; one that
    /// crashed during its start has, from then on, the time of a question. Fails when the run is cancelled, too.
    pub(crate) async fn wait_until_registered(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        if !self.with_view(|now| now.is_new()) {
            return Ok(());
        }
        let known = async {
            self.wait_until_settled().await;
            let deadline = Deadline::after(self.timeouts.intercept);
            let known = timeout_at(deadline.at(), self.wait_while_new()).await;
            known.map_err(|_| self.not_ready_error(deadline))
        };
        cancel.run_until_cancelled(known).await.unwrap_or(Err(CallError::Cancelled))
    }

    pub(crate) fn tool_role(&self, tool: &str) -> Option<InterceptorRole> {
        self.with_view(|now| now.tool_role(tool))
    }

    async fn wait_while_new(&self) {
        let mut slot = self.slot.clone();
        while self.with_view(|now| now.is_new()) && slot.changed().await.is_ok() {}
    }

    /// The inner error is no failure: it has nothing to say about this.
    async fn query_process<H: InterceptHook>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<Result<H::Decision, InterceptFailure>, CallError> {
        let deadline = Deadline::after(self.timeout_for(H::KIND));
        if let Some(instance) = self.with_view(|now| now.ready_handle(H::KIND).cloned()) {
            return instance.query_hook(cancel, question, deadline).await.map(Ok);
        }
        // Waiting for it takes room that a question need not have.
        match Box::pin(self.wait_until_ready(cancel, H::KIND)).await? {
            Ok((instance, deadline)) => instance.query_hook(cancel, question, deadline).await.map(Ok),
            Err(failed) => Ok(Err(failed)),
        }
    }

    /// Returns the deadline of its decision: as its grant says, else as any other.
    fn timeout_for(&self, hook: InterceptKind) -> Duration {
        let granted = self.spec.permissions.as_ref().and_then(|granted| granted.timeout_for(hook));
        granted.unwrap_or_else(|| self.timeouts.intercept_of(hook))
    }

    /// Waits for one that cannot be asked at once.
    async fn wait_until_ready(
        &self,
        cancel: &CancellationToken,
        hook: InterceptKind,
    ) -> Result<Result<(ExtensionHandle, Deadline), InterceptFailure>, CallError> {
        self.wait_until_registered(cancel).await?;
        if !self.with_view(|now| now.takes_part(hook)) {
            let reason = "it does not take part".to_owned();
            return Ok(Err(InterceptFailure { verdict: FailureEffect::Pass, reason, detail: None }));
        }
        let deadline = Deadline::after(self.timeout_for(hook));
        let instance = self.acquire_handle(cancel, deadline).await?;
        if self.with_view(|now| now.is_missing_subscription(hook)) {
            let why = format!("is required for {} and did not subscribe to it", hook.name());
            return Err(CallError::Gone { why });
        }
        Ok(Ok((instance, deadline)))
    }

    /// The process to ask. While one is being started, it is waited for until the question is due.
    pub(crate) async fn acquire_handle(
        &self,
        cancel: &CancellationToken,
        deadline: Deadline,
    ) -> Result<ExtensionHandle, CallError> {
        let known = self.slot.borrow().query_target();
        let answer = match known {
            Some(answer) => answer,
            None => {
                let present = timeout_at(deadline.at(), self.wait_for_process());
                let waited = cancel.run_until_cancelled(present).await.ok_or(CallError::Cancelled)?;
                waited.unwrap_or_else(|_| Err(self.not_ready_error(deadline)))
            }
        };
        match (answer, self.successor.get()) {
            (Err(CallError::Gone { .. }), Some(next)) => {
                Box::pin(next.acquire_handle(cancel, deadline)).await
            }
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
    pub(crate) async fn wait_until_settled(&self) {
        self.wait_for_stage(|stage| !matches!(stage, LifecycleStage::Starting { .. })).await;
    }

    /// Waits until it has come so far, or will not come further.
    pub(crate) async fn wait_for_stage(&self, come: impl Fn(&LifecycleStage) -> bool) {
        if come(&self.slot.borrow().stage) {
            return;
        }
        // An error means that its keeper is gone, and nothing more will come.
        _ = self.slot.clone().wait_for(|slot| come(&slot.stage)).await;
    }

    /// Waits until it and its process are gone for good.
    pub(crate) async fn wait_until_gone(&self) {
        let mut slot = self.slot.clone();
        while slot.changed().await.is_ok() {}
    }

    /// Asks it to leave for good, another one being in its place. [`wait_until_gone`](Self::wait_until_gone) tells when it has.
    pub(crate) fn retire(&self) {
        // A keeper that is gone needs no order.
        _ = self.orders.unbounded_send(LifecycleOrder::Retire);
    }

    /// Stops it if it runs, forgets what happened before, and starts it. Returns when that has begun; false when there
    /// is nothing to start any more.
    pub(crate) async fn restart(&self) -> bool {
        let (begun, has_begun) = oneshot::channel();
        self.orders.unbounded_send(LifecycleOrder::Restart(begun)).is_ok() && has_begun.await.is_ok()
    }

    /// Starts an extension that waits for its first use, and waits until that start has come to an end. The start does
    /// not count towards the deadline of the use: it has deadlines of its own. Fails only when the run is cancelled.
    pub(crate) async fn ensure_started(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        if self.slot.borrow().stand_in.is_none() {
            return Ok(());
        }
        let start = async {
            if self.slot.borrow().awaits_first_use() {
                let (begun, has_begun) = oneshot::channel();
                _ = self.orders.unbounded_send(LifecycleOrder::Wake(Some(begun)));
                // An error means that the start has begun before, or that the extension has left.
                _ = has_begun.await;
            }
            self.wait_until_settled().await;
        };
        cancel.run_until_cancelled(start).await.ok_or(CallError::Cancelled)
    }

    /// Passes on the events that the extension watches. An event starts an extension that waits for its first use; the
    /// extension gets it when it is ready, before all that come later.
    pub(crate) fn forward_events(&self, batch: &EventBatch) {
        let backlog = self.backlog.as_ref().filter(|backlog| !backlog.is_over());
        let kept =
            backlog.and_then(|backlog| backlog.push_wanted(batch, &EventFilter::from_offers(&self.offers())));
        match kept {
            Some(0) => {}
            Some(_) if self.slot.borrow().awaits_first_use() => {
                _ = self.orders.unbounded_send(LifecycleOrder::Wake(None))
            }
            Some(_) => {}
            None => self.slot.borrow().instance.iter().for_each(|extension| extension.observe(batch)),
        }
    }

    pub(crate) fn has_backlog(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_over() && !backlog.is_empty())
    }

    pub(crate) fn events_dropped(&self) -> usize {
        let kept = self.backlog.as_ref().map_or(0, |backlog| backlog.dropped_count());
        kept + self.handle().map_or(0, |extension| extension.events_dropped())
    }

    async fn wait_for_process(&self) -> Result<ExtensionHandle, CallError> {
        let mut slot = self.slot.clone();
        loop {
            let (answer, idle) = {
                let now = slot.borrow_and_update();
                (now.query_target(), now.stage == LifecycleStage::Idle)
            };
            if let Some(answer) = answer {
                return answer;
            }
            if idle {
                // A keeper that is gone is noticed below.
                _ = self.orders.unbounded_send(LifecycleOrder::Wake(None));
            }
            if slot.changed().await.is_err() {
                return Err(CallError::Gone { why: PANICKED.to_owned() });
            }
        }
    }

    fn not_ready_error(&self, deadline: Deadline) -> CallError {
        let seconds = deadline.after.as_secs_f64();
        let begun = if let LifecycleStage::Restarting(ExtensionFailure { message, .. }) = self.stage() {
            format!("{message}; it is being restarted")
        } else {
            "is being started".to_owned()
        };
        CallError::Gone { why: format!("{begun} and was not ready within {seconds} s") }
    }
}
