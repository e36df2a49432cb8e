//! A runtime that gets a thread when something in it has to wait.

use std::future::poll_fn;
use std::io;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use crate::timeouts::HANDLER_GRACE;

/// See the module.
#[derive(Debug)]
pub(super) struct LazyThreadRuntime {
    handle: Handle,
    idle: Option<Runtime>,
    /// Dropping the first ends the thread, and then the other.
    stop: Option<(oneshot::Sender<()>, mpsc::Receiver<()>)>,
}

impl LazyThreadRuntime {
    pub(super) fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { handle: runtime.handle().clone(), idle: Some(runtime), stop: None })
    }

    /// Runs this on the caller's thread as if on the runtime: timers and tasks may be made in it.
    pub(super) fn run<T>(&mut self, mut work: impl FnMut() -> T) -> io::Result<T> {
        let result = self.handle.block_on(poll_fn(|_| Poll::Ready(work())));
        // A task that was left behind needs the thread as much as a handler that waits.
        if self.handle.metrics().num_alive_tasks() > 0 {
            self.start_thread()?;
        }
        Ok(result)
    }

    pub(super) fn start_thread(&mut self) -> io::Result<Handle> {
        if let Some(runtime) = self.idle.take() {
            let (stop, stopped) = oneshot::channel::<()>();
            let (ends, ended) = mpsc::channel::<()>();
            let drive = move || {
                // Nothing is ever sent.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_timeout(HANDLER_GRACE);
                drop(ends);
            };
            thread::Builder::new().name("intercepts".to_owned()).spawn(drive)?;
            self.stop = Some((stop, ended));
        }
        Ok(self.handle.clone())
    }

    /// Gives what was left behind on threads so much time, and drops all else.
    pub(super) fn finish(mut self, time: Duration) {
        if let Some(runtime) = self.idle.take() {
            runtime.shutdown_timeout(time);
        }
        if let Some((stop, ended)) = self.stop.take() {
            drop(stop);
            // Nothing is ever sent here either.
            _ = ended.recv_timeout(time);
        }
    }
}

impl Drop for LazyThreadRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.idle.take() {
            runtime.shutdown_background();
        }
    }
}
