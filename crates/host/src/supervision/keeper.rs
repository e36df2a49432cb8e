//! The task that keeps one extension running: it starts a process, waits for its end, and starts the next one if the
//! supervisor says so. It ends when it is ordered to, and with it the extension.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures::channel::mpsc;
use haft_launch::sandbox;
use haft_packages::ExtensionSpec;
use haft_protocol::defence::{Defence, is_up};
use haft_protocol::event::{AgentEvent, Level};
use tokio::sync::{SemaphorePermit, oneshot, watch};
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::extension::backlog::Backlog;
use crate::extension::{self, EndHandler, Extension, PANICKED, Start};
use crate::process::connection::Connection;
use crate::process::log::Log;
use crate::session::ExtensionState;
use crate::session::declared::difference;
use crate::supervision::failures::FailureFile;
use crate::supervision::shared::Shared;
use crate::supervision::slot::{Slot, Stage};
use crate::supervision::supervisor::{Supervisor, Verdict};
use crate::wire::fault::{Failure, FaultCode};

#[derive(Debug)]
pub(crate) enum Order {
    /// Start an extension that left, or was not used yet, and say when that has begun. While it runs, nothing.
    Wake(Option<oneshot::Sender<()>>),
    /// Start anew, whatever was before, and say when that has begun.
    Restart(oneshot::Sender<()>),
    /// Leave for good; another one answers questions from now on, and open ones may still be answered.
    Retire,
    Leave,
}

/// See the module.
pub(crate) struct Keeper {
    pub(crate) shared: Arc<Shared>,
    pub(crate) spec: Arc<ExtensionSpec>,
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    pub(crate) slot: watch::Sender<Slot>,
    pub(crate) supervisor: Arc<Mutex<Supervisor>>,
    /// Made when there is something to write: most extensions that wait for their first use never have.
    pub(crate) log: OnceLock<Arc<Log>>,
    pub(crate) backlog: Option<Arc<Backlog>>,
}

impl Keeper {
    /// Keeps the extension until it is ordered to leave. One that came as streams brings its connection.
    pub(crate) async fn run(mut self: Box<Self>, mut connection: Option<Connection>) {
        let mut waits = self.slot.borrow().sleeps();
        loop {
            let pause = match std::mem::take(&mut waits) {
                true => Ok(None),
                false => self.live(connection.take()).await,
            };
            let order = match pause {
                Ok(Some(pause)) => match self.unless_ordered(sleep(pause)).await {
                    Ok(()) => continue,
                    Err(order) => order,
                },
                Ok(None) => self.order().await,
                Err(order) => order,
            };
            match order {
                Order::Wake(begun) => {
                    // Until it has been ready, its manifest stands in for it also while it starts.
                    if self.slot.borrow().sleeps() {
                        self.set(Stage::NEW);
                    }
                    drop(begun);
                }
                Order::Restart(begun) => {
                    self.supervisor().reset();
                    self.set(Stage::NEW);
                    // Whoever asked may have gone.
                    _ = begun.send(());
                }
                Order::Retire | Order::Leave => break,
            }
        }
        if let Some(backlog) = &self.backlog {
            // What still waits for it is counted as lost.
            backlog.give_up();
        }
        if !matches!(self.slot.borrow().stage, Stage::Failed(_)) {
            self.set(Stage::Stopped);
        }
    }

    /// One process, from its start to its end. Returns the pause before the next one; none when nothing
    /// follows until somebody says so. An order ends it early; then the process is gone, too.
    async fn live(&mut self, connection: Option<Connection>) -> Result<Option<Duration>, Order> {
        let shared = Arc::clone(&self.shared);
        let Ok(turn) = self.unless_ordered(shared.gate.acquire()).await? else { return Ok(None) };
        if connection.is_none() {
            self.look_up_sandbox().await;
        }
        let spec = Arc::clone(&self.spec);
        let verified = self.unless_ordered(shared.verify(&spec)).await?;
        let Some(instance) = self.start(connection, verified) else { return Ok(self.next()) };
        match self.accompany(&instance, turn).await {
            Ok(()) => {
                let next = self.next();
                let gone = self.unless_ordered(instance.gone()).await;
                instance.gone().await;
                gone.map(|()| next)
            }
            Err(order) => {
                self.stop(&instance, &order).await;
                Err(order)
            }
        }
    }

