//! Where handlers run. Nothing is made before something needs it: an extension whose handlers never wait has one
//! thread.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::runtime::{Builder, Handle, Runtime};

mod driven;

use driven::LazyThreadRuntime;

/// Threads for tools, commands and events: one handler that blocks its thread must not stop the others. No more on a
/// machine with more processors, because each costs memory; a handler that computes for long has `spawn_blocking`.
const WORKERS: usize = 4;

#[derive(Debug)]
pub(crate) enum HandlerRuntimes {
    /// All of them on the caller's runtime, which polls the connection, too.
    Given(Handle),
    /// On runtimes of the connection's own, of which none is the thread that reads.
    Own(OwnRuntimes),
}

#[derive(Debug, Default)]
pub(crate) struct OwnRuntimes {
    workers: Option<Runtime>,
    intercepts: Option<LazyThreadRuntime>,
}

impl HandlerRuntimes {
    /// Polls the handler of an intercept for the first time, on this thread: most decide without waiting for
    /// anything, and a task of their own would cost them a third of the round trip. Fails when the system gives no runtime.
    pub(crate) fn poll_first<T>(
        &mut self,
        mut handler: Pin<&mut (dyn Future<Output = T> + Send)>,
    ) -> io::Result<Poll<T>> {
        let mut poll = || handler.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match self {
            Self::Given(_) => Ok(poll()),
            Self::Own(own) => own.intercept_runtime()?.run(poll),
        }
    }

    /// Where the handler of an intercept goes on that has to wait. No other kind of handler can be in its way there.
    pub(crate) fn intercept_handle(&mut self) -> io::Result<Handle> {
        match self {
            Self::Given(handle) => Ok(handle.clone()),
            Self::Own(own) => own.intercept_runtime()?.start_thread(),
        }
    }

    /// The connection is over. Work that handlers left behind on threads of its own (`spawn_blocking`) goes on until then;
    /// not to be called within a runtime.
    pub(crate) fn finish(self, until: Instant) {
        if let Self::Own(mut own) = self {
            let left = || until.saturating_duration_since(Instant::now());
            own.workers.take().into_iter().for_each(|workers| workers.shutdown_timeout(left()));
            own.intercepts.take().into_iter().for_each(|driven| driven.finish(left()));
        }
    }

    pub(crate) fn worker_handle(&mut self) -> io::Result<Handle> {
        match self {
            Self::Given(handle) => Ok(handle.clone()),
            Self::Own(own) => own.worker_handle(),
        }
    }
}

impl OwnRuntimes {
    fn intercept_runtime(&mut self) -> io::Result<&mut LazyThreadRuntime> {
        match &mut self.intercepts {
            Some(driven) => Ok(driven),
            none => Ok(none.insert(LazyThreadRuntime::new()?)),
        }
    }

    fn worker_handle(&mut self) -> io::Result<Handle> {
        if let Some(workers) = &self.workers {
            return Ok(workers.handle().clone());
        }
        let workers = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("handler")
            .enable_all()
            .build()?;
        Ok(self.workers.insert(workers).handle().clone())
    }
}

impl Drop for OwnRuntimes {
    fn drop(&mut self) {
        // A handler that blocks its thread is not waited for.
        if let Some(workers) = self.workers.take() {
            workers.shutdown_background();
        }
    }
}
