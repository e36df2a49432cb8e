//! The supervisor task of one extension. It starts a process, waits for its end, and starts the next process
//! if the restart policy allows it. Orders can end the task, and with it the extension.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures::channel::mpsc;
use haft_launch::sandbox;
use haft_packages::ExtensionSpec;
use haft_protocol::defense::{Defense, is_up};
use haft_protocol::event::{AgentEvent, NoteLevel};
use haft_protocol::ext::InterceptKind;
use haft_protocol::foreign::ForeignPeer;
use tokio::sync::{SemaphorePermit, oneshot, watch};
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::extension::backlog::EventBacklog;
use crate::extension::{self, ActorConfig, EndHandler, ExtensionHandle, PANICKED};
use crate::process::connection::Connection;
use crate::process::log::ExtensionLog;
use crate::session::ExtensionState;
use crate::session::declared_offers::describe_difference;
use crate::supervision::failures::FailureFile;
use crate::supervision::host_context::HostContext;
use crate::supervision::restart_policy::{RestartDecision, RestartPolicy};
use crate::supervision::slot::{ExtensionSlot, LifecycleStage};
use crate::wire::fault::{ExtensionFailure, FaultCode};

#[derive(Debug)]
pub(crate) enum LifecycleOrder {
    /// Start an extension that left or waits for its first use, and report the begin. Has no effect while it
    /// runs.
    Wake(Option<oneshot::Sender<()>>),
    /// Restart in any state, and report the begin.
    Restart(oneshot::Sender<()>),
    /// Leave permanently; a replacement answers new queries, and open queries may still be answered.
    Retire,
    Leave,
}

/// The supervisor task of one extension.
pub(crate) struct ProcessSupervisor {
    pub(crate) shared: Arc<HostContext>,
    pub(crate) spec: Arc<ExtensionSpec>,
    /// The peer of an extension that speaks another protocol.
    pub(crate) peer: Option<Arc<dyn ForeignPeer>>,
    pub(crate) orders: mpsc::UnboundedReceiver<LifecycleOrder>,
    pub(crate) slot: watch::Sender<ExtensionSlot>,
    pub(crate) restart_policy: Arc<Mutex<RestartPolicy>>,
    /// Created with the first line: most extensions that wait for their first use never need it.
    pub(crate) log: OnceLock<Arc<ExtensionLog>>,
    pub(crate) backlog: Option<Arc<EventBacklog>>,
}

impl ProcessSupervisor {
    /// Runs the extension until an order to leave. An extension behind streams brings its connection.
    pub(crate) async fn run(mut self: Box<Self>, mut connection: Option<Connection>) {
        let mut waits = self.slot.borrow().awaits_first_use();
        loop {
            let pause = match std::mem::take(&mut waits) {
                true => Ok(None),
                false => self.run_process(connection.take()).await,
            };
            let order = match pause {
                Ok(Some(pause)) => match self.unless_ordered(sleep(pause)).await {
                    Ok(()) => continue,
                    Err(order) => order,
                },
                Ok(None) => self.next_order().await,
                Err(order) => order,
            };
            match order {
                LifecycleOrder::Wake(begun) => {
                    // Until the first ready, the manifest's offers also count during a start.
                    if self.slot.borrow().awaits_first_use() {
                        self.set_stage(LifecycleStage::NEW);
                    }
                    drop(begun);
                }
                LifecycleOrder::Restart(begun) => {
                    self.lock_restart_policy().reset();
                    self.set_stage(LifecycleStage::NEW);
                    // The caller may have gone.
                    _ = begun.send(());
                }
                LifecycleOrder::Retire | LifecycleOrder::Leave => break,
            }
        }
        if let Some(backlog) = &self.backlog {
            // Events that still wait count as lost.
            backlog.discard();
        }
        if !matches!(self.slot.borrow().stage, LifecycleStage::Failed(_)) {
            self.set_stage(LifecycleStage::Stopped);
        }
    }

    /// Runs one process from start to end. Returns the pause before the next process; `None` if no automatic
    /// restart follows. An order ends the wait early, and the process has then ended, too.
    async fn run_process(
        &mut self,
        connection: Option<Connection>,
    ) -> Result<Option<Duration>, LifecycleOrder> {
        let shared = Arc::clone(&self.shared);
        let Ok(turn) = self.unless_ordered(shared.gate.acquire()).await? else { return Ok(None) };
        if connection.is_none() {
            self.look_up_sandbox().await;
        }
        let spec = Arc::clone(&self.spec);
        let verified = self.unless_ordered(shared.verify(&spec)).await?;
        let Some(instance) = self.start(connection, verified) else { return Ok(self.decide_next()) };
        match self.follow_process(&instance, turn).await {
            Ok(()) => {
                let next = self.decide_next();
                let gone = self.unless_ordered(instance.wait_until_gone()).await;
                instance.wait_until_gone().await;
                gone.map(|()| next)
            }
            Err(order) => {
                self.stop(&instance, &order).await;
                Err(order)
            }
        }
    }