    /// Finds out whether the machine has the level that needs trying, on a thread that may wait: the answer is kept, and
    /// the start itself finds it.
    async fn look_up_sandbox(&self) {
        if self.shared.config.level_of(&self.spec) == Some(sandbox::Level::Strict) {
            // Without an answer the start looks for itself.
            let _ = tokio::task::spawn_blocking(sandbox::available).await;
        }
    }

    /// Starts the process; nothing when it cannot be started, which is reported.
    fn start(&mut self, connection: Option<Connection>, verified: Result<(), Failure>) -> Option<Extension> {
        self.supervisor().started(Instant::now().into_std());
        self.log().forget();
        let connect = || verified.and_then(|()| self.shared.connect(&self.spec));
        let connection = match connection.map_or_else(connect, Ok) {
            Ok(connection) => connection,
            Err(failure) => {
                let mut supervisor = self.supervisor();
                // What is not what it was does not become so by another try.
                let report = if failure.code == FaultCode::PinMismatch {
                    supervisor.broken(failure.clone());
                    failure
                } else {
                    supervisor.failed(Instant::now().into_std(), false, failure)
                };
                drop(supervisor);
                self.report(&report);
                return None;
            }
        };
        let config = &self.shared.config;
        let sandbox = config.level_of(&self.spec).map(|level| config.sandbox_of(&self.spec, level));
        if let Some(Ok(sandbox)) = sandbox {
            self.log().host(sandbox.as_ref());
        }
        let start = Start {
            facts: self.shared.facts(&self.spec),
            reporter: self.shared.reporter(&self.spec.name),
            frontend: Arc::clone(&self.shared.frontend),
            status: self.shared.status_line.place(&self.spec.name),
            log: Arc::clone(self.log()),
            changes: self.shared.changes.clone(),
            on_end: self.on_end(),
            on_demand: self.spec.lifecycle.on_demand,
            pump: Arc::clone(&self.shared.pump),
            desk: self.shared.desk(&self.spec, self.log()),
        };
        Some(extension::start(start, connection))
    }

    /// Goes with a process until it is over. Its turn at the gate lasts until it says hello, but not for long.
    async fn accompany(&mut self, instance: &Extension, turn: SemaphorePermit<'_>) -> Result<(), Order> {
        self.show(instance, false);
        let timeouts = &self.shared.config.timeouts;
        let longest = match self.shared.silent.knows(&self.spec) {
            true => timeouts.start_margin,
            false => timeouts.start_turn,
        };
        // Without hello its turn is over all the same.
        _ = self.unless_ordered(timeout(longest, instance.greeted())).await?;
        drop(turn);
        self.unless_ordered(instance.greeted()).await?;
        if instance.snapshot().greeted {
            self.shared.silent.forget(&self.spec);
            self.show(instance, true);
        }
        self.unless_ordered(instance.settled()).await?;
        if instance.snapshot().state == ExtensionState::Ready {
            self.join(instance);
        }
        self.unless_ordered(instance.ended()).await?;
        self.check(instance);
        Ok(())
    }

    fn join(&mut self, instance: &Extension) {
        self.failures().forget();
        let offers = Arc::clone(&instance.snapshot().offers);
        let slot = Slot { stage: Stage::Running, instance: Some(instance.clone()), stand_in: None };
        let before = self.slot.send_replace(slot);
        if let Some(different) = before.stand_in.and_then(|stood_in| difference(&stood_in, &offers)) {
            let message = format!(
                "registered other things than its manifest declares: {different}; the registration counts from now on"
            );
            self.log().host(&message);
            let extension = self.spec.name.clone();
            self.shared.reporter(&extension).emit(AgentEvent::ExtNotify {
                extension,
                level: Level::Warn,
                message,
            });
        }
        if let Some(backlog) = &self.backlog {
            backlog.hand_over(instance);
        }
        self.shared.changed();
    }

    /// Shows how far a start has come. A first process is there for everybody; a later one takes the place of one that
    /// has been ready, or guards something, only when it is ready itself.
    fn show(&self, instance: &Extension, has_greeted: bool) {
        self.slot.send_modify(|slot| {
            if let Stage::Starting { since, greeted } = &mut slot.stage {
                *since = Some(Instant::now());
                *greeted = has_greeted;
            }
            if slot.has_nothing() {
                slot.instance = Some(instance.clone());
            }
        });
        self.shared.changed();
    }

