//! How the two sides are joined.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::outlet::Outlet;
use super::scratch;
use crate::log::Log;
use crate::process::{Pipes, Process};
use crate::timeouts::DROPPED_PAUSE;

/// A line of so many bytes is long: a pipe that carries one is made larger.
pub(super) const LONG_LINE: usize = 64 * 1024;

/// The size of a pipe that carries long lines: the most that a user may have unless the system is told otherwise.
pub(super) const WIDE: usize = 1024 * 1024;

/// How the two sides are joined.
pub(crate) enum Connection {
    /// A child process.
    Process(Box<(Process, Pipes)>),
    /// Any pair of streams: an extension in this program, a test.
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process(_) => "Process",
            Self::Streams(..) => "Streams",
        })
    }
}

/// What an extension writes.
pub(super) enum Output {
    Pipe(ChildStdout),
    Stream(Box<dyn AsyncRead + Send + Unpin>),
}

pub(super) type Opened = (Option<Process>, Output, Outlet, Option<JoinHandle<()>>);

pub(super) fn opened(connection: Connection, log: &Arc<Log>) -> Opened {
    match connection {
        Connection::Process(started) => {
            let (process, pipes) = *started;
            let stderr = tokio::spawn(drain_stderr(pipes.stderr, Arc::clone(log)));
            (Some(process), Output::Pipe(pipes.stdout), Outlet::Process(pipes.stdin), Some(stderr))
        }
        Connection::Streams(reader, writer) => (None, Output::Stream(reader), Outlet::Stream(writer), None),
    }
}

impl Output {
    /// Makes room in the pipe for a long line, if the system grants it.
    pub(super) fn widen(&self) {
        if let Self::Pipe(pipe) = self {
            widen(pipe);
        }
    }
}

/// A user may have 64 pipes of this size, and past 1024 pipes even the usual size is not granted: only a pipe that
/// carries long lines is made larger, and one that cannot be works all the same.
#[cfg(target_os = "linux")]
pub(super) fn widen(pipe: &impl std::os::fd::AsFd) {
    if let Err(error) = rustix::pipe::fcntl_setpipe_size(pipe, WIDE) {
        tracing::debug!(%error, "a pipe keeps its size");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn widen<T>(_: &T) {}

impl AsyncRead for Output {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(cx, into),
            Self::Stream(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

/// Reads standard error until it ends, so that an extension never blocks on it. What is dropped is read slowly: one
/// that prints without end must not keep the thread that everybody shares.
async fn drain_stderr(mut stderr: ChildStderr, log: Arc<Log>) {
    let logged = |text: &[u8]| (!text.is_empty()).then(|| log.stderr(text, Instant::now().into_std()));
    while let Ok(Some(room)) = scratch::read(&mut stderr, scratch::LARGEST, logged).await {
        if !room {
            sleep(DROPPED_PAUSE).await;
        }
    }
}
