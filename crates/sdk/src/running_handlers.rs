//! Running handlers, and the runtimes they use.

use std::task::Poll;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::ServeError;
use crate::handler::BoxFuture;
use crate::timeouts::{ABORT_GRACE, HANDLER_GRACE};

pub(crate) mod runtimes;

use runtimes::HandlerRuntimes;

/// The running handlers; dropping it stops them.
#[derive(Debug)]
pub struct RunningHandlers {
    running: JoinSet<()>,
    runtimes: HandlerRuntimes,
}

impl RunningHandlers {
    /// Creates the set of handlers, which is empty.
    pub fn with_runtimes(runtimes: HandlerRuntimes) -> Self {
        Self { running: JoinSet::new(), runtimes }
    }

    /// Starts the handler of a hook. If it decides without waiting, `respond` is called before this function returns.
    ///
    /// # Errors
    /// If the system provides no thread.
    pub fn run_intercept<T: Send + 'static>(
        &mut self,
        mut deciding: BoxFuture<T>,
        respond: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), ServeError> {
        match self.runtimes.poll_first(deciding.as_mut()).map_err(ServeError::NoThread)? {
            Poll::Ready(outcome) => respond(outcome),
            Poll::Pending => {
                let intercepts = self.runtimes.intercept_handle().map_err(ServeError::NoThread)?;
                self.start(async move { respond(deciding.await) }, &intercepts);
            }
        }
        Ok(())
    }

    /// Starts a handler of any other kind.
    ///
    /// # Errors
    /// If the system provides no thread.
    pub fn spawn_handler(
        &mut self,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let workers = self.runtimes.worker_handle().map_err(ServeError::NoThread)?;
        self.start(work, &workers);
        Ok(())
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Returns the runtimes, for work without running handlers.
    pub(crate) fn into_runtimes(self) -> HandlerRuntimes {
        self.runtimes
    }

    pub(crate) async fn finish(mut self) -> HandlerRuntimes {
        let _ = timeout(HANDLER_GRACE, join_all(&mut self.running)).await;
        // Dropping a stopped handler answers its request. A handler that blocks its thread cannot
        // be stopped; it ends with the process.
        self.running.abort_all();
        let _ = timeout(ABORT_GRACE, join_all(&mut self.running)).await;
        self.runtimes
    }

    fn start(&mut self, work: impl Future<Output = ()> + Send + 'static, on: &Handle) {
        // Removes finished handlers here, so that the set contains only running ones.
        while self.running.try_join_next().is_some() {}
        self.running.spawn_on(work, on);
    }
}

async fn join_all(running: &mut JoinSet<()>) {
    while running.join_next().await.is_some() {}
}
