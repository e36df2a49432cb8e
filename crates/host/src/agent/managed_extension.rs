//! An extension of a host: its specification and its current process.

mod foreign;
mod view;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures::channel::mpsc;
use haft_core::hooks::GateClock;
use haft_packages::ExtensionSpec;
use haft_packages::file_name::dir_name;
use haft_protocol::event::AgentEvent;
use haft_protocol::ext::{InterceptHook, InterceptKind};
use haft_protocol::ids::ExtensionName;
use tokio::sync::{oneshot, watch};
use tokio::time::error::Elapsed;
use tokio::time::{Duration, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::agent::policy::{self, FailureEffect};
use crate::extension::backlog::EventBacklog;
use crate::extension::send_queue::event::{EventBatch, EventFilter};
use crate::extension::{Deadline, ExtensionHandle, PANICKED};
use crate::session::ExtensionState;
use crate::session::filter::InterceptorRole;
use crate::session::offers::{ExtensionOffers, OfferedTool};
use crate::supervision::process_supervisor::LifecycleOrder;
use crate::supervision::slot::{ExtensionSlot, LifecycleStage};
use crate::timeouts::Timeouts;
use crate::wire::fault::{CallError, ExtensionFailure, FaultCode};
pub(crate) use foreign::ForeignEntry;
pub(crate) use view::ExtensionView;

/// An extension of a host. The entry outlives restarts; a reload replaces it.
#[derive(Debug)]
pub(crate) struct ManagedExtension {
    pub(crate) spec: Arc<ExtensionSpec>,
    pub(crate) timeouts: Arc<Timeouts>,
    /// True if the user lets tool calls pass when this extension does not answer in time.
    pub(crate) allow_on_timeout: bool,
    /// The time that a start waits for `hello`; zero if the extension was silent at the last start.
    pub(crate) hello_wait: Duration,
    /// True if the extension came as a pair of streams. Streams cannot be opened again, so the entry survives
    /// a reload.
    pub(crate) survives_reload: bool,
    pub(crate) slot: watch::Receiver<ExtensionSlot>,
    /// Orders for the supervisor. When the last reference to the entry is dropped, the extension is stopped.
    pub(crate) orders: mpsc::UnboundedSender<LifecycleOrder>,
    /// The part of an extension that speaks another protocol.
    pub(crate) foreign: Option<ForeignEntry>,
    /// Events that start the extension; `None` if it was started immediately.
    pub(crate) backlog: Option<Arc<EventBacklog>>,
    /// The entry that replaced this one in a reload.
    pub(crate) successor: OnceLock<Arc<Self>>,
}

/// A failed interception: its effect and its text.
#[derive(Debug)]
pub(crate) struct InterceptFailure {
    pub(crate) verdict: FailureEffect,
    pub(crate) reason: String,
    /// The failure as a phrase that follows the extension's name; `None` if the run was cancelled.
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

    /// True if the extension registered a shortcut with this key.
    pub(crate) fn has_shortcut(&self, key: &str) -> bool {
        self.offers().shortcuts.iter().any(|shortcut| shortcut.name == key)
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

    /// Calls `at` with a view of the current state. `at` must not change the state.
    pub(crate) fn with_view<T>(&self, at: impl FnOnce(ExtensionView<'_>) -> T) -> T {
        let slot = self.slot.borrow();
        let now = slot.instance.as_ref().map(ExtensionHandle::snapshot);
        at(ExtensionView {
            slot: &slot,
            snapshot: now.as_deref(),
            spec: &self.spec,
            patience: self.timeouts.awaited_hello,
        })
    }

    pub(crate) fn has_name(&self, name: &ExtensionName) -> bool {
        name == self.name() || name.as_str() == dir_name(&self.spec.dir)
    }

    pub(crate) fn missing_intercepts(&self) -> BTreeSet<InterceptKind> {
        self.with_view(|now| {
            InterceptKind::ALL.iter().copied().filter(|&hook| now.is_missing_subscription(hook)).collect()
        })
    }

    /// Queries the extension about an action. The error holds the effect of the failure, which is already
    /// reported.
    pub(crate) async fn query<H: InterceptHook>(
        &self,
        cancel: &CancellationToken,
        question: H,
    ) -> Result<H::Decision, InterceptFailure> {
        self.query_with_clock(cancel, question, None).await
    }

    /// Queries the extension as [`query`](Self::query) does. The clock stands still while the extension waits
    /// for a person.
    pub(crate) async fn query_with_clock<H: InterceptHook>(
        &self,
        cancel: &CancellationToken,
        question: H,
        clock: Option<&GateClock>,
    ) -> Result<H::Decision, InterceptFailure> {
        let entry = self.current();
        entry
            .query_process(cancel, question, clock)
            .await
            .unwrap_or_else(|error| Err(entry.intercept_failure(H::KIND, &error)))
    }

    pub(crate) fn intercept_failure(&self, hook: InterceptKind, error: &CallError) -> InterceptFailure {
        let role = self.with_view(|now| now.role_in(hook));
        let reason = policy::reason(self.name(), error);
        InterceptFailure {
            verdict: policy::on_failure(hook, role, self.allow_on_timeout, error),
            reason: match &self.foreign {
                Some(foreign) => foreign.denial_text(hook, error, &reason),
                None => reason,
            },
            detail: policy::failure_detail(error),
        }
    }

    /// Reports a rejected answer of a hook if the extension has a process.
    pub(crate) fn report_hook_error(&self, text: &str) {
        if let Some(extension) = self.handle() {
            extension.reporter().report_fault(FaultCode::HookError, text);
        }
    }

    /// Reports a mistake in an answer of this hook, if the extension has a process.
    pub(crate) fn report_mistake(&self, hook: InterceptKind, detail: &str) {
        if let Some(extension) = self.handle() {
            let reporter = extension.reporter();
            let text = format!("{}: {detail}", reporter.hook_label(hook));
            reporter.report_mistake(FaultCode::HookError, text);
        }
    }

    /// Waits until the subscriptions are known. The start deadlines bound the wait; after a crash during the
    /// start, the deadline of a query does. Fails when the run is cancelled.
    pub(crate) async fn wait_until_registered(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        if !self.with_view(|now| now.is_new()) {
            return Ok(());
        }
        let known = async {
            if self.wait_for_hello().await.is_err() {
                return Ok(());
            }
            let deadline = Deadline::after(self.timeouts.intercept);
            let known = timeout_at(deadline.at(), self.wait_while_new()).await;
            known.map_err(|_| self.not_ready_error(&deadline))
        };
        cancel.run_until_cancelled(known).await.unwrap_or(Err(CallError::Cancelled))
    }

    /// True if the extension can be asked about this hook without a wait for its process.
    pub(crate) fn is_ready_for(&self, hook: InterceptKind) -> bool {
        self.with_view(|now| now.ready_handle(hook).is_some())
    }

    pub(crate) fn tool_role(&self, tool: &str) -> Option<InterceptorRole> {
        self.with_view(|now| now.tool_role(tool))
    }

    /// True if the extension intercepts tool calls, but of none of these tools.
    pub(crate) fn guards_no_tool(&self, tools: &[String]) -> bool {
        self.with_view(|now| now.guards_no_tool(tools))
    }

    /// Waits until the start has ended; fails if the extension may join late and nothing waits for it any longer.
    async fn wait_for_hello(&self) -> Result<(), Elapsed> {
        let settled = self.wait_until_settled();
        tokio::pin!(settled);
        loop {
            let left = self.with_view(|now| now.remaining_patience()).unwrap_or(self.timeouts.awaited_hello);
            match tokio::time::timeout(left, &mut settled).await {
                Ok(()) => return Ok(()),
                Err(elapsed) if !self.with_view(|now| now.is_new()) => return Err(elapsed),
                Err(_) => {}
            }
        }
    }

    async fn wait_while_new(&self) {
        let mut slot = self.slot.clone();
        while self.with_view(|now| now.is_new()) && slot.changed().await.is_ok() {}
    }

    /// The inner error is not a failure: the extension has no say in this action.
    async fn query_process<H: InterceptHook>(
        &self,
        cancel: &CancellationToken,
        question: H,
        clock: Option<&GateClock>,
    ) -> Result<Result<H::Decision, InterceptFailure>, CallError> {
        if let Some(foreign) = &self.foreign {
            return Box::pin(foreign.query_hook(self, cancel, question)).await.map(Ok);
        }
        let deadline = Deadline::after(self.timeout_for(H::KIND)).with_clock(clock);
        if let Some(instance) = self.with_view(|now| now.ready_handle(H::KIND).cloned()) {
            return instance.query_hook(cancel, question, deadline).await.map(Ok);
        }
        // Boxed, because most queries do not need the memory of this wait.
        match Box::pin(self.wait_until_ready(cancel, H::KIND)).await? {
            Ok((instance, deadline)) => {
                instance.query_hook(cancel, question, deadline.with_clock(clock)).await.map(Ok)
            }
            Err(failed) => Ok(Err(failed)),
        }
    }

    /// Returns the deadline of a decision: from the grant, or the default.
    fn timeout_for(&self, hook: InterceptKind) -> Duration {
        self.timeouts.intercept_within(&self.spec, hook)
    }

    /// Waits for an extension that cannot be queried immediately.
    async fn wait_until_ready(
        &self,
        cancel: &CancellationToken,
        hook: InterceptKind,
    ) -> Result<Result<(ExtensionHandle, Deadline), InterceptFailure>, CallError> {
        self.wait_until_registered(cancel).await?;
        if !self.with_view(|now| now.takes_part(hook)) {
            let reason = "the extension is not subscribed".to_owned();
            return Ok(Err(InterceptFailure { verdict: FailureEffect::Pass, reason, detail: None }));
        }
        let deadline = Deadline::after(self.timeout_for(hook));
        let instance = self.acquire_handle(cancel, &deadline).await?;
        if self.with_view(|now| now.is_missing_subscription(hook)) {
            let why = format!("is required for {} but did not subscribe to it", hook.name());
            return Err(CallError::Gone { why });
        }
        Ok(Ok((instance, deadline)))
    }

    /// Returns the process to query. Waits for a process that is starting until the deadline of the query.
    pub(crate) async fn acquire_handle(
        &self,
        cancel: &CancellationToken,
        deadline: &Deadline,
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

    /// Returns the current entry: this one, or the one that replaced it in a reload.
    pub(crate) fn current(&self) -> &Self {
        let mut entry = self;
        while let Some(next) = entry.successor.get() {
            entry = next;
        }
        entry
    }

    /// Waits until the extension is ready or has failed for now.
    pub(crate) async fn wait_until_settled(&self) {
        self.wait_for_stage(|stage| !matches!(stage, LifecycleStage::Starting { .. })).await;
    }

    /// Waits until the extension reaches this stage or can no longer reach it.
    pub(crate) async fn wait_for_stage(&self, come: impl Fn(&LifecycleStage) -> bool) {
        if come(&self.slot.borrow().stage) {
            return;
        }
        // An error means that the supervisor ended, so no further change follows.
        _ = self.slot.clone().wait_for(|slot| come(&slot.stage)).await;
    }

    /// Waits until the extension and its process have ended permanently.
    pub(crate) async fn wait_until_gone(&self) {
        let mut slot = self.slot.clone();
        while slot.changed().await.is_ok() {}
    }

    /// Asks the extension to leave permanently after its replacement.
    /// [`wait_until_gone`](Self::wait_until_gone) waits for the end.
    pub(crate) fn retire(&self) {
        // A supervisor that ended needs no order.
        _ = self.orders.unbounded_send(LifecycleOrder::Retire);
    }

    /// Stops a running process, clears the crash history, and starts a new process. Returns when the start
    /// has begun; false if no program can be started.
    pub(crate) async fn restart(&self) -> bool {
        let (begun, has_begun) = oneshot::channel();
        self.orders.unbounded_send(LifecycleOrder::Restart(begun)).is_ok() && has_begun.await.is_ok()
    }

    /// Starts an extension that waits for its first use, and waits for the end of that start. The start has
    /// its own deadlines and does not count towards the deadline of the use. Fails only when the run is
    /// cancelled.
    pub(crate) async fn ensure_started(&self, cancel: &CancellationToken) -> Result<(), CallError> {
        if self.slot.borrow().stand_in.is_none() {
            return Ok(());
        }
        let start = async {
            if self.slot.borrow().awaits_first_use() {
                let (begun, has_begun) = oneshot::channel();
                _ = self.orders.unbounded_send(LifecycleOrder::Wake(Some(begun)));
                // An error means that the start began earlier, or that the extension has left.
                _ = has_begun.await;
            }
            self.wait_until_settled().await;
        };
        cancel.run_until_cancelled(start).await.ok_or(CallError::Cancelled)
    }

    /// Passes on the events that the extension watches. An event starts an extension that waits for its first
    /// use. The extension receives the event when it is ready, before all later events.
    pub(crate) fn forward_events(&self, batch: &EventBatch) {
        let backlog = self.backlog.as_ref().filter(|backlog| !backlog.is_over());
        let kept = backlog.and_then(|backlog| backlog.push_wanted(batch, &self.waiting_filter()));
        match kept {
            Some(0) => {}
            Some(_) if self.slot.borrow().awaits_first_use() => {
                _ = self.orders.unbounded_send(LifecycleOrder::Wake(None))
            }
            Some(_) => {}
            None => self.slot.borrow().instance.iter().for_each(|extension| extension.observe(batch)),
        }
    }

    /// Sends an event to an extension that speaks another protocol, if it runs. Never waits.
    pub(crate) fn send_event(&self, event: &AgentEvent, now: Instant) {
        let Some(foreign) = &self.foreign else { return };
        // The events count for the turn even if nobody receives them.
        let lines = foreign.peer.translate_event(event, now);
        if let Some(extension) = &self.slot.borrow().instance {
            lines.into_iter().for_each(|line| extension.observe_line(line));
        }
    }

    /// Returns the filter for events that wait until the extension is ready.
    fn waiting_filter(&self) -> EventFilter {
        let slot = self.slot.borrow();
        match &slot.stand_in {
            Some(declared) => EventFilter::from_declaration(self.name(), declared),
            None => EventFilter::from_offers(self.name(), &slot.offers()),
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
                // A supervisor that ended is noticed below.
                _ = self.orders.unbounded_send(LifecycleOrder::Wake(None));
            }
            if slot.changed().await.is_err() {
                return Err(CallError::Gone { why: PANICKED.to_owned() });
            }
        }
    }

    fn not_ready_error(&self, deadline: &Deadline) -> CallError {
        let seconds = deadline.after.as_secs_f64();
        let begun = if let LifecycleStage::Restarting(ExtensionFailure { message, .. }) = self.stage() {
            format!("{message}, is restarting")
        } else {
            "is starting".to_owned()
        };
        CallError::Gone { why: format!("{begun} and was not ready within {seconds} s") }
    }
}