    /// A task that ended without a word is a failure that nobody has reported.
    fn check(&self, instance: &Extension) {
        if matches!(instance.snapshot().state, ExtensionState::Stopped | ExtensionState::Failed { .. })
            || !is_up(Defence::PanicsCount)
        {
            return;
        }
        let failure = Failure { code: FaultCode::Exited, message: PANICKED.to_owned() };
        self.supervisor().broken(failure.clone());
        self.report(&failure);
        self.shared.frontend.extension_gone(&self.spec.name);
    }

    /// Shows what follows, and returns the pause before the next process, if there is one by itself.
    fn next(&self) -> Option<Duration> {
        let verdict = self.supervisor().verdict();
        let (stage, pause) = match verdict {
            Some((failure, Verdict::Restart { after })) => (Stage::Restarting(failure), Some(after)),
            Some((failure, Verdict::Down)) => (Stage::Failed(failure), None),
            None => (Stage::Idle, None),
        };
        if matches!(stage, Stage::Failed(_))
            && let Some(backlog) = &self.backlog
        {
            backlog.give_up();
        }
        self.set(stage);
        pause
    }

    async fn stop(&mut self, instance: &Extension, order: &Order) {
        match order {
            // What it is asked waits for the next one.
            Order::Restart(_) | Order::Wake(_) => self.set(Stage::NEW),
            Order::Leave => self.set(Stage::Stopping),
            Order::Retire => {
                self.set(Stage::Stopping);
                let drained = instance.drain(self.shared.config.timeouts.drain);
                self.shared.closing.run_until_cancelled(drained).await;
            }
        }
        instance.shutdown();
        instance.gone().await;
        if instance.snapshot().greeted {
            self.shared.silent.forget(&self.spec);
        }
    }

    fn report(&self, failure: &Failure) {
        self.log().failure(failure);
        self.failures().remember(failure);
        self.shared.reporter(&self.spec.name).fault(failure.code, failure.message.as_str());
    }

    pub(crate) fn set(&self, stage: Stage) {
        self.slot.send_modify(|slot| slot.stage = stage);
        self.shared.changed();
    }

    /// Returns the handler that asks the supervisor about the end of a process and writes its failure down.
    fn on_end(&self) -> EndHandler {
        let (supervisor, failures) = (Arc::clone(&self.supervisor), self.failures());
        Box::new(move |now, greeted, failure| {
            let report = {
                let mut supervisor = supervisor.lock().unwrap_or_else(PoisonError::into_inner);
                supervisor.failed(now, greeted, failure)
            };
            failures.remember(&report);
            report
        })
    }

    fn failures(&self) -> FailureFile {
        FailureFile::new(Arc::clone(&self.shared.state), Arc::clone(&self.spec))
    }

    fn log(&self) -> &Arc<Log> {
        self.log.get_or_init(|| {
            let config = &self.shared.config;
            Arc::new(Log::new(config.logs.as_deref(), &self.spec.name, &config.limits))
        })
    }

    fn supervisor(&self) -> MutexGuard<'_, Supervisor> {
        self.supervisor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something, unless an order comes first. That somebody asks is no order while it runs.
    fn unless_ordered<'a, T>(
        &'a mut self,
        work: impl Future<Output = T> + Send + 'a,
    ) -> impl Future<Output = Result<T, Order>> + Send + 'a {
        // Boxed: the keeper would have room for the largest of these all the time.
        let mut work = Box::pin(work);
        async move {
            loop {
                tokio::select! {
                    biased;
                    order = received(&mut self.orders, &self.shared) => match order {
                        Order::Wake(_) => {}
                        order @ (Order::Restart(_) | Order::Retire | Order::Leave) => return Err(order),
                    },
                    done = &mut work => return Ok(done),
                }
            }
        }
    }

    async fn order(&mut self) -> Order {
        loop {
            let order = received(&mut self.orders, &self.shared).await;
            let idle = self.slot.borrow().stage == Stage::Idle;
            if idle || !matches!(order, Order::Wake(_)) {
                return order;
            }
        }
    }
}

/// The next order. That nobody can give any more, or that the host ends, is one, too.
async fn received(orders: &mut mpsc::UnboundedReceiver<Order>, shared: &Shared) -> Order {
    match shared.closing.run_until_cancelled(orders.recv()).await {
        Some(Ok(order)) => order,
        Some(Err(_)) | None => Order::Leave,
    }
}
