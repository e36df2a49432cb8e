//! A runtime that gets its own thread when a task in it has to wait.

use std::future::poll_fn;
use std::io;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;

use crate::timeouts::HANDLER_GRACE;

/// The runtime; see the module documentation.
#[derive(Debug)]
pub(super) struct LazyThreadRuntime {
    handle: Handle,
    idle: Option<Runtime>,
    /// Dropping the first sender ends the thread, which then drops the second.
    stop: Option<(oneshot::Sender<()>, mpsc::Receiver<()>)>,
}

impl LazyThreadRuntime {
    pub(super) fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { handle: runtime.handle().clone(), idle: Some(runtime), stop: None })
    }

    /// Runs the work on the caller's thread inside the runtime, so that it can create timers and
    /// tasks.
    pub(super) fn run<T>(&mut self, mut work: impl FnMut() -> T) -> io::Result<T> {
        let result = self.handle.block_on(poll_fn(|_| Poll::Ready(work())));
        // A remaining task needs the thread as much as a waiting handler does.
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
                // No value is ever sent.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_timeout(HANDLER_GRACE);
                drop(ends);
            };
            thread::Builder::new().name("intercepts".to_owned()).spawn(drive)?;
            self.stop = Some((stop, ended));
        }
        Ok(self.handle.clone())
    }

    /// Gives work on blocking threads this much time, and drops all tasks.
    pub(super) fn finish(mut self, time: Duration) {
        if let Some(runtime) = self.idle.take() {
            runtime.shutdown_timeout(time);
        }
        if let Some((stop, ended)) = self.stop.take() {
            drop(stop);
            // No value is ever sent here either.
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
