//! Handlers that run, and where they do.

use std::task::Poll;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::ServeError;
use crate::handler::BoxFuture;
use crate::timeouts::{ABORT_GRACE, HANDLER_GRACE};

pub(crate) mod runtimes;

use runtimes::Runtimes;

/// Everything that runs; dropping it stops what still does.
#[derive(Debug)]
pub(crate) struct Work {
    running: JoinSet<()>,
    runtimes: Runtimes,
}

impl Work {
    pub(crate) fn on(runtimes: Runtimes) -> Self {
        Self { running: JoinSet::new(), runtimes }
    }

    pub(crate) fn decide<T: Send + 'static>(
        &mut self,
        mut deciding: BoxFuture<T>,
        respond: impl FnOnce(T) + Send + 'static,
    ) -> Result<(), ServeError> {
        match self.runtimes.poll_first(deciding.as_mut()).map_err(ServeError::NoThread)? {
            Poll::Ready(outcome) => respond(outcome),
            Poll::Pending => {
                let intercepts = self.runtimes.intercepts().map_err(ServeError::NoThread)?;
                self.start(async move { respond(deciding.await) }, &intercepts);
            }
        }
        Ok(())
    }

    /// Starts anything else.
    pub(crate) fn go(&mut self, work: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
        let workers = self.runtimes.workers().map_err(ServeError::NoThread)?;
        self.start(work, &workers);
        Ok(())
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Where handlers ran, of work that is not busy.
    pub(crate) fn into_runtimes(self) -> Runtimes {
        self.runtimes
    }

    pub(crate) async fn finish(mut self) -> Runtimes {
        let _ = timeout(HANDLER_GRACE, joined(&mut self.running)).await;
        // A stopped handler's question is answered as it is dropped. One that blocks its thread cannot be stopped; it
        // ends with the process.
        self.running.abort_all();
        let _ = timeout(ABORT_GRACE, joined(&mut self.running)).await;
        self.runtimes
    }

    fn start(&mut self, work: impl Future<Output = ()> + Send + 'static, on: &Handle) {
        // What is done already leaves the set here, so that it holds no more than what runs.
        while self.running.try_join_next().is_some() {}
        self.running.spawn_on(work, on);
    }
}

async fn joined(running: &mut JoinSet<()>) {
    while running.join_next().await.is_some() {}
}