    /// Detects whether the machine supports a level that needs a test, on a blocking thread. The result is
    /// cached, so the start finds it.
    async fn look_up_sandbox(&self) {
        if self.shared.config.level_of(&self.spec) == Some(sandbox::ConfinementLevel::Strict) {
            // Without a result, the start detects it again.
            let _ = tokio::task::spawn_blocking(sandbox::detect_support).await;
        }
    }

    /// Starts the process. Returns `None` if the start failed, which is reported.
    fn start(
        &mut self,
        connection: Option<Connection>,
        verified: Result<(), ExtensionFailure>,
    ) -> Option<ExtensionHandle> {
        self.lock_restart_policy().record_start(Instant::now().into_std());
        self.log().clear_tail();
        let connect = || verified.and_then(|()| self.shared.connect(&self.spec));
        let connection = match connection.map_or_else(connect, Ok) {
            Ok(connection) => connection,
            Err(failure) => {
                let mut supervisor = self.lock_restart_policy();
                // A pin mismatch is permanent, so a retry cannot help.
                let report = if failure.code == FaultCode::PinMismatch {
                    supervisor.mark_broken(failure.clone());
                    failure
                } else {
                    supervisor.record_failure(Instant::now().into_std(), false, failure)
                };
                drop(supervisor);
                self.report(&report);
                return None;
            }
        };
        let config = &self.shared.config;
        let sandbox = config.level_of(&self.spec).map(|level| config.sandbox_of(&self.spec, level));
        if let Some(Ok(sandbox)) = sandbox {
            self.log().log_host_line(sandbox.as_ref());
        }
        let start = ActorConfig {
            facts: self.shared.session_config(&self.spec, self.peer.as_ref()),
            reporter: self.shared.reporter_of(&self.spec.name, self.peer.as_ref()),
            frontend: Arc::clone(&self.shared.frontend),
            status: self.shared.status_line.register_process(&self.spec.name),
            log: Arc::clone(self.log()),
            changes: self.shared.changes.clone(),
            on_end: self.on_end(),
            on_demand: self.spec.lifecycle.on_demand,
            pump: Arc::clone(&self.shared.pump),
            mirror: Arc::clone(&self.shared.mirror),
            bus: Arc::clone(&self.shared.bus),
            desk: self.shared.host_call_server(&self.spec, self.log()),
        };
        Some(extension::start(start, connection))
    }

    /// Follows a process until its end. It occupies the start gate until hello, for a limited time.
    async fn follow_process(
        &mut self,
        instance: &ExtensionHandle,
        turn: SemaphorePermit<'_>,
    ) -> Result<(), LifecycleOrder> {
        self.show_progress(instance, false);
        let timeouts = &self.shared.config.timeouts;
        let longest = match self.shared.silent.contains(&self.spec) {
            true => timeouts.start_margin,
            false => timeouts.start_turn,
        };
        // Without hello, the turn at the gate ends after this time.
        _ = self.unless_ordered(timeout(longest, instance.wait_until_greeted())).await?;
        drop(turn);
        self.unless_ordered(instance.wait_until_greeted()).await?;
        if instance.snapshot().greeted {
            self.shared.silent.forget(&self.spec);
            self.show_progress(instance, true);
        }
        self.unless_ordered(instance.wait_until_settled()).await?;
        if instance.snapshot().state == ExtensionState::Ready {
            self.mark_ready(instance);
        }
        self.unless_ordered(instance.wait_until_ended()).await?;
        self.report_panic(instance);
        Ok(())
    }

    fn mark_ready(&mut self, instance: &ExtensionHandle) {
        self.failure_file().forget();
        let offers = Arc::clone(&instance.snapshot().offers);
        let slot = ExtensionSlot {
            stage: LifecycleStage::Running,
            instance: Some(instance.clone()),
            stand_in: None,
        };
        let before = self.slot.send_replace(slot);
        if let Some(different) = before.stand_in.and_then(|stood_in| describe_difference(&stood_in, &offers))
        {
            let message =
                format!("does not match its manifest: {different}; the registrations count from now on");
            self.log().log_host_line(&message);
            let extension = self.spec.name.clone();
            self.shared.reporter(&extension).emit(AgentEvent::ExtNotify {
                extension,
                level: NoteLevel::Warn,
                message,
            });
        }
        if let Some(backlog) = &self.backlog {
            backlog.hand_over(instance);
        }
        let within = self.shared.timeouts.intercept_within(&self.spec, InterceptKind::SessionStart);
        self.shared.session_start.ask_process(instance, within, true);
        self.shared.notify_change();
    }

    /// Publishes the progress of a start. The first process is visible immediately. A later process replaces
    /// one that was ready or has a gate only when it is ready itself.
    fn show_progress(&self, instance: &ExtensionHandle, has_greeted: bool) {
        self.slot.send_modify(|slot| {
            if let LifecycleStage::Starting { since, greeted } = &mut slot.stage {
                *since = Some(Instant::now());
                *greeted = has_greeted;
            }
            if slot.is_replaceable() {
                slot.instance = Some(instance.clone());
            }
        });
        self.shared.notify_change();
    }

