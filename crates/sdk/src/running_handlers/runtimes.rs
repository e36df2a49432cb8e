//! The runtimes of handlers, created when needed: an extension whose handlers never wait has one
//! thread.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::runtime::{Builder, Handle, Runtime};

mod lazy_thread_runtime;

use lazy_thread_runtime::LazyThreadRuntime;

/// The number of threads for tools, commands and events: a handler that blocks its thread must not
/// stop the others. The number does not grow with the processors, because each thread costs memory;
/// use `spawn_blocking` for long computations.
const WORKERS: usize = 4;

/// The runtimes on which handlers run.
#[derive(Debug)]
pub enum HandlerRuntimes {
    /// All handlers run on the caller's runtime, which also polls the connection.
    Given(Handle),
    /// Handlers run on runtimes of the connection, none of them on the reading thread.
    Own(OwnRuntimes),
}

/// The runtimes of a connection, each started with its first handler.
#[derive(Debug, Default)]
pub struct OwnRuntimes {
    workers: Option<Runtime>,
    intercepts: Option<LazyThreadRuntime>,
}

impl HandlerRuntimes {
    /// Polls the handler of a hook for the first time, on this thread. Most handlers decide without
    /// waiting, and a separate task would add a third to the round trip. Fails if the system
    /// provides no runtime.
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

    /// Returns the runtime for handlers of hooks that have to wait. No other kind of handler runs
    /// there.
    pub(crate) fn intercept_handle(&mut self) -> io::Result<Handle> {
        match self {
            Self::Given(handle) => Ok(handle.clone()),
            Self::Own(own) => own.intercept_runtime()?.start_thread(),
        }
    }

    /// Ends the runtimes. Work that handlers left on other threads (`spawn_blocking`) runs until
    /// the given time. Must not be called within a runtime.
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
        // Does not wait for a handler that blocks its thread.
        if let Some(workers) = self.workers.take() {
            workers.shutdown_background();
        }
    }
}