    /// Reports a panic of the instance's task, which could not report its own failure.
    fn report_panic(&self, instance: &ExtensionHandle) {
        if matches!(instance.snapshot().state, ExtensionState::Stopped | ExtensionState::Failed { .. })
            || !is_up(Defense::PanicsCount)
        {
            return;
        }
        let failure = ExtensionFailure { code: FaultCode::Exited, message: PANICKED.to_owned() };
        self.lock_restart_policy().mark_broken(failure.clone());
        self.report(&failure);
        self.shared.frontend.extension_gone(&self.spec.name);
    }

    /// Publishes the next stage, and returns the pause before an automatic restart, if any.
    fn decide_next(&self) -> Option<Duration> {
        let verdict = self.lock_restart_policy().take_decision();
        let (stage, pause) = match verdict {
            Some((failure, RestartDecision::Restart { after })) => {
                (LifecycleStage::Restarting(failure), Some(after))
            }
            Some((failure, RestartDecision::Down)) => (LifecycleStage::Failed(failure), None),
            None => (LifecycleStage::Idle, None),
        };
        if matches!(stage, LifecycleStage::Failed(_))
            && let Some(backlog) = &self.backlog
        {
            backlog.discard();
        }
        self.set_stage(stage);
        pause
    }

    async fn stop(&mut self, instance: &ExtensionHandle, order: &LifecycleOrder) {
        match order {
            // Queries wait for the next process.
            LifecycleOrder::Restart(_) | LifecycleOrder::Wake(_) => self.set_stage(LifecycleStage::NEW),
            LifecycleOrder::Leave => self.set_stage(LifecycleStage::Stopping),
            LifecycleOrder::Retire => {
                self.set_stage(LifecycleStage::Stopping);
                let drained = instance.drain(self.shared.config.timeouts.drain);
                self.shared.closing.run_until_cancelled(drained).await;
            }
        }
        instance.shutdown();
        instance.wait_until_gone().await;
        if instance.snapshot().greeted {
            self.shared.silent.forget(&self.spec);
        }
    }

    fn report(&self, failure: &ExtensionFailure) {
        self.log().log_failure(failure);
        self.failure_file().remember(failure);
        self.shared.reporter(&self.spec.name).report_fault(failure.code, failure.message.as_str());
    }

    pub(crate) fn set_stage(&self, stage: LifecycleStage) {
        self.slot.send_modify(|slot| slot.stage = stage);
        self.shared.notify_change();
    }

    /// Returns the handler that passes the end of a process to the restart policy and stores the failure.
    fn on_end(&self) -> EndHandler {
        let (supervisor, failures) = (Arc::clone(&self.restart_policy), self.failure_file());
        Box::new(move |now, greeted, failure| {
            let report = {
                let mut supervisor = supervisor.lock().unwrap_or_else(PoisonError::into_inner);
                supervisor.record_failure(now, greeted, failure)
            };
            failures.remember(&report);
            report
        })
    }

    fn failure_file(&self) -> FailureFile {
        FailureFile::new(Arc::clone(&self.shared.state), Arc::clone(&self.spec))
    }

    fn log(&self) -> &Arc<ExtensionLog> {
        self.log.get_or_init(|| {
            let config = &self.shared.config;
            Arc::new(ExtensionLog::new(config.logs.as_deref(), &self.spec.name, &config.limits))
        })
    }

    fn lock_restart_policy(&self) -> MutexGuard<'_, RestartPolicy> {
        self.restart_policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a future until an order arrives. Wake orders are ignored while it runs.
    fn unless_ordered<'a, T>(
        &'a mut self,
        work: impl Future<Output = T> + Send + 'a,
    ) -> impl Future<Output = Result<T, LifecycleOrder>> + Send + 'a {
        // Boxed: otherwise the supervisor would always reserve memory for the largest future.
        let mut work = Box::pin(work);
        async move {
            loop {
                tokio::select! {
                    biased;
                    order = receive_order(&mut self.orders, &self.shared) => match order {
                        LifecycleOrder::Wake(_) => {}
                        order @ (LifecycleOrder::Restart(_) | LifecycleOrder::Retire | LifecycleOrder::Leave) => return Err(order),
                    },
                    done = &mut work => return Ok(done),
                }
            }
        }
    }

    async fn next_order(&mut self) -> LifecycleOrder {
        loop {
            let order = receive_order(&mut self.orders, &self.shared).await;
            let idle = self.slot.borrow().stage == LifecycleStage::Idle;
            if idle || !matches!(order, LifecycleOrder::Wake(_)) {
                return order;
            }
        }
    }
}

/// Waits for the next order. A closed channel and the host's shutdown count as orders.
async fn receive_order(
    orders: &mut mpsc::UnboundedReceiver<LifecycleOrder>,
    shared: &HostContext,
) -> LifecycleOrder {
    match shared.closing.run_until_cancelled(orders.recv()).await {
        Some(Ok(order)) => order,
        Some(Err(_)) | None => LifecycleOrder::Leave,
    }
}
